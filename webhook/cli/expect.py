"""Run an administrator's own cases offline, for ``dry-run --expect``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from webhook.cli.findings import echo, print_document
from webhook.cli.input_files import read_manifests, read_text, shown
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.printable import printable
from webhook.core.profiles import Profiles
from webhook.dry_run import judge
from webhook.dry_run.cases import Case, Cases, Difference, as_document, compare, read_cases
from webhook.dry_run.templates import find_templates
from webhook.world.objects import ObjectsWorld, load_objects, objects_in

Profiled = Callable[[Path | None, list[Object]], Profiles]
"""What gives the profiles of a file, or else of the objects."""


def run_cases(
    paths: Iterable[Path], profiles: Path | None, objects: Sequence[Path], read_profiles: Profiled, output: str
) -> bool:
    """Judge the cases of all files and print what differs; return whether nothing does.

    *profiles* and *objects* are for all cases; *profiles* is in place of what a file names. Raises InputError.
    """
    results: list[tuple[str, Case, list[Difference]]] = []
    for path in paths:
        cases = read_cases(shown(path), read_text(path))
        folder = Path() if path.name == "-" else path.parent
        for case in cases.cases:
            try:
                results.append((shown(path), case, _differences(folder, cases, case, profiles, objects, read_profiles)))
            except InputError as error:
                raise InputError(f"{shown(path)}: case {case.name!r}: {error}") from None
    if output == "json":
        print_document(as_document(results))
    else:
        _print(results)
    return not any(differences for _, _, differences in results)


def _differences(
    folder: Path, cases: Cases, case: Case, given: Path | None, objects: Sequence[Path], read_profiles: Profiled
) -> list[Difference]:
    found = [*load_objects(objects), *_objects(folder, cases.objects), *_objects(folder, case.objects)]
    named = case.profiles or cases.profiles
    path = given or (folder / named if named else None)
    templates = find_templates(_manifests(folder, case.manifest), case.namespace)
    for part in templates.ignored:
        if part.broken:
            raise InputError(f"manifest: {part.source}: {part.message}")
    run = judge(templates, profile=case.profile, profiles=read_profiles(path, found), world=ObjectsWorld(found))
    return compare(case, run)


def _objects(folder: Path, sources: Sequence[Any]) -> list[Object]:
    found: list[Object] = []
    for source in sources:
        if isinstance(source, str):
            found += load_objects([folder / source])
        else:
            found += objects_in("objects", source)
    return found


def _manifests(folder: Path, sources: Sequence[Any]) -> list[Any]:
    return [
        document
        for source in sources
        for document in (read_manifests([folder / source]) if isinstance(source, str) else [source])
    ]


def _print(results: Sequence[tuple[str, Case, Sequence[Difference]]]) -> None:
    for _, case, differences in results:
        level = click.style("fail", fg="red") if differences else click.style("ok  ", fg="green")
        echo(f"{level}  {printable(case.name, limit=None)}")
        for difference in differences:
            for line in difference.lines():
                echo(f"      {printable(line, limit=None)}")
    failed = sum(bool(differences) for _, _, differences in results)
    echo(f"{len(results) - failed} as expected, {failed} not")
