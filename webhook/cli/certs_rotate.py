"""Ask the controller for new certificates: ``fabric-injector certs rotate``."""

from __future__ import annotations

import click

from certs.rotation import Kind, Policy
from webhook.cli.options import Failure, cluster_options, connect_to_cluster, namespace_option
from webhook.core import names
from webhook.core.errors import InputError, Unavailable


@click.command("rotate")
@click.option("--authority", is_flag=True, help="A new CA too, which signs once all API servers trust it.")
@namespace_option("Namespace of the Secret.")
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
    from webhook.control.certificates.secret import SecretStore

    kind = Kind.AUTHORITY if authority else Kind.SERVING
    try:
        secret = SecretStore(connect_to_cluster(), namespace, names.TLS_SECRET)
        found = secret.ask(kind)
    except (InputError, Unavailable) as error:
        raise Failure(str(error)) from None
    if not found:
        raise Failure(f"{secret.title} does not exist; is the controller running in namespace {namespace}?")
    when = (
        f"in caBundle within seconds, and signs after {Policy().settle.total_seconds():.0f} s"
        if authority
        else "due now"
    )
    click.echo(f"{secret.title}: asked for a new {kind} certificate, {when}; follow it with `certs show`")
