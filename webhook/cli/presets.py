"""Show the profiles that come with the program: for clouds, and for NVIDIA's network operator."""

import textwrap
from collections.abc import Iterator

import click

from webhook.cli import options
from webhook.cli.cluster import ClusterCommand, connect_to_cluster
from webhook.cli.options import option
from webhook.cli.printing import FORMS, Listing, print_listing
from webhook.core import names
from webhook.core.accelerators import is_accelerator
from webhook.core.errors import InputError, Unavailable
from webhook.core.profiles.slips import did_you_mean
from webhook.core.wording import listed
from webhook.diagnose.snapshot import Snapshot, Unread
from webhook.presets import VERIFIED, Preset, preset_names, read_preset, read_presets

_PATIENCE = 3.0
"""Seconds for a cluster that was not asked for."""
_PARTS = (
    ("Change before you apply it:", "change"),
    ("Added to the vendor's manifest, beside our own labels and annotations:", "adds"),
    ("Left out of the vendor's manifest:", "leavesOut"),
)


@click.group("presets")
def command() -> None:
    """List the profiles that come with this program, or print one for kubectl apply.

    Each follows a vendor's manifest, at the commit shown with it. The comments above a profile say
    what to change. "compared": a test compares the resulting pods with that manifest; nobody of
    this project has run it on that fabric.

    \b
    Examples:
      fabric-injector presets list
      fabric-injector presets show eks-efa --instance-type p5.48xlarge > profile.yaml
      fabric-injector dry-run -f job.yaml -n research --profiles profile.yaml --profile eks-efa
      kubectl apply -f profile.yaml
    """  # noqa: D301  # \\b is click's own mark


@command.command("list")
@options.output(*FORMS, help="json, yaml, name or wide: with images and source.")
@options.no_headers
def list_presets(output: str | None, no_headers: bool) -> None:
    """List the presets."""
    presets = read_presets()
    headings = ["NAME", "VERIFIED", "GIVES"]
    rows = [[each.name, each.about["verified"], each.about["gives"]] for each in presets]
    if output == "wide":
        headings += ["IMAGES", "SOURCE"]
        for row, preset in zip(rows, presets, strict=True):
            source = preset.about["sources"][0]
            row += [",".join(preset.images) or "-", f"{source['url']} ({source['date']})"]
    document = [preset.as_json() for preset in presets]
    listing = Listing(headings, rows, [preset.name for preset in presets], document)
    print_listing(listing, output, no_headers=no_headers)
    if output is None:
        for word in dict.fromkeys(preset.about["verified"] for preset in presets):
            click.echo(f"{word}: {VERIFIED[word]}.", err=True)


@command.command(cls=ClusterCommand)
@click.argument("name", type=click.Choice(preset_names()), metavar="NAME")
@option(
    "--instance-type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="A type of your nodes, by label node.kubernetes.io/instance-type; may be repeated. Writes "
    "the number for pods that name no type.",
)
def show(name: str, types: tuple[str, ...]) -> None:
    """Print a preset: a FabricProfile under a comment that says what to change."""
    preset = read_preset(name)
    for each in types:
        if each not in preset.node_types:
            meant = did_you_mean(each, preset.node_types) or listed(preset.node_types)
            told = f"preset {preset.name} has no number for {each}; leave it out, or write {meant}"
            raise click.UsageError(f"--instance-type: {told}")
    for line in _proposed(preset) if preset.node_types and not types else ():
        click.echo(line, err=True)
    comment = "".join(f"# {line}".rstrip() + "\n" for line in _heading(preset))
    click.echo(comment + preset.for_nodes(types).text, nl=False)


def _proposed(preset: Preset) -> Iterator[str]:
    """Yield what to write for the nodes of the cluster; nothing where they cannot be read."""
    try:
        nodes = Snapshot(connect_to_cluster(_PATIENCE)).nodes()
    except (InputError, Unavailable, Unread):
        return
    large = [each for each in nodes if any(map(is_accelerator, each.allocatable))]
    types = sorted({each.labels.get(names.INSTANCE_TYPE, "") for each in large} - {""})
    known = [each for each in types if each in preset.node_types]
    if known and preset.waits_for_types:
        flags = " ".join(f"--instance-type {each}" for each in known)
        yield f"the cluster has nodes of type {', '.join(known)}: for pods that name no type, run"
        yield f"  fabric-injector presets show {preset.name} {flags}"
    if others := ", ".join([each for each in types if each not in known]):
        yield f"it has no number for nodes of type {others}: pods that name no type, and get"
        yield "  the number of otherwise, do not go there"


def _heading(preset: Preset) -> Iterator[str]:
    """Yield the comment above a profile: what it is, where it is from, what to change."""
    about = preset.about
    yield f"{preset.name}: {about['gives']}."
    yield from _wrapped(f"Verified: {about['verified']}. {about['note']}", "")
    yield "Sources:"
    for source in about["sources"]:
        yield f"  {source['url']}"
        yield from _wrapped(f"commit of {source['date']}: {source['for']}", "    ")
    for title, key in _PARTS:
        if about[key]:
            yield title
        for what, why in about[key].items():
            yield from _wrapped(f"{what}: {why}", "  ")


def _wrapped(text: str, indent: str) -> list[str]:
    more = f"{indent}  " if indent else ""
    return textwrap.wrap(
        text, 100, initial_indent=indent, subsequent_indent=more, break_long_words=False
    )
