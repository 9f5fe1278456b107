"""Read one rendezvous address as it is written: ``ddp-0.ddp``, ``tcp://[fd00::1]:29500``."""

import re
from functools import lru_cache
from typing import Final

LONGEST: Final = 1024
"""Characters of a text that could still be an address."""
_ENDPOINT: Final = re.compile(r"(?:[a-z]+://)?(\[[^\]]*\]|[^:\[\]/]*)(?::[^:]*)?\Z")
_LOCAL: Final = frozenset(
    ("localhost", "127.0.0.1", "::1", "[::1]", "0.0.0.0", "[::]")  # noqa: S104  # read
)


def host_of(value: str | None) -> str:
    """Return the host of ``host``, ``host:port``, ``tcp://host:port``.

    Empty for a path, ``$HOST``, a bare IPv6. A reference after the first DNS label hides nothing:
    ``ddp-0.ddp.$(NAMESPACE).svc`` is a host.
    """
    return _host_of(value) if value and len(value) <= LONGEST else ""


@lru_cache(256)
def _host_of(value: str) -> str:
    """Read a short text: all containers and pods of a job hold the same few."""
    match = _ENDPOINT.match(value.strip())
    host = match[1] if match else ""
    label = first_label(host)
    return "" if "$" in label or "`" in label or label.startswith("-") else host


def first_label(host: str) -> str:
    """Return the first DNS label of a host: the pod's name where a system sets the address."""
    return host.partition(".")[0]


def is_local(host: str) -> bool:
    """Tell whether *host* is an address by which a pod means itself."""
    return host in _LOCAL
