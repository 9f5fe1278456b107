"""The version of a release, which sources, chart, kustomization and changelog must agree about."""

import re
from pathlib import Path

import yaml


class NotReleasable(Exception):
    """The tree cannot be released; the message says what to change."""


def version_of(tree: Path) -> str:
    """Give the version that webhook/__init__.py states; NotReleasable where it states none."""
    found = re.search(
        r'^__version__ = "([^"]+)"$', (tree / "webhook/__init__.py").read_text(), re.MULTILINE
    )
    if found is None:
        raise NotReleasable('webhook/__init__.py: no line __version__ = "…"')
    return found.group(1)


def check(tree: Path, tag: str) -> str:
    """Give the version of the tag, such as v1.2.3; NotReleasable names each place that differs."""
    version = version_of(tree)
    chart = yaml.safe_load((tree / "manifests/chart/Chart.yaml").read_text())
    [image] = yaml.safe_load((tree / "manifests/base/kustomization.yaml").read_text())["images"]
    places = (
        ("manifests/chart/Chart.yaml", "version", chart["version"]),
        ("manifests/chart/Chart.yaml", "appVersion", chart["appVersion"]),
        ("manifests/base/kustomization.yaml", "newTag", image["newTag"]),
    )
    faults = [
        f"{file}: {field} is {said}; write {version}"
        for file, field, said in places
        if str(said) != version
    ]
    if tag != f"v{version}":
        faults.append(f"tag {tag}: webhook/__init__.py says {version}, so the tag is v{version}")
    try:
        notes(tree, version)
    except NotReleasable as problem:
        faults.append(str(problem))
    if faults:
        raise NotReleasable("\n".join(faults))
    return version


def notes(tree: Path, version: str) -> str:
    """Give the changelog's section of the version; NotReleasable where there is none."""
    text = (tree / "CHANGELOG.md").read_text()
    found = re.search(
        rf"^## \[?{re.escape(version)}\]?(?: [^\n]*)?\n(.*?)(?=^## |\Z)",
        text,
        re.MULTILINE | re.DOTALL,
    )
    if found is None:
        raise NotReleasable(f"CHANGELOG.md: no section `## {version}`; write one")
    section = found.group(1).strip()
    if not section:
        raise NotReleasable(f"CHANGELOG.md: nothing stands under `## {version}`")
    return section + "\n"
