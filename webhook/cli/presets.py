"""Show the profiles that come with the program: for clouds, and for NVIDIA's network operator."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator

import click
import yaml

from webhook.cli.options import option
from webhook.core import names
from webhook.core.profiles.objects import SETTINGS_KIND
from webhook.presets import VERIFIED, Preset, preset_names, read_preset, read_presets

_WIDTH = 120


@click.command("presets")
@click.argument("name", required=False, metavar="[NAME]", type=click.Choice(preset_names()))
@option(
    *("-o", "--output"),
    type=click.Choice(["json", "yaml"]),
    help="Without NAME: all that is known of each preset, in place of the list. With NAME: the form of the FabricProfile; yaml, the "
    "default, has comments.",
)
def command(name: str | None, output: str | None) -> None:
    """List the profiles that come with this program, or print one, ready for kubectl apply.

    \b
    Examples:
      fabric-injector presets
      fabric-injector presets gke-tcpxo > profile.yaml
      fabric-injector dry-run -f job.yaml -n research --profiles profile.yaml --profile gke-tcpxo
      kubectl apply -f profile.yaml

    Each is made after the vendor's own manifest, at the commit that is shown with it. "compared" means that a test of this project
    compares the pods that result with that manifest, and that nobody of this project has run it on that fabric: try it on one job
    first.

    A preset is a start: the comments above it name what to change, such as the names of your networks, and what the Configuration must
    allow. -o json gives the FabricProfile alone.
    """  # noqa: D301  # \\b is click's own mark
    if name is None:
        presets = read_presets()
        if output:
            click.echo(_dump([preset.as_json() for preset in presets], output), nl=False)
        else:
            click.echo("\n".join(_listed(presets)))
    elif output == "json":
        click.echo(_dump(read_preset(name).profile, output), nl=False)
    else:
        preset = read_preset(name)
        click.echo("".join(f"# {line}".rstrip() + "\n" for line in _head(preset)) + preset.text, nl=False)


def _dump(value: object, form: str) -> str:
    if form == "json":
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=_WIDTH)


def _listed(presets: list[Preset]) -> Iterator[str]:
    """Yield the lines of the list: a line for each preset, and below it where it is from."""
    width = max(len(preset.name) for preset in presets)
    state = max(len(preset.about["verified"]) for preset in presets)
    yield f"{'NAME':{width}}  {'VERIFIED':{state}}  GIVES, SOURCE AND IMAGES"
    for preset in presets:
        yield f"{preset.name:{width}}  {preset.about['verified']:{state}}  {preset.about['gives']}"
        source = preset.about["sources"][0]
        for line in (f"{source['url']} ({source['date']})", *preset.images):
            yield f"{'':{width}}  {'':{state}}  {line}"
    yield ""
    for word in dict.fromkeys(preset.about["verified"] for preset in presets):
        yield f"{word}: {VERIFIED[word]}."


def _head(preset: Preset) -> Iterator[str]:
    """Yield the comment above a profile: what it is, where it is from, what to change and to allow."""
    about = preset.about
    yield f"{preset.name}: {about['gives']}."
    yield from textwrap.wrap(f"Verified: {about['verified']}. {about['note']}", _WIDTH)
    yield "Sources:"
    for source in about["sources"]:
        yield f"  {source['url']}"
        yield from _item(f"commit of {source['date']}", source["for"], "    ")
    for title, key in (
        ("Change before you apply it:", "change"),
        ("Added to what the vendor's manifest asks for, beside labels and annotations fabric-injector.io/…:", "adds"),
        ("Left out of what the vendor's manifest asks for:", "leavesOut"),
    ):
        if about[key]:
            yield title
            for what, why in about[key].items():
                yield from _item(what, why, "  ")
    if preset.allowed:
        where = f"Helm: value allowed; else {names.CONFIG_FILE} of ConfigMap {names.CONFIG_MAP}"
        yield f"The {SETTINGS_KIND} must allow ({where}), beside what it allows already:"
        yield from textwrap.indent(_dump({"allowed": preset.allowed}, "yaml"), "  ").splitlines()


def _item(what: str, text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        f"{what}: {text}", _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_long_words=False
    )
