"""Show what is served and trusted: ``fabric-injector certs show``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import click
from cryptography import x509

from certs.faults import Fault, leaf_of, pair_faults, trust_faults, valid_authorities
from certs.pem import fingerprint, hosts, read_authorities, renewal_due
from certs.serving import AUTHORITY, CERTIFICATE, KEY
from webhook.cli.options import (
    Failure,
    cluster_options,
    connect_to_cluster,
    namespace_option,
    webhook_configuration_option,
)
from webhook.core import names
from webhook.core.errors import InputError, Unavailable
from webhook.kube.connection import Connection
from webhook.kube.webhook_configuration import get_webhook_configuration

_TIMEOUT_SECONDS = 4.0


@click.command("show")
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Read tls.crt, tls.key and ca.crt of this directory in place of the Secret.",
)
@namespace_option("Namespace of the Secret.")
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
    now = datetime.now(UTC)
    connection = _connect(required=directory is None)
    data = _secret(connection, namespace) if directory is None else _files(directory)
    if not any(data.values()):
        raise Failure(f"{directory or names.TLS_SECRET}: holds neither {CERTIFICATE} nor {AUTHORITY}")
    _print(data, now)
    faults = list(pair_faults(data, now))
    if connection is not None:
        faults += _compare(connection, webhook_configuration, data, now)
    for fault in faults:
        click.echo(f"WRONG  {fault}")
    if faults:
        raise SystemExit(1)
    click.echo("ok")


def _connect(*, required: bool) -> Connection | None:
    try:
        return connect_to_cluster()
    except InputError as error:
        if required:
            raise Failure(str(error)) from None
        click.echo(f"caBundle   not compared: {error}")
        return None


def _files(directory: Path) -> Mapping[str, bytes]:
    try:
        return {
            name: (directory / name).read_bytes()
            for name in (CERTIFICATE, KEY, AUTHORITY)
            if (directory / name).exists()
        }
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}") from None


def _secret(connection: Connection | None, namespace: str) -> Mapping[str, bytes]:
    from webhook.control.certificates.secret import SecretStore

    assert connection is not None  # noqa: S101  # it was required
    store = SecretStore(connection, namespace, names.TLS_SECRET)
    try:
        secret = store.read()
    except Unavailable as error:
        raise Failure(str(error)) from None
    if not secret.exists:
        raise Failure(f"{store.title} does not exist; is the controller running in namespace {namespace}?")
    return secret.data


def _print(data: Mapping[str, bytes], now: datetime) -> None:
    for authority in read_authorities(data.get(AUTHORITY, b"")):
        _line("CA", authority, now)
    leaf = leaf_of(data)
    if leaf is not None:
        _line("serving", leaf, now)
        click.echo(f"           for {', '.join(sorted(hosts(leaf)))}")


def _line(kind: str, certificate: x509.Certificate, now: datetime) -> None:
    days = (certificate.not_valid_after_utc - now).days
    name = certificate.subject.rfc4514_string()
    click.echo(
        f"{kind:<10} {name}  {fingerprint(certificate)[:16]}  until {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC "
        f"({days} days), renewal {renewal_due(certificate):%Y-%m-%d}"
    )


def _compare(connection: Connection, name: str, data: Mapping[str, bytes], now: datetime) -> list[Fault]:
    """Tell what the live caBundle says of the certificate; where that cannot be known, only why."""
    try:
        configuration = get_webhook_configuration(connection, name, timeout=_TIMEOUT_SECONDS)
    except Unavailable as error:
        click.echo(f"caBundle   not compared: {error}")
        return []
    if configuration is None:
        click.echo(f"caBundle   not compared: there is no MutatingWebhookConfiguration {name}")
        return []
    if configuration.keeper:
        click.echo(f"caBundle   kept by {configuration.keeper}")
    faults: list[Fault] = []
    for entry in configuration.entries:
        trusted = valid_authorities(entry.ca_bundle, now)
        click.echo(f"caBundle   {entry.name}: {len(trusted)} CA, calls {entry.host}")
        faults += trust_faults(leaf_of(data), entry.name, entry.ca_bundle, entry.host, now)
    return faults
