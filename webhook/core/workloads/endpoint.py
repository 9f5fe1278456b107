"""Read one rendezvous address as it is written: ``ddp-0.ddp``, ``ddp-0.ddp:29500``, ``tcp://[fd00::1]:29500``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

LONGEST: Final = 1024
"""Characters of a text that could still be an address."""
OWN_ADDRESS: Final = "status.podIP"
"""Stands for the pod's own address on the cluster network, which is not known at admission."""
_VARIABLES: Final = frozenset(
    (
        "MASTER_ADDR",
        "PET_MASTER_ADDR",
        "PET_RDZV_ENDPOINT",
        "LWS_LEADER_ADDRESS",
        "MASTER_HOST",
        "DIST_URL",
        "INIT_METHOD",
    )
)
_SUFFIXES: Final = (
    "_MASTER_ADDR",
    "RDZV_ENDPOINT",
    "_MASTER_ADDRESS",
    "RDZV_HOST",
    "_INIT_METHOD",
    "_DIST_URL",
)
_ENDPOINT: Final = re.compile(
    r"(?P<scheme>[a-z]+://)?(?P<host>\[[^\]]*\]|[^:\[\]/]*)(?P<rest>(?::[^:]*)?)\Z"
)
_LOCAL: Final = frozenset(
    ("localhost", "127.0.0.1", "::1", "[::1]", "0.0.0.0", "[::]", OWN_ADDRESS)  # noqa: S104  # read
)


class Endpoint(NamedTuple):
    """Split an address as it is written: ``tcp://ddp-0.ddp:29500`` is ``("tcp://", "ddp-0.ddp", ":29500")``."""

    scheme: str
    host: str
    rest: str


def is_rendezvous_variable(name: str) -> bool:
    """Tell whether launchers or training scripts read the address of rank 0 from variable *name*."""
    return name in _VARIABLES or name.endswith(_SUFFIXES)


def is_torch_variable(name: str) -> bool:
    """Tell whether *name* alone says that ranks meet: ``REDIS_MASTER_ADDR`` is an address too, and of no rank."""
    return name in _VARIABLES


def split_endpoint(value: str) -> Endpoint | None:
    """Split ``host``, ``host:port`` and ``tcp://host:port``; None for what names no pod (a path, ``$HOST``, a bare IPv6 address).

    A reference after the first DNS label hides nothing that counts: ``ddp-0.ddp.$(NAMESPACE).svc`` is a host.
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
    """Return the first DNS label of a host name: the pod's name in every system that sets a rendezvous address."""
    return host if host == OWN_ADDRESS else host.partition(".")[0]


def is_local(host: str) -> bool:
    """Tell whether *host* is an address by which a pod means itself."""
    return host in _LOCAL
