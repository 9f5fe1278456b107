"""Write a CA and a serving certificate into a directory: ``fabric-injector certs issue``."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from certs import AUTHORITY, CERTIFICATE, KEY
from webhook.cli.options import Failure, option
from webhook.core import names

if TYPE_CHECKING:
    from certs.issue import KeyPair

_HOST = f"{names.SERVICE}.fabric-injector.svc"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DNS_NAME = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*", re.ASCII)
_FOLDER = click.Path(path_type=Path, file_okay=False)
_DAYS = click.IntRange(1, 3650)
_CA_LIFE = timedelta(days=3650)


@click.command("issue")
@option("--out", type=_FOLDER, required=True, help="Directory to write into.")
@option("--dns", multiple=True, help=f"DNS name. Repeatable. Default: {_HOST}.")
@option("--ip", multiple=True, help="IP address. Repeatable.")
@option("--days", type=_DAYS, default=90, help="Life of the certificate.")
@option("--force", is_flag=True, help="Replace the tls.crt and tls.key of the directory.")
def issue(out: Path, dns: tuple[str, ...], ip: tuple[str, ...], days: int, force: bool) -> None:
    """Write tls.crt, tls.key and ca.crt for `serve --tls-dir`, outside a cluster.

    The CA of the directory (ca.crt and ca.key) signs, and clients need no change; if there is none,
    a new one. Keep ca.key away from the server.

    \b
    Examples:
      fabric-injector certs issue --out tls --dns fabric-injector.fabric-injector.svc
      fabric-injector certs issue --out tls --dns injector.example.com --ip 10.0.0.7 --force
    """  # noqa: D301  # \\b is click's own mark
    from certs.issue import issue_serving

    present = [out / name for name in (CERTIFICATE, KEY) if (out / name).exists()]
    if present and not force:
        raise Failure(f"{present[0]} exists; add --force to replace it, or choose another --out")
    if wrong := [name for name in dns if not _DNS_NAME.fullmatch(name)]:
        example = "write one such as injector.example.com, in ASCII"
        raise Failure(f"--dns {wrong[0]!r}: is not a DNS name; {example}")
    now, dns = datetime.now(UTC), dns or (() if ip else (_HOST,))
    life = timedelta(days=days)
    try:
        out.mkdir(parents=True, exist_ok=True)
        ca = _authority(out, now) or _make_authority(out, now)
        serving = issue_serving(
            ca, "fabric-injector", dns_names=dns, ip_addresses=ip, now=now, lifetime=life
        )
        _write(out / KEY, serving.key)
        _write(out / CERTIFICATE, serving.certificate)
    except OSError as error:
        problem = error.strerror or error
        raise Failure(f"{error.filename or out}: {problem}; choose another --out") from None
    except ValueError as error:
        raise Failure(f"--dns, --ip: {error}; give DNS names in ASCII and IP addresses") from None
    click.echo(f"{out}: certificate for {', '.join((*dns, *ip))}; caBundle is ca.crt in base64")


def _authority(directory: Path, now: datetime) -> KeyPair | None:
    """Return the CA of the directory, None if it has none; raise Failure if it is unusable."""
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
        remedy = "give both, or remove both for a new CA"
        raise Failure(f"{certificate}, {key}: no valid CA with its EC key; {remedy}")
    return KeyPair(write_certificates(fitting[:1]), pem)


def _make_authority(directory: Path, now: datetime) -> KeyPair:
    from certs.bundle import SIGNING_KEY
    from certs.issue import issue_authority

    authority = issue_authority("fabric-injector CA", now=now, lifetime=_CA_LIFE)
    _write(directory / SIGNING_KEY, authority.key)
    _write(directory / AUTHORITY, authority.certificate)
    return authority


def _write(path: Path, content: bytes) -> None:
    """Replace a file in one step, since a server may read it now; only the owner reads a key."""
    part = path.with_name(f".{path.name}.new")
    part.unlink(missing_ok=True)
    mode = 0o600 if path.suffix == ".key" else 0o644
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    part.replace(path)
