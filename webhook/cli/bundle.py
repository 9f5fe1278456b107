"""Write what `explain` finds of a job into a file without secrets: ``fabric-injector bundle``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from webhook.cli.explain import read_and_explain, target_argument
from webhook.cli.options import (
    FILE,
    Failure,
    cluster_options,
    option,
    profiles_in_place_option,
    system_namespace_option,
    workload_namespace_option,
)

if TYPE_CHECKING:
    from pathlib import Path


@click.command("bundle")
@target_argument
@option("-l", "--selector", metavar="SELECTOR", help="Take the pods with these labels.")
@workload_namespace_option("Namespace of the pods; else the kubeconfig's.")
@option(
    "-o",
    "--output",
    "path",
    type=FILE,
    required=True,
    help="File to write, which must not exist; - is standard output.",
)
@profiles_in_place_option
@system_namespace_option
@cluster_options
def command(
    target: str | None,
    selector: str | None,
    namespace: str | None,
    path: Path,
    profiles: Path | None,
    system_namespace: str,
) -> None:
    """Write what explain finds of a job, and what it goes by, into a file for a bug report.

    The file is JSON, which you can read before you pass it on. It holds names of objects, findings, states, times and amounts. Values
    of variables, commands, arguments, images, what programs print, and labels and annotations that are not known are left out; in
    messages each word that is neither one of this program or of Kubernetes nor a name of these objects is replaced by "…".

    \b
    Examples:
      fabric-injector bundle job/bert -n research -o bert.json
      fabric-injector explain --from bert.json

    Exit status: 0 the file is written, 2 the command or its input is wrong.
    """  # noqa: D301  # \\b is click's own mark
    import json

    from webhook.core.errors import InputError
    from webhook.diagnose.bundle import make_bundle

    reading, explanation = read_and_explain(target, selector, namespace, profiles, system_namespace)
    text = json.dumps(make_bundle(reading, explanation), indent=1) + "\n"
    try:
        _write(path, text)
    except InputError as error:
        raise Failure(str(error)) from None


def _write(path: Path, text: str) -> None:
    """Write a new file that its owner alone may read; raise InputError where that cannot be."""
    from webhook.core.errors import InputError

    if str(path) == "-":
        click.echo(text, nl=False)
        return
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); name another file") from None
