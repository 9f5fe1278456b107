"""Show the profiles that come with the program: for clouds, and for NVIDIA's network operator."""

from __future__ import annotations

from typing import Any

import click

from webhook.cli.options import option


class PresetType(click.ParamType[str]):
    """Read the name of a preset; what presets there are is looked up only when a name is read."""

    name = "preset"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or fail with those there are."""
        from webhook.presets import preset_names

        return click.Choice(preset_names()).convert(value, param, ctx)


@click.command("presets")
@click.argument("name", required=False, metavar="[NAME]", type=PresetType())
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

    A preset is a start: the comments above it name what to change, such as the names of your networks. -o json gives the FabricProfile alone.
    """  # noqa: D301  # \\b is click's own mark
    from webhook.cli.presets_text import dump, heading, listing
    from webhook.presets import read_preset, read_presets

    if name is None:
        presets = read_presets()
        if output:
            click.echo(dump([preset.as_json() for preset in presets], output), nl=False)
        else:
            click.echo("\n".join(listing(presets)))
    elif output == "json":
        click.echo(dump(read_preset(name).profile, output), nl=False)
    else:
        preset = read_preset(name)
        click.echo(
            "".join(f"# {line}".rstrip() + "\n" for line in heading(preset)) + preset.text, nl=False
        )
