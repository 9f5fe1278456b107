"""Say which jobs of a cluster train without the fabric, before anything is installed: ``fabric-injector survey``."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from webhook.cli.findings import echo, print_document, print_table, show_progress
from webhook.cli.options import (
    FILE,
    Failure,
    cluster_options,
    connect_to_cluster,
    option,
    output_option,
    system_namespace_option,
)
from webhook.core.errors import InputError, WebhookError
from webhook.core.printable import printable
from webhook.diagnose.collect.jobs import read_jobs
from webhook.diagnose.survey.fabric import Transport
from webhook.diagnose.survey.survey import ClusterSurvey, JobGroup, Prospect, survey
from webhook.diagnose.survey.trial import Barrier, Gravity
from webhook.diagnose.wording import counted, listed

if TYPE_CHECKING:
    from webhook.diagnose.survey.jobs import SurveyedJob
    from webhook.world.profiles_read import ProfilesRead

_SUFFIXES = (".yaml", ".yml", ".json")
_MOST_ROWS = 40
_MOST_JOBS = 20
_FEW = 3
_HEADINGS = ("NAMESPACE", "KIND", "JOBS", "PODS", "ACCELERATORS", "WOULD BE", "CHANGES", "IN THE WAY")
_ROLES = {"master": "rank 0", "worker": "worker"}
_COLOUR: Mapping[Gravity, str] = {"refused": "red", "unplaced": "red", "incomplete": "red", "doubt": "yellow"}
_PROSPECTS = {
    Prospect.REFUSED: "{} would be refused",
    Prospect.UNPLACED: "{} would find no node",
    Prospect.INCOMPLETE: "{} would lack a device",
    Prospect.LEFT_ALONE: "{} would stay as they are",
}
_OTHER_WAYS = {
    Transport.INJECTED: "injected already",
    Transport.OWN_FABRIC: "with devices or networks of their own",
    Transport.HOST_NETWORK: "on the nodes' network (hostNetwork)",
    Transport.CLAIMS: "with resource claims",
    Transport.OPTED_OUT: "opted out by label",
}


def _complete_profile(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the presets, and what the shell offers of files; the cluster is not asked for its profiles while somebody types."""
    from webhook.presets import preset_names

    found = [CompletionItem(name, help="preset") for name in preset_names() if name.startswith(incomplete)]
    return [*found, CompletionItem(incomplete, type="file")]


@click.command("survey")
@option(
    "--profile",
    metavar="NAME|FILE",
    shell_complete=_complete_profile,
    help="Profile to try: a name among the cluster's FabricProfiles or of --profiles, or a YAML file that holds one. Default: the only "
    "profile there is, else the one that a namespace's label names.",
)
@option("--profiles", type=FILE, help="YAML file of profiles: FabricProfile objects, or the short form.")
@option(
    "-n",
    "--namespace",
    metavar="NS",
    help="Look at this namespace alone, with rights in it alone; else at all namespaces.",
)
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
        raise Failure("\n".join(printable(line, limit=None) for line in str(error).split("\n"))) from None
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
    is_file = profile is not None and (profile.endswith(_SUFFIXES) or "/" in profile or profile == "-")
    if profile is None or not is_file:
        return (_read(profiles) if profiles else None), profile or "", _option(profiles)
    if profiles is not None:
        raise InputError(
            "--profile FILE and --profiles FILE are two files: name a profile of the second by --profile NAME"
        )
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


def print_survey(found: ClusterSurvey, *, verbose: bool) -> None:
    """Print the summary, a table of the jobs, what stands in the way, and what to do next."""
    for line in summarise(found):
        _line(line)
    shown = [group for group in found.groups if verbose or group.transport == "pod-network"]
    if shown:
        rows = shown if verbose else shown[:_MOST_ROWS]
        echo("")
        print_table([_HEADINGS, *map(_cells, rows)])
        if len(rows) < len(shown):
            _line(f"… {len(shown):,} rows in all: -v shows them, -o json holds them")
    if verbose:
        for group in shown:
            _print_group(group)
        _print_others(found.others)
    _print_barriers(found.barriers())
    for part in found.unread:
        _line(f"warn  {part.what}: {part.problem}")
    if steps := found.next_steps():
        echo("")
        echo("Next (a label counts once fabric-injector and the profile are installed):")
        for step in steps:
            _line(f"  {step}")


