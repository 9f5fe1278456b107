"""Look at certificates, or ask for new ones: ``fabric-injector certs``."""

from datetime import UTC, datetime

import click
from cryptography import x509

from certs import AUTHORITY
from certs.faults import leaf_of, pair_faults
from certs.pem import fingerprint, hosts, read_authorities, renewal_due
from certs.rotation import Kind, Policy
from webhook.cli import options
from webhook.cli.options import connect_to_cluster, option
from webhook.control.certificates.secret import SecretStore
from webhook.core import names
from webhook.core.errors import InputError


@click.group("certs")
def command() -> None:
    """Show or rotate the webhook's certificates.

    The controller issues and renews them: you rarely need this.
    """


@command.command(cls=options.ClusterCommand)
@options.system_namespace
def show(system_namespace: str) -> None:
    """Print the serving certificate and the CAs, and what is wrong with them.

    Whether the live caBundle fits, check says. Exit status 1: something is wrong, 2: nothing
    could be read.
    """
    now = datetime.now(UTC)
    store = _store(system_namespace)
    secret = store.read()
    if not secret.exists:
        raise _absent(store)
    data = secret.data
    for authority in read_authorities(data.get(AUTHORITY, b"")):
        _print("CA", authority, now)
    if leaf := leaf_of(data):
        _print("serving", leaf, now)
        click.echo(f"           for {', '.join(sorted(hosts(leaf)))}")
    faults = list(pair_faults(data, now))
    for fault in faults:
        click.echo(f"WRONG  {fault}")
    if faults:
        raise SystemExit(1)
    click.echo("ok; fabric-injector check says whether the cluster trusts it")


@command.command(cls=options.ClusterCommand)
@option("--authority", is_flag=True, help="Ask for a new CA too; it signs once all trust it.")
@options.system_namespace
def rotate(authority: bool, system_namespace: str) -> None:
    """Ask the controller for a new serving certificate now, and on request for a new CA.

    No admission fails: the old CA stays in caBundle until all its certificates have expired. For a
    stolen key that is too long: delete the Secret and empty caBundle instead.
    """
    kind = Kind.AUTHORITY if authority else Kind.SERVING
    secret = _store(system_namespace)
    if not secret.ask(kind):
        raise _absent(secret)
    settle = f"in caBundle within seconds, signs after {Policy().settle.total_seconds():.0f} s"
    when = settle if authority else "due now"
    click.echo(f"{secret.title}: asked for a new {kind} certificate, {when}; see `certs show`")


def _absent(secret: SecretStore) -> InputError:
    return InputError(
        f"{secret.title} does not exist; is the controller running in that namespace?"
    )


def _store(namespace: str) -> SecretStore:
    return SecretStore(connect_to_cluster(), namespace, names.TLS_SECRET)


def _print(kind: str, certificate: x509.Certificate, now: datetime) -> None:
    name, mark = certificate.subject.rfc4514_string(), fingerprint(certificate)[:16]
    ends = certificate.not_valid_after_utc
    life = f"until {ends:%Y-%m-%d %H:%M} UTC ({(ends - now).days} days)"
    click.echo(f"{kind:<10} {name}  {mark}  {life}, renewal {renewal_due(certificate):%Y-%m-%d}")
