"""Serve the page on this machine, with the caller's rights: ``fabric-injector page``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from webhook.cli.options import (
    Failure,
    cluster_options,
    connect_to_cluster,
    option,
    profiles_in_place_option,
    workload_namespace_option,
)

if TYPE_CHECKING:
    from pathlib import Path


@click.command("page")
@option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port of 127.0.0.1; 0 is a free one."
)
@workload_namespace_option(
    "Namespace that is meant where none is named; else the kubeconfig's, else default."
)
@profiles_in_place_option
@option(
    "--system-namespace",
    metavar="NS",
    help="Namespace in which fabric-injector is installed. Default: fabric-injector; for Check, the one that check finds.",
)
@cluster_options
def command(
    port: int, namespace: str | None, profiles: Path | None, system_namespace: str | None
) -> None:
    """Show in a browser what your manifests become, how your jobs are, and what check finds.

    \b
    Dry run  what dry-run says of a manifest that you paste, by the cluster's profiles
    Status   what status says of all jobs, and explain of the one that you choose
    Check    what check finds in the cluster, and what to do

    All is read with the rights of your kubeconfig, and nothing is written. What you may not read is named. The page is served to
    this machine alone, and only to a browser that opens the address which is printed: it holds a key that can be used once, and a new
    address is printed as soon as it was. Ctrl-C ends it.

    \b
    Examples:
      fabric-injector page
      fabric-injector page --context research-cluster -n research
      fabric-injector page --profiles changed-profiles.yaml --port 8080

    Exit status: 0 it was ended, 2 the command is wrong, or there are no credentials.
    """  # noqa: D301  # \\b is click's own mark
    from webhook.cli.input_files import read_profiles_option
    from webhook.cli.page_answers import PageAnswers
    from webhook.cli.page_server import serve
    from webhook.core.errors import WebhookError

    try:
        read_profiles_option(profiles)  # a wrong path is told here, and not only on the page
        connection = connect_to_cluster()
        serve(PageAnswers(connection, namespace, profiles, system_namespace), port)
    except WebhookError as error:
        raise Failure(str(error)) from None
