"""Print the certificate that is served, and the CAs that are trusted: the work of ``fabric-injector certs show``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import click
from cryptography import x509

from certs import AUTHORITY, CERTIFICATE, KEY
from certs.faults import Fault, leaf_of, pair_faults, trust_faults, valid_authorities
from certs.pem import fingerprint, hosts, read_authorities, renewal_due
from webhook.cli.options import Failure, connect_to_cluster
from webhook.control.certificates.secret import SecretStore
from webhook.core import names
from webhook.core.errors import InputError, Unavailable
from webhook.kube.catalogue import WEBHOOK_CONFIGURATIONS
from webhook.kube.connection import Connection
from webhook.kube.reader import Reader
from webhook.kube.webhook_configuration import WebhookConfiguration, read_webhook_configuration

_TIMEOUT_SECONDS = 4.0


def are_right(directory: Path | None, namespace: str, webhook_configuration: str) -> bool:
    """Print what is served and trusted, of *directory* or else of the Secret in *namespace*, and what is wrong with it.

    Raises Failure where nothing can be read.
    """
    now = datetime.now(UTC)
    connection = _connect(required=directory is None)
    data = _secret(connection, namespace) if directory is None else _files(directory)
    if not any(data.values()):
        raise Failure(
            f"{directory or names.TLS_SECRET}: holds neither {CERTIFICATE} nor {AUTHORITY}"
        )
    _print(data, now)
    faults = list(pair_faults(data, now))
    if connection is not None:
        faults += _compare(_find(connection, webhook_configuration), data, now)
    for fault in faults:
        click.echo(f"WRONG  {fault}")
    return not faults


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
    assert connection is not None  # noqa: S101  # it was required
    store = SecretStore(connection, namespace, names.TLS_SECRET)
    try:
        secret = store.read()
    except Unavailable as error:
        raise Failure(str(error)) from None
    if not secret.exists:
        raise Failure(
            f"{store.title} does not exist; is the controller running in namespace {namespace}?"
        )
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


def _find(connection: Connection, name: str) -> WebhookConfiguration | None:
    """Return the configuration; where it cannot be read, print why."""
    try:
        found = Reader(connection, _TIMEOUT_SECONDS).find(
            WEBHOOK_CONFIGURATIONS, ("", name), read_webhook_configuration
        )
    except Unavailable as error:
        click.echo(f"caBundle   not compared: {error}")
        return None
    if found is None:
        click.echo(f"caBundle   not compared: there is no MutatingWebhookConfiguration {name}")
    return found


def _compare(
    configuration: WebhookConfiguration | None, data: Mapping[str, bytes], now: datetime
) -> list[Fault]:
    """Return why the live caBundle refuses the certificate."""
    if configuration is None:
        return []
    if configuration.keeper:
        click.echo(f"caBundle   kept by {configuration.keeper}")
    faults: list[Fault] = []
    for entry in configuration.entries:
        trusted = valid_authorities(entry.ca_bundle, now)
        click.echo(f"caBundle   {entry.name}: {len(trusted)} CA, calls {entry.host}")
        faults += trust_faults(leaf_of(data), entry.name, entry.ca_bundle, entry.host, now)
    return faults
