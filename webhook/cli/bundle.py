"""Write what `explain` finds of a job into a file without secrets: ``fabric-injector bundle``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from webhook.cli.completion import complete_namespace, complete_target
from webhook.cli.explain import read_target
from webhook.cli.findings import show_progress
from webhook.cli.input_files import read_profiles_option
from webhook.cli.options import FILE, Failure, cluster_options, connect_to_cluster, option, system_namespace_option


@click.command("bundle")
@click.argument(
    "target", metavar="[pod/NAME | job/NAME-OR-KEY | KIND/NAME]", required=False, shell_complete=complete_target
)
@option("-l", "--selector", metavar="SELECTOR", help="Take the pods with these labels.")
@option(
    "-n",
    "--namespace",
    metavar="NS",
    shell_complete=complete_namespace,
    help="Namespace of the pods; else the kubeconfig's.",
)
@option(
    "-o",
    "--output",
    "path",
    type=FILE,
    required=True,
    help="File to write, which must not exist; - is standard output.",
)
@option("--profiles", type=FILE, help="YAML file of the profiles, in place of those that the webhook uses.")
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
    from webhook.core.errors import WebhookError
    from webhook.diagnose.bundle import make_bundle
    from webhook.diagnose.collect.job import read_job
    from webhook.diagnose.explain.explanation import explain

    asked = read_target(target, selector)
    try:
        known = read_profiles_option(profiles)
        connection = connect_to_cluster()
        with show_progress() as progress:
            space = namespace or connection.namespace or "default"
            reading = read_job(
                connection, asked, space, profiles=known, system_namespace=system_namespace, progress=progress
            )
            progress(f"judging {len(reading.pods):,} pods")
            text = json.dumps(make_bundle(reading, explain(reading)), indent=1) + "\n"
        _write(path, text)
    except WebhookError as error:
        raise Failure(str(error)) from None


def _write(path: Path, text: str) -> None:
    """Write a new file that its owner alone may read; raise InputError where that cannot be."""
    from webhook.core.errors import InputError

    if str(path) == "-":
        click.echo(text, nl=False)
        return
    try:
        with path.open("x", encoding="utf-8") as file:
            path.chmod(0o600)
            file.write(text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); name another file") from None
