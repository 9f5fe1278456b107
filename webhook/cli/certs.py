"""Look at certificates, or ask for new ones: ``fabric-injector certs``."""

from datetime import UTC, datetime

import click

from certs import AUTHORITY
from certs.faults import leaf_of, pair_faults
from certs.pem import fingerprint, hosts, read_authorities, renewal_due
from certs.rotation import Kind, Policy
from webhook.cli import options
from webhook.cli.cluster import ClusterCommand, connect_to_cluster
from webhook.cli.options import option
from webhook.control.certificates.secret import SecretStore
from webhook.core import names
from webhook.core.errors import InputError

_ABSENT = "does not exist; is the controller running in that namespace?"


@click.group("certs")
def command() -> None:
    """Show or rotate the webhook's certificates.

    The controller issues and renews them: you rarely need this.
    """


@command.command(cls=ClusterCommand)
@options.system_namespace
def show(system_namespace: str) -> None:
    """Print the serving certificate and the CAs, and what is wrong with them.

    Whether the live caBundle fits, check says. Exit status 1: something is wrong, 2: nothing
    could be read.
    """
    now = datetime.now(UTC)
    store = SecretStore(connect_to_cluster(), system_namespace, names.TLS_SECRET)
    secret = store.read()
    if not secret.exists:
        raise InputError(f"{store.title} {_ABSENT}")
    leaf = leaf_of(secret.data)
    certificates = [("CA", each) for each in read_authorities(secret.data.get(AUTHORITY, b""))]
    certificates += [("serving", leaf)] if leaf else []
    for kind, each in certificates:
        name, mark = each.subject.rfc4514_string(), fingerprint(each)[:16]
        ends = each.not_valid_after_utc
        life = f"until {ends:%Y-%m-%d %H:%M} UTC ({(ends - now).days} days)"
        click.echo(f"{kind:<10} {name}  {mark}  {life}, renewal {renewal_due(each):%Y-%m-%d}")
    if leaf:
        click.echo(f"           for {', '.join(sorted(hosts(leaf)))}")
    faults = list(pair_faults(secret.data, now))
    for fault in faults:
        click.echo(f"WRONG  {fault}")
    if faults:
        raise SystemExit(1)
    click.echo("ok; fabric-injector check says whether the cluster trusts it")


@command.command(cls=ClusterCommand)
@option("--authority", is_flag=True, help="Ask for a new CA too; it signs once all trust it.")
@options.system_namespace
def rotate(authority: bool, system_namespace: str) -> None:
    """Ask the controller for a new serving certificate now, and on request for a new CA.

    No admission fails: the old CA stays in caBundle until all its certificates have expired. For a
    stolen key that is too long: delete the Secret and empty caBundle instead.
    """
    kind = Kind.AUTHORITY if authority else Kind.SERVING
    store = SecretStore(connect_to_cluster(), system_namespace, names.TLS_SECRET)
    if not store.ask(kind):
        raise InputError(f"{store.title} {_ABSENT}")
    settle = f"in caBundle within seconds, signs after {Policy().settle.total_seconds():.0f} s"
    when = settle if authority else "due now"
    click.echo(f"{store.title}: asked for a new {kind} certificate, {when}; see `certs show`")
