"""Show the profiles that come with the program: for clouds, and for NVIDIA's network operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from webhook.cli.options import no_headers_option, output_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.presets import Preset

_WIDTH = 100
_PARTS = (
    ("Change before you apply it:", "change"),
    ("Added to the vendor's manifest, beside our own labels and annotations:", "adds"),
    ("Left out of the vendor's manifest:", "leavesOut"),
)


class PresetType(click.ParamType[str]):
    """Read the name of a preset; help does not read them."""

    name = "preset"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or fail with those there are."""
        from webhook.core.profiles.slips import did_you_mean
        from webhook.presets import preset_names

        known = preset_names()
        if meant := value not in known and did_you_mean(value, known):
            self.fail(f"no preset is named {value!r}; did you mean {meant}?", param, ctx)
        return click.Choice(known).convert(value, param, ctx)


@click.command("presets")
@click.argument("name", required=False, metavar="[NAME]", type=PresetType())
@output_option("json", "yaml", "name", "wide", default=None, text="json, yaml, name or wide.")
@no_headers_option
def command(name: str | None, output: str | None, no_headers: bool) -> None:
    """List the profiles that come with this program, or print one for kubectl apply.

    Each follows a vendor's manifest, at the commit shown with it. The comments above a profile say
    what to change. "compared": a test compares the resulting pods with that manifest; nobody of
    this project has run it on that fabric.

    \b
    Examples:
      fabric-injector presets
      fabric-injector presets gke-tcpxo > profile.yaml
      fabric-injector dry-run -f job.yaml -n research --profiles profile.yaml --profile gke-tcpxo
      kubectl apply -f profile.yaml
    """  # noqa: D301  # \\b is click's own mark
    from webhook.cli.findings import print_document
    from webhook.cli.listing import print_listing
    from webhook.presets import VERIFIED, read_preset, read_presets

    if name is None:
        presets = read_presets()
        print_listing(_listing(presets), output, no_headers=no_headers)
        if output is None:
            for word in dict.fromkeys(preset.about["verified"] for preset in presets):
                click.echo(f"{word}: {VERIFIED[word]}.", err=True)
    elif output == "json":
        print_document(read_preset(name).profile)
    else:
        preset = read_preset(name)
        comment = "".join(f"# {line}".rstrip() + "\n" for line in _heading(preset))
        click.echo(comment + preset.text, nl=False)


def _listing(presets: list[Preset]) -> Any:
    from webhook.cli.listing import Listing

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
    import textwrap

    more = f"{indent}  " if indent else ""
    return textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=more, break_long_words=False
    )
