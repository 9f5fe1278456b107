"""All of a release that can be made here: one architecture, nothing signed or published."""

import json
import re
import tarfile
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.image import builder as images

from . import files
from .version import NotReleasable, check, version_of

IMAGE = "registry.example.com/fabric-injector"
SOURCE = "https://git.example.com/fabric-injector"
DIGEST = "sha256:" + 64 * "0"
"""Stands for the image's, which its registry tells once it is pushed."""
NOT_RUN = (
    "the image for other architectures, and its push",
    "signatures and provenance (cosign, GitHub's attestations, with the workflow's own identity)",
    "the push of the chart, the upload to PyPI, the release's and the documentation's pages",
)


def run(tree: Path, output: Path) -> None:
    """Make files and image in the folder, try each, and print what only the workflow does."""
    version = version_of(tree)
    steps: dict[str, Callable[[], object]] = {
        "versions agree": lambda: check(tree, f"v{version}"),
        "wheel, source archive, chart, install.yaml, bill of materials, checksums": (
            lambda: files.make_all(tree, version, IMAGE, DIGEST, SOURCE, output)
        ),
        "checksums hold": lambda: _sha256sum(output),
        "the wheel installs by itself, and runs": lambda: _try_wheel(tree, output, version),
        "the bill of materials names all that is locked": lambda: _compare(tree, output, version),
        "the chart names the released image and its runbooks": lambda: _try_chart(output, version),
    }
    if reason := images.not_possible():
        print(f"not run: the image: {reason}")
    else:
        steps["the image, for this machine's architecture"] = lambda: _image(output, version)
    for name, act in steps.items():
        print(f"{name} ...", flush=True)
        act()
    print(f"\nmade in {output}:")
    for path in sorted(output.iterdir()):
        print(f"  {path.stat().st_size / 1e6:8.2f} MB  {path.name}")
    print("\nonly the workflow does these, .github/workflows/release.yml:")
    for line in NOT_RUN:
        print(f"  {line}")


def _sha256sum(output: Path) -> None:
    files.run(["sha256sum", "--check", "--strict", "--quiet", files.CHECKSUMS], folder=output)


def _try_wheel(tree: Path, output: Path, version: str) -> None:
    """Install it with the locked dependencies into an environment of its own."""
    (wheel,) = output.glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip = f"{folder}/bin/pip"
        install = [pip, *["--disable-pip-version-check", "install", "--quiet", "--no-deps"]]
        locked = ["--require-hashes", "--only-binary=:all:", f"-r{tree / 'requirements.lock'}"]
        files.run([*install, *locked])
        files.run([*install, str(wheel)])
        files.run([pip, "check"])
        answer = files.run([f"{folder}/bin/fabric-injector", "--version"])
        files.run([f"{folder}/bin/fabric-injector", "demo"])
    if answer.split()[-1] != version:
        raise NotReleasable(
            f"{wheel.name}: `fabric-injector --version` prints {answer.strip()}, not {version}"
        )


def _compare(tree: Path, output: Path, version: str) -> None:
    materials = json.loads((output / f"fabric-injector-{version}.cdx.json").read_text())
    listed = {f"{each['name']}=={each['version']}" for each in materials["components"]}
    lock = (tree / "requirements.lock").read_text()
    differ = sorted(listed ^ {*re.findall(r"(?m)^([a-z0-9_.-]+==[^ ;\\]+)", lock)})
    if differ:
        raise NotReleasable(f"bill of materials and requirements.lock differ: {', '.join(differ)}")


def _try_chart(output: Path, version: str) -> None:
    with tarfile.open(output / f"fabric-injector-{version}.tgz") as archive:
        values = yaml.safe_load(_read(archive, "values.yaml"))
        rules = _read(archive, "files/components/prometheus-rules/prometheus-rule.yaml")
    if rules.count(b"runbook_url: ") != rules.count(b"runbook_url: " + SOURCE.encode()):
        raise NotReleasable("an alert's runbook_url has no address")
    if (values["image"]["repository"], values["image"]["digest"]) != (IMAGE, DIGEST):
        raise NotReleasable(f"the chart's values name {values['image']}")


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    member = archive.extractfile(f"fabric-injector/{name}")
    assert member is not None
    return member.read()


def _image(output: Path, version: str) -> None:
    """Build on Debian packages with buildah, as the image's tests do; write an OCI archive."""
    with tempfile.TemporaryDirectory() as folder, images.Builder(Path(folder)) as builder:
        builder.save_oci(builder.build(), output / f"fabric-injector-{version}-image.tar")
    files.checksums(output)
