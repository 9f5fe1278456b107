"""Show the profiles that come with the program: for clouds, and for NVIDIA's network operator."""

import textwrap
from collections.abc import Iterator
from typing import Any

import click

from webhook.cli.findings import Listing, print_document, print_listing
from webhook.cli.options import (
    cluster_options,
    connect_to_cluster,
    no_headers_option,
    option,
    output_option,
)
from webhook.core import names
from webhook.core.accelerators import is_accelerator
from webhook.core.errors import InputError, Unavailable
from webhook.core.profiles.slips import did_you_mean
from webhook.diagnose.snapshot import Snapshot, Unread
from webhook.presets import VERIFIED, Preset, preset_names, read_preset, read_presets

_WIDTH = 100
_PATIENCE = 3.0
"""Seconds for a cluster that was not asked for."""
_PARTS = (
    ("Change before you apply it:", "change"),
    ("Added to the vendor's manifest, beside our own labels and annotations:", "adds"),
    ("Left out of the vendor's manifest:", "leavesOut"),
)


def _name(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> str | None:
    """Return the name after the word show, which may be left out; None for the list."""
    given = words[1:] if words[:1] == ("show",) else words
    if len(given) > 1 or (words and not given):
        raise click.UsageError("name one preset: fabric-injector presets show NAME", ctx)
    if not given:
        return None
    known = preset_names()
    if meant := given[0] not in known and did_you_mean(given[0], known):
        message = f"no preset is named {given[0]!r}; did you mean {meant}?"
        raise click.BadParameter(message, ctx, param)
    return click.Choice(known).convert(given[0], param, ctx)


@click.command("presets")
@click.argument("name", nargs=-1, metavar="[show] [NAME]", callback=_name)
@option(
    "--instance-type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="A type of your nodes, by label node.kubernetes.io/instance-type; may be repeated. Writes "
    "the number for pods that name no type.",
)
@cluster_options
@output_option("json", "yaml", "name", "wide", default=None, text="json, yaml, name or wide.")
@no_headers_option
def command(name: str | None, types: tuple[str, ...], output: str | None, no_headers: bool) -> None:
    """List the profiles that come with this program, or print one for kubectl apply.

    Each follows a vendor's manifest, at the commit shown with it. The comments above a profile say
    what to change. "compared": a test compares the resulting pods with that manifest; nobody of
    this project has run it on that fabric.

    \b
    Examples:
      fabric-injector presets
      fabric-injector presets show eks-efa --instance-type p5.48xlarge > profile.yaml
      fabric-injector dry-run -f job.yaml -n research --profiles profile.yaml --profile eks-efa
      kubectl apply -f profile.yaml
    """  # noqa: D301  # \\b is click's own mark
    if name is None:
        if types:
            raise click.UsageError("--instance-type: name a preset: presets show NAME")
        presets = read_presets()
        print_listing(_listing(presets), output, no_headers=no_headers)
        if output is None:
            for word in dict.fromkeys(preset.about["verified"] for preset in presets):
                click.echo(f"{word}: {VERIFIED[word]}.", err=True)
        return
    preset = _filled(read_preset(name), types)
    if output == "json":
        print_document(preset.profile)
    else:
        comment = "".join(f"# {line}".rstrip() + "\n" for line in _heading(preset))
        click.echo(comment + preset.text, nl=False)


def _filled(preset: Preset, types: tuple[str, ...]) -> Preset:
    """Return the preset for nodes of these types, or as it is; then say which the cluster has."""
    for each in types:
        if each not in preset.node_types:
            meant = did_you_mean(each, preset.node_types) or ", ".join(preset.node_types)
            told = f"preset {preset.name} has no number for {each}; leave it out, or write {meant}"
            raise click.UsageError(f"--instance-type: {told}")
    if preset.node_types and not types:
        for line in _proposed(preset):
            click.echo(line, err=True)
    return preset.for_nodes(types)


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


def _listing(presets: list[Preset]) -> Any:

    headings = ("NAME", "VERIFIED", "GIVES", "IMAGES", "SOURCE")
    rows = [
        (
            preset.name,
            preset.about["verified"],
            preset.about["gives"],
            ",".join(preset.images) or "-",
            f"{preset.about['sources'][0]['url']} ({preset.about['sources'][0]['date']})",
        )
        for preset in presets
    ]
    document = [preset.as_json() for preset in presets]
    return Listing(headings, rows, [preset.name for preset in presets], document, extra=2)


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
        text, _WIDTH, initial_indent=indent, subsequent_indent=more, break_long_words=False
    )
