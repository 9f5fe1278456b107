"""Say which jobs of a cluster train without the fabric, before anything is installed: ``fabric-injector survey``."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING

import click

from webhook.cli.completion import complete_preset
from webhook.cli.findings import print_document, show_progress
from webhook.cli.options import (
    FILE,
    Failure,
    cluster_options,
    connect_to_cluster,
    option,
    output_option,
    system_namespace_option,
    workload_namespace_option,
)

if TYPE_CHECKING:
    from pathlib import Path

    from webhook.world.profiles_read import ProfilesRead

_SUFFIXES = (".yaml", ".yml", ".json")


@click.command("survey")
@option(
    "--profile",
    metavar="NAME|FILE",
    shell_complete=complete_preset,
    help="Profile to try: a name among the cluster's FabricProfiles or of --profiles, or a YAML file that holds one. Default: the only "
    "profile there is, else the one that a namespace's label names.",
)
@option("--profiles", type=FILE, help="YAML file of profiles: FabricProfile objects, or the short form.")
@workload_namespace_option("Look at this namespace alone, with rights in it alone; else at all namespaces.")
@option("-v", "--verbose", is_flag=True, help="Write out each change and name the jobs, those that need nothing too.")
@system_namespace_option
@output_option("table", "json", default="table", text="Form of the answer. json: one document for programs.")
@cluster_options
def command(
    profile: str | None,
    profiles: Path | None,
    namespace: str | None,
    verbose: bool,
    system_namespace: str,
    output: str,
) -> None:
    """Say which multi-pod accelerator jobs train without the fabric, and what a profile would change for each.

    Nothing need be installed, and nothing is changed. It reads pods, namespaces, networks and nodes with your own rights, groups the
    pods by job, and decides about one pod of each role as admission would. What you may not read is named and left out; pods must
    be readable, of all namespaces or of the one that -n names.

    \b
    Examples:
      fabric-injector survey
      fabric-injector survey --profile profile.yaml
      fabric-injector survey --profiles profiles.yaml --profile rdma-shared -v
      fabric-injector survey -n research -o json | jq '.groups[] | select(.prospect == "refused")'

    \b
    A job that trains over the pod network would be
      completed   each pod is allowed and gets what it lacks
      refused     a pod would be denied; the reason says what to put right
      unplaced    no node offers the device, or the huge pages, that a pod would then ask for
      incomplete  a pod would not get a device of the profile; the reason says what to write
      left-alone  nothing would change
      unknown     no profile was named, and there is not exactly one

    Exit status: 0 nothing is refused, unplaced or incomplete, 1 something is, 2 the command or its input is wrong, or pods cannot
    be read.
    """  # noqa: D301  # \\b is click's own mark
    from webhook.cli.survey_text import print_survey
    from webhook.core.errors import WebhookError
    from webhook.diagnose.collect.jobs import read_jobs
    from webhook.diagnose.survey.survey import survey

    try:
        given, name, found_by = _given(profile, profiles)
        preset = _preset(name) if given is None and name else None
        connection = connect_to_cluster()
        with show_progress() as progress, _without_collections():
            reading = read_jobs(
                connection,
                namespace or "",
                given=given,
                preset=preset,
                profile=name,
                profiles_option=found_by if preset is None else f" --profiles <(fabric-injector presets {name})",
                system_namespace=system_namespace,
                progress=progress,
            )
            progress(f"judging {len(reading.pods.items):,} pods")
            found = survey(reading)
    except WebhookError as error:
        raise Failure(str(error)) from None
    if output == "json":
        print_document(found.as_json())
    else:
        print_survey(found, verbose=verbose)
    sys.exit(0 if found.is_free else 1)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Keep Python from looking for cycles: JSON has none, and looking takes a third of the time that many pods take."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _given(profile: str | None, profiles: Path | None) -> tuple[ProfilesRead | None, str, str]:
    """Return the profiles of a file, None for the cluster's; the name of the one to try, empty for any; and how dry-run finds them."""
    from webhook.core.errors import InputError

    is_file = profile is not None and (profile.endswith(_SUFFIXES) or "/" in profile or profile == "-")
    if profile is None or not is_file:
        return (_read(profiles) if profiles else None), profile or "", _option(profiles)
    if profiles is not None:
        raise InputError(
            "--profile FILE and --profiles FILE are two files: name a profile of the second by --profile NAME"
        )
    from pathlib import Path

    path = Path(profile)
    read = _read(path)
    known = sorted(read.known().profiles)
    if len(known) != 1:
        held = f"holds {len(known)} profiles" if known else "holds no profile"
        choice = f"; name one: --profiles {quote(profile)} --profile {known[0]}" if known else ""
        raise InputError(f"--profile {profile}: {held}{choice}")
    return read, known[0], _option(path)


def _preset(name: str) -> ProfilesRead | None:
    """Return the profile that comes with the program by this name; None where none does."""
    from webhook.presets import preset_names, read_preset
    from webhook.world.profiles_read import read_file

    return read_file(f"preset {name}", read_preset(name).text) if name in preset_names() else None


def _read(path: Path) -> ProfilesRead:
    from webhook.cli.input_files import read_text, shown
    from webhook.world.profiles_read import read_file

    read = read_file(shown(path), read_text(path))
    read.known()
    return read


def _option(path: Path | None) -> str:
    return f" --profiles {quote(str(path))}" if path is not None and path.name != "-" else ""
