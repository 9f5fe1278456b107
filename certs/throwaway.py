"""Make a throw-away authority and a serving certificate for this machine, for demos and tests.

``python -m certs.throwaway DIRECTORY`` does it in a process of its own: the cryptography library,
which costs 8 MB, then never loads into a server.
"""

import os
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from certs.issue import issue_authority, issue_serving

LIFETIME = timedelta(days=30)
DNS_NAMES = ("localhost",)
IP_ADDRESSES = ("127.0.0.1", "::1")


def make_throwaway(
    directory: Path,
    *,
    now: datetime,
    dns_names: Iterable[str] = DNS_NAMES,
    ip_addresses: Iterable[str] = IP_ADDRESSES,
    lifetime: timedelta = LIFETIME,
) -> Path:
    """Write ``ca.crt``, ``tls.crt`` and ``tls.key`` into *directory*, the CA's key nowhere.

    Returns the path of ``ca.crt``.
    """
    authority = issue_authority("fabric-injector throw-away CA", now=now, lifetime=lifetime)
    serving = issue_serving(
        authority,
        "fabric-injector",
        dns_names=dns_names,
        ip_addresses=ip_addresses,
        now=now,
        lifetime=lifetime,
    )
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "ca.crt").write_bytes(authority.certificate)
    (directory / "tls.crt").write_bytes(serving.certificate)
    descriptor = os.open(directory / "tls.key", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(serving.key)
    return directory / "ca.crt"


if __name__ == "__main__":
    make_throwaway(Path(sys.argv[1]), now=datetime.now(UTC))