def summarise(found: ClusterSurvey) -> Iterator[str]:
    """Say in a few sentences what an administrator wants to know first."""
    if found.jobs:
        spaces = counted(len({group.namespace for group in found.groups}), "namespace")
        number = found.count(Transport.POD_NETWORK)
        yield (
            f"{number:,} of {counted(found.jobs, 'multi-pod accelerator job')} in {spaces} "
            f"{'trains' if number == 1 else 'train'} over the pod network."
        )
        if number:
            yield from _prospects(found)
        rest = [f"{found.count(use):,} {text}" for use, text in _OTHER_WAYS.items() if found.count(use)]
        if rest:
            yield f"Others: {', '.join(rest)}."
    else:
        where = f"namespace {found.namespace}" if found.namespace else "any namespace"
        yield f"No multi-pod accelerator job runs or waits in {where}."
    if found.others:
        number = len(found.others)
        yield (
            f"{counted(number, 'more workload')} of several pods with accelerators {'is' if number == 1 else 'are'} not known to train "
            "together, and would stay as they are; -v names them."
        )
    if found.left_out:
        yield f"{counted(found.left_out, 'pod')} could not be read, and {'is' if found.left_out == 1 else 'are'} left out."


def _prospects(found: ClusterSurvey) -> Iterator[str]:
    """Say what would become of the jobs that train over the pod network."""
    unknown = found.count(Transport.POD_NETWORK, Prospect.UNKNOWN)
    who = f"Profile {found.profile}" if found.profile else "The profiles that their namespaces name"
    parts = [f"{who} would complete {found.count(Transport.POD_NETWORK, Prospect.COMPLETED):,}"]
    for prospect, text in _PROSPECTS.items():
        number = found.count(Transport.POD_NETWORK, prospect)
        if not number:
            continue
        why = [f"{each.reason} ({len(jobs):,})" for each, jobs in found.barriers() if each.gravity == prospect.value]
        parts.append(f"{text.format(f'{number:,}')}{f': {listed(why)}' if why else ''}")
    if unknown < found.count(Transport.POD_NETWORK):
        yield f"{'; '.join(parts)}."
    if unknown:
        yield f"What a profile would change for {unknown:,} of them cannot be told: name one by --profile."


def _cells(group: JobGroup) -> tuple[str, ...]:
    is_judged = group.prospect is not Prospect.UNKNOWN
    is_asked = group.transport is Transport.POD_NETWORK
    return (
        group.namespace,
        group.kind,
        f"{len(group.jobs):,}",
        f"{group.pods:,}",
        _amounts(group.accelerators),
        str(group.prospect) if is_asked else f"({group.transport})",
        ", ".join(group.steps) or ("nothing" if is_judged else "-"),
        ", ".join(dict.fromkeys(each.reason for each in group.barriers)) or "-",
    )


def _amounts(accelerators: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {resource}" for resource, number in accelerators.items()) or "by claims"


def _print_group(group: JobGroup) -> None:
    """Write out the changes of one row: for each role those that no role before it has."""
    echo("")
    _line(f"{group.namespace}, {group.kind}: {listed((job.name for job in group.jobs), _MOST_JOBS)}")
    told: set[str] = set()
    for role, trial in group.tried:
        if trial is None:
            continue
        who = _ROLES.get(role.name, "pod")
        for change in trial.changes:
            if change.message not in told:
                told.add(change.message)
                _line(f"  {who} {trial.pod}: {change.step}: {change.message}")
        if trial.left_alone:
            _line(f"  {who} {trial.pod}: left alone: {trial.left_alone}")
    if unjudged := sum(job.unjudged for job in group.jobs):
        _line(f"  {counted(unjudged, 'pod')} of more kinds than are looked at")


def _print_others(others: Sequence[SurveyedJob]) -> None:
    if others:
        echo("")
        rows = [
            (job.namespace, job.kind, job.name, f"{job.pods:,}", _amounts(job.accelerators), job.why) for job in others
        ]
        print_table([("NAMESPACE", "KIND", "NAME", "PODS", "ACCELERATORS", "NOT KNOWN TO TRAIN"), *rows])


def _print_barriers(barriers: Sequence[tuple[Barrier, Sequence[SurveyedJob]]]) -> None:
    if barriers:
        echo("")
    for barrier, jobs in barriers:
        named = listed((f"{job.namespace}/{job.name}" for job in jobs), _FEW)
        style = click.style(f"{barrier.gravity:<10}", fg=_COLOUR[barrier.gravity])
        echo(f"{style}  {printable(f'{barrier.reason}: {named}: {barrier.message}', limit=None)}")


def _line(text: str) -> None:
    echo(printable(text, limit=None))
