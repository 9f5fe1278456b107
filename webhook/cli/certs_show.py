"""Print the serving certificate and the trusted CAs: the work of ``fabric-injector certs show``."""

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
from webhook.core.errors import InputError, WebhookError
from webhook.kube.catalogue import WEBHOOK_CONFIGURATIONS
from webhook.kube.connection import Connection
from webhook.kube.reader import Reader
from webhook.kube.webhook_configuration import WebhookConfiguration, read_webhook_configuration

_TIMEOUT_SECONDS = 4.0


def are_right(directory: Path | None, namespace: str, configuration: str) -> bool:
    """Print what is served and trusted, of *directory* or the Secret in *namespace*, and faults.

    Raises Failure if nothing can be read.
    """
    now = datetime.now(UTC)
    try:
        connection = connect_to_cluster()
    except InputError as error:
        if directory is None:
            raise Failure(str(error)) from None
        connection = None
        click.echo(f"caBundle   not compared: {error}")
    data = _files(directory) if directory or not connection else _secret(connection, namespace)
    if not any(data.values()):
        place = directory or names.TLS_SECRET
        raise Failure(f"{place}: holds neither {CERTIFICATE} nor {AUTHORITY}")
    _print(data, now)
    faults = list(pair_faults(data, now))
    if connection and (found := _find(connection, configuration)):
        faults += _compare(found, data, now)
    for fault in faults:
        click.echo(f"WRONG  {fault}")
    return not faults


def _files(directory: Path | None) -> Mapping[str, bytes]:
    paths = [(directory or Path()) / name for name in (CERTIFICATE, KEY, AUTHORITY)]
    try:
        return {path.name: path.read_bytes() for path in paths if path.exists()}
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}") from None


def _secret(connection: Connection, namespace: str) -> Mapping[str, bytes]:
    store = SecretStore(connection, namespace, names.TLS_SECRET)
    try:
        secret = store.read()
    except WebhookError as error:
        raise Failure(str(error)) from None
    if not secret.exists:
        question = f"is the controller running in namespace {namespace}?"
        raise Failure(f"{store.title} does not exist; {question}")
    return secret.data


def _print(data: Mapping[str, bytes], now: datetime) -> None:
    for authority in read_authorities(data.get(AUTHORITY, b"")):
        _line("CA", authority, now)
    if leaf := leaf_of(data):
        _line("serving", leaf, now)
        click.echo(f"           for {', '.join(sorted(hosts(leaf)))}")


def _line(kind: str, certificate: x509.Certificate, now: datetime) -> None:
    name, mark = certificate.subject.rfc4514_string(), fingerprint(certificate)[:16]
    ends = certificate.not_valid_after_utc
    life = f"until {ends:%Y-%m-%d %H:%M} UTC ({(ends - now).days} days)"
    click.echo(f"{kind:<10} {name}  {mark}  {life}, renewal {renewal_due(certificate):%Y-%m-%d}")


def _find(connection: Connection, name: str) -> WebhookConfiguration | None:
    """Return the configuration; print why not."""
    reader = Reader(connection, _TIMEOUT_SECONDS)
    problem = f"there is no MutatingWebhookConfiguration {name}"
    try:
        found = reader.find(WEBHOOK_CONFIGURATIONS, ("", name), read_webhook_configuration)
    except WebhookError as error:
        found, problem = None, str(error)
    if found is None:
        click.echo(f"caBundle   not compared: {problem}")
    return found


def _compare(
    configuration: WebhookConfiguration, data: Mapping[str, bytes], now: datetime
) -> list[Fault]:
    """Return why the live caBundle refuses the certificate."""
    if configuration.keeper:
        click.echo(f"caBundle   kept by {configuration.keeper}")
    faults: list[Fault] = []
    for entry in configuration.entries:
        trusted = valid_authorities(entry.ca_bundle, now)
        click.echo(f"caBundle   {entry.name}: {len(trusted)} CA, calls {entry.host}")
        faults += trust_faults(leaf_of(data), entry.name, entry.ca_bundle, entry.host, now)
    return faults
