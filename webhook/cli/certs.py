"""Look at certificates, ask for new ones, or make them: ``fabric-injector certs``."""

from __future__ import annotations

from pathlib import Path

import click

from webhook.cli.certs_issue import issue
from webhook.cli.options import (
    Failure,
    cluster_options,
    connect_to_cluster,
    namespace_option,
    webhook_configuration_option,
)
from webhook.core import names


@click.group("certs")
def command() -> None:
    """Show, issue or rotate the webhook's certificates.

    The controller (fabric-injector control) issues and renews them by itself: none of this is needed in daily life.

    \b
    Examples:
      fabric-injector certs show
      fabric-injector certs rotate --authority
      fabric-injector certs issue --out tls --dns fabric-injector.fabric-injector.svc
    """  # noqa: D301  # \\b is click's own mark


command.add_command(issue)


@command.command()
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Read tls.crt, tls.key and ca.crt of this directory in place of the Secret.",
)
@namespace_option("CERTS_SHOW", "Namespace of the Secret.")
@webhook_configuration_option
@cluster_options
def show(directory: Path | None, namespace: str, webhook_configuration: str) -> None:
    """Print the certificate that is served, the CAs that are trusted, and whether the live caBundle fits.

    Exit status 1: something is wrong, and API servers refuse the webhook or soon will. 2: nothing could be read.

    \b
    Examples:
      fabric-injector certs show
      fabric-injector certs show --dir /etc/fabric-injector/tls
    """  # noqa: D301  # \\b is click's own mark
    from webhook.cli.certs_show import are_right

    if not are_right(directory, namespace, webhook_configuration):
        raise SystemExit(1)
    click.echo("ok")


@command.command()
@click.option(
    "--authority", is_flag=True, help="A new CA too, which signs once all API servers trust it."
)
@namespace_option("CERTS_ROTATE", "Namespace of the Secret.")
@cluster_options
def rotate(authority: bool, namespace: str) -> None:
    """Ask the controller for a new serving certificate now, and on request for a new CA.

    No admission fails: the old CA stays in caBundle until all that it signed has expired. Where a key was stolen that is too long:
    delete the Secret and empty caBundle instead; a new CA is then trusted within seconds, and the old one nowhere.

    \b
    Examples:
      fabric-injector certs rotate
      fabric-injector certs rotate --authority
    """  # noqa: D301  # \\b is click's own mark
    from certs.rotation import Kind, Policy
    from webhook.control.certificates.secret import SecretStore
    from webhook.core.errors import InputError, Unavailable

    kind = Kind.AUTHORITY if authority else Kind.SERVING
    try:
        secret = SecretStore(connect_to_cluster(), namespace, names.TLS_SECRET)
        found = secret.ask(kind)
    except (InputError, Unavailable) as error:
        raise Failure(str(error)) from None
    if not found:
        raise Failure(
            f"{secret.title} does not exist; is the controller running in namespace {namespace}?"
        )
    when = (
        f"in caBundle within seconds, and signs after {Policy().settle.total_seconds():.0f} s"
        if authority
        else "due now"
    )
    click.echo(
        f"{secret.title}: asked for a new {kind} certificate, {when}; follow it with `certs show`"
    )
