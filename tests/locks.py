"""What a file of locked requirements holds."""

from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


class Locked(NamedTuple):
    """One requirement, such as ``flask==3.1.3``, and the digests of its files."""

    requirement: Requirement
    hashes: tuple[str, ...]

    @property
    def version(self) -> str:
        """Give the one version that it allows; fail where it allows more."""
        (specifier,) = self.requirement.specifier
        assert specifier.operator == "==", self.requirement
        assert "*" not in specifier.version, self.requirement
        return specifier.version


def read_lock(path: Path) -> dict[str, Locked]:
    """Read the file; give what it locks by name. A line is a requirement and its ``--hash`` options, continued by backslashes."""
    text = path.read_text().replace("\\\n", " ")
    lines = (
        line.partition(" #")[0].split(" --hash=")
        for line in text.splitlines()
        if not line.lstrip().startswith("#")
    )
    locked = (
        Locked(Requirement(first.strip()), tuple(map(str.strip, rest)))
        for first, *rest in lines
        if first.strip()
    )
    return {canonicalize_name(one.requirement.name): one for one in locked}


def installed_from(path: Path, python: str) -> set[str]:
    """Give name and version of all that is installed from the file under this Python, such as ``3.14``, as *.dist-info writes them."""
    environment = {"python_version": python, "python_full_version": f"{python}.0"}
    return {
        f"{name.replace('-', '_')}-{one.version}"
        for name, one in read_lock(path).items()
        if one.requirement.marker is None or one.requirement.marker.evaluate(environment)
    }
