"""A Secret and a caBundle with their history, seen as late as anybody may see them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TypeVar

from cryptography import x509

from certs.bundle import read_bundle
from certs.pem import (
    fingerprint,
    is_pair,
    is_signed_by,
    is_valid,
    read_authorities,
    read_certificates,
    read_key,
)
from certs.rotation import Kind, Policy, Rotation, View, advance

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY, MINUTE, SECOND = timedelta(days=1), timedelta(minutes=1), timedelta(seconds=1)
NAMES = frozenset({"fabric-injector.fabric-injector.svc"})
REPLICA_LATE, API_SERVER_LATE = 2 * MINUTE, MINUTE

T = TypeVar("T")


@dataclass
class Simulation:
    """One controller that passes whenever it is told to; `now` is moved by the caller."""

    now: datetime = NOW
    policy: Policy = field(default_factory=Policy)
    names: frozenset[str] = NAMES
    secrets: list[tuple[datetime, Mapping[str, bytes]]] = field(default_factory=lambda: [(NOW, {})])
    ca_bundles: list[tuple[datetime, bytes]] = field(default_factory=lambda: [(NOW, b"")])
    changes: list[str] = field(default_factory=list)
    seen: dict[str, datetime] = field(default_factory=dict)

    @property
    def secret(self) -> Mapping[str, bytes]:
        """The newest data of the Secret."""
        return self.secrets[-1][1]

    @property
    def ca_bundle(self) -> bytes:
        """The newest caBundle."""
        return self.ca_bundles[-1][1]

    @property
    def leaf(self) -> x509.Certificate:
        """The certificate in the Secret."""
        (leaf,) = read_certificates(self.secret["tls.crt"])
        return leaf

    def write(self, secret: Mapping[str, bytes]) -> None:
        """Put other data into the Secret."""
        self.secrets.append((self.now, secret))

    def publish(self, ca_bundle: bytes) -> None:
        """Put another text into caBundle."""
        self.ca_bundles.append((self.now, ca_bundle))

    def step(self, asked: Kind | None = None) -> Rotation:
        """Decide, as the controller does."""
        trusted = map(fingerprint, read_authorities(self.ca_bundle))
        self.seen = {key: self.seen.get(key, self.now) for key in trusted}
        view = View(self.ca_bundle, {key: self.now - since for key, since in self.seen.items()})
        bundle = read_bundle(self.secret, self.ca_bundle)
        return advance(bundle, view, self.now, names=self.names, policy=self.policy, asked=asked)

    def turn(self, asked: Kind | None = None, *, publish: bool = True) -> Rotation:
        """Let the controller work once; without *publish* it dies between its two writes."""
        step = self.step(asked)
        self.changes += step.changes
        if self.secret != (data := {**self.secret, **step.bundle.data()}):
            self.write(data)
        if publish and self.ca_bundle != step.bundle.ca_bundle:
            self.publish(step.bundle.ca_bundle)
        return step

    def run(self, duration: timedelta, period: timedelta = 10 * SECOND) -> None:
        """Let the controller work again and again, and check at each moment."""
        end = self.now + duration
        while self.now < end:
            self.turn()
            self.check()
            self.now += period
        self.turn()

    def served(self) -> list[x509.Certificate]:
        """Return what replicas may serve now: each keeps the last pair that it could use."""
        held = visible(
            self.secrets,
            self.now,
            REPLICA_LATE,
            lambda data: usable_leaf(data, self.now) is not None,
        )
        return [
            leaf for data in held if (leaf := usable_leaf(data, self.now))
        ]  # what has ended serves nobody

    def check(self) -> None:
        """Fail where some API server would refuse some replica now."""
        for leaf in self.served():
            for ca_bundle in visible(self.ca_bundles, self.now, API_SERVER_LATE, bool):
                signers = signers_of(leaf, ca_bundle)
                assert any(is_valid(each, self.now) for each in signers), (
                    self.now,
                    self.changes[-6:],
                )


def visible(
    history: list[tuple[datetime, T]], now: datetime, late: timedelta, usable: Callable[[T], bool]
) -> list[T]:
    """Return the versions that a reader may hold who sees each one up to *late* afterwards."""
    held = []
    for at, value in reversed(history):
        if usable(value):
            held.append(value)
            if at <= now - late:
                break
    return held


def usable_leaf(data: Mapping[str, bytes], now: datetime) -> x509.Certificate | None:
    """Return the certificate that the server would take from the Secret, if any."""
    leaf = _chained_leaf(*(data.get(key, b"") for key in ("tls.crt", "tls.key", "ca.crt")))
    return leaf if leaf is not None and is_valid(leaf, now) else None


@lru_cache(maxsize=64)
def _chained_leaf(certificate: bytes, key: bytes, authorities: bytes) -> x509.Certificate | None:
    leaf, private = next(iter(read_certificates(certificate)), None), read_key(key)
    if leaf is None or private is None or not is_pair(leaf, private):
        return None
    return leaf if signers_of(leaf, authorities) else None


@lru_cache(maxsize=64)
def signers_of(leaf: x509.Certificate, authorities: bytes) -> tuple[x509.Certificate, ...]:
    """Return the authorities of the PEM that signed the certificate."""
    return tuple(each for each in read_authorities(authorities) if is_signed_by(leaf, each))
