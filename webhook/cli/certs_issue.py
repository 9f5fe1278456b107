"""Write a CA and a serving certificate into a directory: ``fabric-injector certs issue``."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from certs import AUTHORITY, CERTIFICATE, KEY
from webhook.cli.options import Failure
from webhook.core import names

if TYPE_CHECKING:
    from certs.issue import KeyPair

_HOST = f"{names.SERVICE}.fabric-injector.svc"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DNS_NAME = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*", re.ASCII)


@click.command("issue")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Directory to write into.",
)
@click.option("--dns", multiple=True, help=f"DNS name. Repeatable. Default: {_HOST}.")
@click.option("--ip", multiple=True, help="IP address. Repeatable.")
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    default=90,
    show_default=True,
    help="Life of the certificate.",
)
@click.option(
    "--authority-days",
    type=click.IntRange(1, 36500),
    default=3650,
    show_default=True,
    help="Life of a CA that is made.",
)
@click.option("--force", is_flag=True, help="Replace a tls.crt and tls.key that are there.")
def issue(
    out: Path,
    dns: tuple[str, ...],
    ip: tuple[str, ...],
    days: int,
    authority_days: int,
    force: bool,
) -> None:
    """Write tls.crt, tls.key and ca.crt for `serve --tls-dir`, where the controller does not keep them.

    The CA of the directory signs (ca.crt and ca.key), so that clients that trust it need no change; without one, one is made. Keep
    ca.key away from the server. Exit status 2: something that was given here cannot be used.

    \b
    Examples:
      fabric-injector certs issue --out tls --dns fabric-injector.fabric-injector.svc
      fabric-injector certs issue --out tls --dns injector.example.com --ip 10.0.0.7 --days 30 --force
      kubectl create secret generic fabric-injector-tls --from-file tls/tls.crt --from-file tls/tls.key --from-file tls/ca.crt
    """  # noqa: D301  # \\b is click's own mark
    from certs.issue import issue_serving

    if not force and (present := [name for name in (CERTIFICATE, KEY) if (out / name).exists()]):
        raise Failure(
            f"{out / present[0]} exists; add --force to replace it, or choose another --out"
        )
    if wrong := [name for name in dns if not _DNS_NAME.fullmatch(name)]:
        raise Failure(
            f"--dns {wrong[0]!r}: is not a DNS name; write one such as injector.example.com, in ASCII"
        )
    now = datetime.now(UTC)
    dns = dns or (() if ip else (_HOST,))
    try:
        out.mkdir(parents=True, exist_ok=True)
        authority = _authority(out, now) or _make_authority(
            out, now, timedelta(days=authority_days)
        )
        serving = issue_serving(
            authority,
            "fabric-injector",
            dns_names=dns,
            ip_addresses=ip,
            now=now,
            lifetime=timedelta(days=days),
        )
        _write(out / KEY, serving.key)
        _write(out / CERTIFICATE, serving.certificate)
    except OSError as error:
        raise Failure(
            f"{error.filename or out}: {error.strerror or error}; choose another --out"
        ) from None
    except ValueError as error:
        raise Failure(f"--dns, --ip: {error}; give DNS names in ASCII and IP addresses") from None
    click.echo(f"{out}: certificate for {', '.join((*dns, *ip))}; caBundle is ca.crt in base64")


def _authority(directory: Path, now: datetime) -> KeyPair | None:
    """Return the CA of the directory; None if it has none. Raises Failure where it cannot be used."""
    from certs.bundle import SIGNING_KEY
    from certs.issue import KeyPair
    from certs.pem import is_pair, is_valid, read_authorities, read_key, write_certificates

    certificate, key = directory / AUTHORITY, directory / SIGNING_KEY
    if not certificate.exists() and not key.exists():
        return None
    pem = key.read_bytes() if key.exists() else b""
    private = read_key(pem)
    found = read_authorities(certificate.read_bytes()) if certificate.exists() else ()
    fitting = [each for each in found if private and is_pair(each, private) and is_valid(each, now)]
    if not fitting:
        raise Failure(
            f"{certificate}, {key}: no valid CA with its EC key; give both, or remove both to have a new CA made"
        )
    return KeyPair(write_certificates(fitting[:1]), pem)


def _make_authority(directory: Path, now: datetime, lifetime: timedelta) -> KeyPair:
    from certs.bundle import SIGNING_KEY
    from certs.issue import issue_authority

    authority = issue_authority("fabric-injector CA", now=now, lifetime=lifetime)
    _write(directory / SIGNING_KEY, authority.key)
    _write(directory / AUTHORITY, authority.certificate)
    return authority


def _write(path: Path, content: bytes) -> None:
    """Replace a file in one step, because a server may read it at any moment; only its owner may read a key."""
    part = path.with_name(f".{path.name}.new")
    part.unlink(missing_ok=True)
    descriptor = os.open(
        part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if path.suffix == ".key" else 0o644
    )
    with open(descriptor, "wb") as file:
        file.write(content)
    part.replace(path)
