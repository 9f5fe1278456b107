"""Read one rendezvous address as it is written: ``ddp-0.ddp``, ``tcp://[fd00::1]:29500``."""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from webhook.core.workloads import words

LONGEST: Final = 1024
"""Characters of a text that could still be an address."""
OWN_ADDRESS: Final = "status.podIP"
"""Stands for the pod's own address on the cluster network, which is not known at admission."""
_VARIABLE: Final = words.word("addresses")
_ENDPOINT: Final = re.compile(
    r"(?P<scheme>[a-z]+://)?(?P<host>\[[^\]]*\]|[^:\[\]/]*)(?P<rest>(?::[^:]*)?)\Z"
)
_LOCAL: Final = frozenset(
    ("localhost", "127.0.0.1", "::1", "[::1]", "0.0.0.0", "[::]", OWN_ADDRESS)  # noqa: S104  # read
)


class Endpoint(NamedTuple):
    """Split ``tcp://ddp-0.ddp:29500`` into ``("tcp://", "ddp-0.ddp", ":29500")``."""

    scheme: str
    host: str
    rest: str


def is_rendezvous_variable(name: str) -> bool:
    """Tell whether launchers or training scripts read the address of rank 0 from a variable."""
    return _VARIABLE.match(name) is not None


def split_endpoint(value: str) -> Endpoint | None:
    """Split ``host``, ``host:port``, ``tcp://host:port``; None for a path, ``$HOST``, a bare IPv6.

    A reference after the first DNS label hides nothing: ``ddp-0.ddp.$(NAMESPACE).svc`` is a host.
    """
    return _split(value) if value and len(value) <= LONGEST else None


@lru_cache(256)
def _split(value: str) -> Endpoint | None:
    """Split a short text: all containers and pods of a job hold the same few."""
    match = _ENDPOINT.match(value.strip())
    if match is None or not match["host"]:
        return None
    label = first_label(match["host"])
    if "$" in label or "`" in label or label.startswith("-"):
        return None
    return Endpoint(match["scheme"] or "", match["host"], match["rest"])


def first_label(host: str) -> str:
    """Return the first DNS label of a host: the pod's name where a system sets the address."""
    return host if host == OWN_ADDRESS else host.partition(".")[0]


def is_local(host: str) -> bool:
    """Tell whether *host* is an address by which a pod means itself."""
    return host in _LOCAL
