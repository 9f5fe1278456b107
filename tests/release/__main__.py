"""Commands of a release; the workflow calls all but the last, which makes what can be made here."""

import sys
from pathlib import Path

import click

from tests import ROOT
from tests.cluster.assets import AssetsUnavailable

from . import dry_run, files
from .version import NotReleasable, check, notes, version_of

OUTPUT = click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=ROOT / "build/release",
    show_default="build/release",
)


@click.group(help=__doc__)
def main() -> None:
    """Choose a command."""


@main.command("check")
@click.argument("tag")
def check_command(tag: str) -> None:
    """Print the version of TAG, such as v1.2.3, if all places that name it agree."""
    click.echo(check(ROOT, tag))


@main.command("notes")
def notes_command() -> None:
    """Print what the changelog says of this version."""
    click.echo(notes(ROOT, version_of(ROOT)), nl=False)


@main.command("files")
@click.option("--image", required=True, help="Where nodes pull the image from, without a tag.")
@click.option(
    "--digest", required=True, help="The image's digest, sha256:…, as its registry tells it."
)
@click.option("--source", required=True, help="The repository's address, https://…")
@OUTPUT
def files_command(image: str, digest: str, source: str, output: Path) -> None:
    """Make wheel, source archive, chart, install.yaml, bill of materials and checksums."""
    for path in files.make_all(ROOT, version_of(ROOT), image, digest, source, output):
        click.echo(path)


@main.command("dry-run")
@OUTPUT
def dry_run_command(output: Path) -> None:
    """Make all of a release that can be made on this machine, and try it."""
    dry_run.run(ROOT, output)


if __name__ == "__main__":
    try:
        main(prog_name="python -m tests.release")
    except (NotReleasable, AssetsUnavailable) as problem:
        sys.exit(f"not releasable:\n{problem}")
