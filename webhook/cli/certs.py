"""Look at certificates, ask for new ones, or make them: ``fabric-injector certs``."""

from __future__ import annotations

from pathlib import Path

import click

from webhook.cli.certs_issue import issue
from webhook.cli.options import (
    CLUSTER_HELP,
    Failure,
    cluster_options,
    connect_to_cluster,
    namespace_option,
    option,
    webhook_configuration_option,
)
from webhook.core import names

_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)


@click.group("certs")
def command() -> None:
    """Show, issue or rotate the webhook's certificates.

    The controller issues and renews them: you rarely need this.

    \b
    Examples:
      fabric-injector certs show
      fabric-injector certs rotate --authority
    """  # noqa: D301  # \\b is click's own mark


command.add_command(issue)


@command.command(epilog=CLUSTER_HELP)
@option("--dir", "directory", type=_FOLDER, help="Read this directory in place of the Secret.")
@namespace_option("CERTS_SHOW", "Namespace of the Secret.")
@webhook_configuration_option
@cluster_options
def show(directory: Path | None, namespace: str, webhook_configuration: str) -> None:
    """Print the serving certificate, the trusted CAs, and whether the live caBundle fits.

    Exit status 1: something is wrong, and API servers refuse the webhook or soon will. 2: nothing
    could be read.

    \b
    Examples:
      fabric-injector certs show
      fabric-injector certs show --dir /etc/fabric-injector/tls
    """  # noqa: D301  # \\b is click's own mark
    from webhook.cli.certs_show import are_right

    if not are_right(directory, namespace, webhook_configuration):
        raise SystemExit(1)
    click.echo("ok")


@command.command(epilog=CLUSTER_HELP)
@option("--authority", is_flag=True, help="Ask for a new CA too; it signs once all trust it.")
@namespace_option("CERTS_ROTATE", "Namespace of the Secret.")
@cluster_options
def rotate(authority: bool, namespace: str) -> None:
    """Ask the controller for a new serving certificate now, and on request for a new CA.

    No admission fails: the old CA stays in caBundle until all its certificates have expired. For a
    stolen key that is too long: delete the Secret and empty caBundle instead.

    \b
    Examples:
      fabric-injector certs rotate
      fabric-injector certs rotate --authority
    """  # noqa: D301  # \\b is click's own mark
    from certs.rotation import Kind, Policy
    from webhook.control.certificates.secret import SecretStore
    from webhook.core.errors import WebhookError

    kind = Kind.AUTHORITY if authority else Kind.SERVING
    try:
        secret = SecretStore(connect_to_cluster(), namespace, names.TLS_SECRET)
        found = secret.ask(kind)
    except WebhookError as error:
        raise Failure(str(error)) from None
    if not found:
        question = f"is the controller running in namespace {namespace}?"
        raise Failure(f"{secret.title} does not exist; {question}")
    settle = f"in caBundle within seconds, signs after {Policy().settle.total_seconds():.0f} s"
    when = settle if authority else "due now"
    click.echo(f"{secret.title}: asked for a new {kind} certificate, {when}; see `certs show`")
