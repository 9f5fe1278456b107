"""Build the project's image with buildah, in a storage of its own that is removed afterwards."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from webhook import __version__

from .bases import BASE, BUILDER, root_file_system
from .package_index import pip_configuration

ROOT = Path(__file__).parents[2]
NAME = "fabric-injector.test/fabric-injector"
REVISION = "0123456789abcdef0123456789abcdef01234567"
SOURCE = "https://example.com/fabric-injector"
BASE_NAMES = {"BUILDER": "fabric-injector.test/builder:1", "BASE": "fabric-injector.test/base:1"}


def not_possible() -> str:
    """Say what this machine itself does not allow; empty where images can be built."""
    if sys.platform.startswith("linux") and os.geteuid() == 0:
        return ""
    return (
        f"images are built and run as root on Linux; this is uid {os.geteuid()} on {sys.platform}"
    )


class Image(NamedTuple):
    """The image's name, and its configuration as OCI writes it."""

    name: str
    configuration: dict[str, Any]


class Builder:
    """buildah with its own storage, from entering the `with` block until it is left."""

    def __init__(self, folder: Path) -> None:
        """Prepare one that keeps images in the folder."""
        self._folder = folder
        self._command = ["buildah", f"--root={folder / 'root'}", f"--runroot={folder / 'run'}"]

    def __enter__(self) -> Self:
        """Make the images to build on."""
        try:
            for argument, packages in (("BUILDER", BUILDER), ("BASE", BASE)):
                container = self._run("from", "scratch")
                self._run("add", "--quiet", container, str(root_file_system(packages)), "/")
                self._run("commit", "--quiet", "--rm", container, BASE_NAMES[argument])
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove all containers and images."""
        for command in (("umount", "--all"), ("rm", "--all"), ("rmi", "--all", "--force")):
            with suppress(RuntimeError):
                self._run(*command)

    def build(self) -> Image:
        """Build the project as it lies here, with this machine's configuration of pip."""
        configuration, certificates = pip_configuration()
        secret = self._folder / "pip.conf"
        secret.write_text(configuration)
        arguments = BASE_NAMES | {"VERSION": __version__, "REVISION": REVISION, "SOURCE": SOURCE}
        name = f"{NAME}:{__version__}"
        options = ["--isolation=chroot", "--network=host", "--layers=false", f"--tag={name}"]
        options += [f"--build-arg={name}={value}" for name, value in arguments.items()]
        options += [f"--volume={path}:{path}:ro" for path in certificates]
        self._run("build", *options, f"--secret=id=pip.conf,src={secret}", str(ROOT))
        found = json.loads(self._run("inspect", "--type=image", name))
        return Image(name, found["OCIv1"]["config"])

    def mount(self, image: Image) -> Path:
        """Give a folder that holds the image's root file system."""
        return Path(self._run("mount", self._run("from", image.name)))

    def save(self, image: Image, archive: Path, name: str) -> Path:
        """Write the image as `docker save` would, under another name; give the path back."""
        self._run("push", "--quiet", image.name, f"docker-archive:{archive}:{name}")
        return archive

    def save_oci(self, image: Image, archive: Path) -> None:
        """Write the image as an OCI archive."""
        self._run("push", "--quiet", image.name, f"oci-archive:{archive}")

    def _run(self, *arguments: str) -> str:
        command = [*self._command, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            tail = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
            raise RuntimeError(f"buildah {' '.join(arguments)}: status {done.returncode}\n{tail}")
        return done.stdout.strip()
