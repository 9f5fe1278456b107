"""Serve the page on this machine, with the caller's rights: ``fabric-injector page``."""

from pathlib import Path

import click

from webhook.cli.input_files import read_profiles_option
from webhook.cli.options import (
    CLUSTER_HELP,
    cluster_options,
    connect_to_cluster,
    option,
    profiles_in_place_option,
    workload_namespace_option,
)
from webhook.cli.page_answers import PageAnswers
from webhook.cli.page_server import serve

_PORT = click.IntRange(0, 65535)


@click.command("page", epilog=CLUSTER_HELP)
@option("--port", type=_PORT, default=0, help="Port of 127.0.0.1; 0 takes a free one.")
@workload_namespace_option("Default namespace; else the kubeconfig's.")
@profiles_in_place_option
@option("--system-namespace", metavar="NS", help="Namespace of fabric-injector.")
@cluster_options
def command(
    port: int, namespace: str | None, profiles: Path | None, system_namespace: str | None
) -> None:
    """Show dry run, status and check in a browser, on this machine.

    The page reads with your rights and writes nothing. Only the browser that opens the printed
    address gets answers. The link works once; after use, a new one is printed. Ctrl-C ends it.

    \b
    Examples:
      fabric-injector page
      fabric-injector page --context research-cluster -n research
      fabric-injector page --profiles changed-profiles.yaml --port 8080
    """  # noqa: D301  # \\b is click's own mark
    read_profiles_option(profiles)  # a wrong path ends the command, before the page opens
    connection = connect_to_cluster()
    serve(PageAnswers(connection, namespace, profiles, system_namespace), port)
