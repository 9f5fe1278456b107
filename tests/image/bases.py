"""Root file systems that an image is built on, of Debian's packages, in the user's cache."""

import fcntl
import hashlib
import platform
import subprocess
from pathlib import Path

from tests.cluster.assets import cache_folder

BUILDER = ("python3-venv", "dash")
BASE = ("python3",)
"""Unpacked, never configured: without a shell, as images called distroless are."""
SHELL = 'ln -s dash "$1/bin/sh"'


def root_file_system(packages: tuple[str, ...]) -> Path:
    """Give a tar archive of the packages of this machine's release and all that they depend on."""
    release = platform.freedesktop_os_release()["VERSION_CODENAME"]
    options = ["--variant=extract", f"--include={','.join(packages)}"]
    if "dash" in packages:
        options.append(f"--customize-hook={SHELL}")
    text = " ".join((release, platform.machine(), *options))
    folder = cache_folder() / "images" / hashlib.sha256(text.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    archive, partial = folder / "root.tar", folder / "partial.tar"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.is_file():
            _run("mmdebstrap", *options, release, str(partial))
            partial.replace(archive)
    return archive


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
