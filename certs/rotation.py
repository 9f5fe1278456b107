"""Decide which certificate is due: state and time in, next state out. Reads no clock, no network.

A new authority is trusted before it signs: clients see ``caBundle`` late, servers a new leaf. So

1. an authority whose life is two thirds over, or that is lost, gets a successor, at first only
   published;
2. once it has been published for ``Policy.settle`` it signs a leaf, and every later one;
3. an earlier authority leaves when every leaf that it may have signed has ended. That is a leaf's
   life after the one that signs now was made.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import ip_address

from cryptography import x509

from certs.bundle import Bundle
from certs.issue import CLOCK_SKEW, KeyPair, issue_authority, issue_serving
from certs.pem import (
    fingerprint,
    hosts,
    is_signed_by,
    is_valid,
    issued,
    read_authorities,
    renewal_due,
)

MOST_AUTHORITIES = 16
"""With so many, none is made on request: each stays in caBundle as long as its leaves live."""
_FULL = (
    f"no CA is made on request while there are {MOST_AUTHORITIES}: "
    "each stays until its certificates have expired"
)


class Kind(StrEnum):
    """Name what can be renewed: a metric label."""

    AUTHORITY = "authority"
    SERVING = "serving"


@dataclass(frozen=True, slots=True)
class Policy:
    """Hold how long things live; *settle* is how long an authority is published before it signs."""

    authority_lifetime: timedelta = timedelta(days=365)
    leaf_lifetime: timedelta = timedelta(days=30)
    settle: timedelta = timedelta(minutes=2)
    common_name: str = "fabric-injector"


@dataclass(frozen=True, slots=True)
class View:
    """Hold what clients were last seen to trust.

    *ca_bundle*: every authority of the live configuration, PEM. *published_for*: how long each
    fingerprint has been seen in every entry without a break. Without a configuration, which
    nobody calls: for how long there has been none.
    """

    ca_bundle: bytes = b""
    published_for: Mapping[str, timedelta] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rotation:
    """Hold the next state, a sentence for each change, and what is waited for."""

    bundle: Bundle
    changes: tuple[str, ...] = ()
    waiting: str = ""


def advance(
    bundle: Bundle,
    view: View,
    now: datetime,
    *,
    names: frozenset[str],
    policy: Policy,
    asked: Kind | None = None,
) -> Rotation:
    """Return the state that follows *bundle* at *now*; write the Secret before ``caBundle``.

    *names*: the DNS names and IP addresses that clients call. *asked*: what somebody wants renewed
    now; a new authority brings a new leaf too.
    """
    changes: list[str] = []
    if reason := _authority_due(bundle, now, asked):
        bundle, change = _renew_authority(bundle, now, policy, reason)
        changes.append(change)
    waiting = _FULL if asked is Kind.AUTHORITY and _is_full(bundle) else ""
    signer, signing = bundle.signer, bundle.signing
    assert signer is not None and signing is not None  # noqa: S101, PT018  # made where missing
    if names and (reason := _leaf_due(bundle, now, names, asked)):
        if unsettled := _unsettled(bundle, signing, view, now, policy):
            waiting = unsettled
        else:
            bundle = replace(bundle, serving=_issue(signer, now, names, policy))
            changes.append(f"new serving certificate until {_end(bundle.leaf)}: {reason}")
    kept = tuple(each for each in bundle.authorities if _is_needed(each, bundle, now, policy))
    if gone := len(bundle.authorities) - len(kept):
        bundle = replace(bundle, authorities=kept)
        changes.append(f"{gone} CA left: every certificate that it signed has expired")
    return Rotation(bundle, tuple(changes), waiting)


def _authority_due(bundle: Bundle, now: datetime, asked: Kind | None) -> str:
    """Return why a new authority is needed; empty if none is."""
    signing, leaf = bundle.signing, bundle.leaf
    if signing is None:
        return "there is none whose key is known"
    if not is_valid(signing, now):
        return "the last one is not valid now"
    if now >= renewal_due(signing):
        return "two thirds of the last one's life are over"
    has_signed = leaf is not None and is_signed_by(leaf, signing)
    wanted = asked is Kind.AUTHORITY and has_signed and not _is_full(bundle)
    return "it was asked for" if wanted else ""


def _renew_authority(
    bundle: Bundle, now: datetime, policy: Policy, reason: str
) -> tuple[Bundle, str]:
    common_name, lifetime = f"{policy.common_name} CA", policy.authority_lifetime
    signer = issue_authority(common_name, now=now, lifetime=lifetime)
    made = read_authorities(signer.certificate)
    bundle = replace(bundle, signer=signer, authorities=(*bundle.authorities, *made))
    return bundle, f"new CA until {_end(bundle.signing)}: {reason}"


def _leaf_due(bundle: Bundle, now: datetime, names: frozenset[str], asked: Kind | None) -> str:
    """Return why a new serving certificate is needed; empty if none is."""
    leaf, signing = bundle.leaf, bundle.signing
    if leaf is None:
        return "there is none that works"
    if not is_valid(leaf, now):
        return "the last one is not valid now"
    if now >= renewal_due(leaf):
        return "two thirds of the last one's life are over"
    if missing := names - hosts(leaf):
        return f"the last one lacks {', '.join(sorted(missing))}"
    if signing is not None and not is_signed_by(leaf, signing):
        return "the CA is new"
    return "it was asked for" if asked is Kind.SERVING else ""


def _unsettled(
    bundle: Bundle, signing: x509.Certificate, view: View, now: datetime, policy: Policy
) -> str:
    """Return what is waited for before the authority may sign; empty if it may."""
    leaf = bundle.leaf
    if leaf is not None and is_valid(leaf, now) and is_signed_by(leaf, signing):
        return ""  # it has signed before
    live = read_authorities(view.ca_bundle)
    has_others = any(each != signing and is_valid(each, now) for each in live)
    if not has_others and (leaf is None or not is_valid(leaf, now)):
        return ""  # nothing works now that waiting could keep from failing
    published = view.published_for.get(fingerprint(signing))
    if published is None:
        return "the new CA is not in caBundle yet"
    return "the new CA signs once all callers know it" if published < policy.settle else ""


def _issue(signer: KeyPair, now: datetime, names: frozenset[str], policy: Policy) -> KeyPair:
    addresses = frozenset(_addresses(names))
    return issue_serving(
        signer,
        policy.common_name,
        dns_names=sorted(names - addresses),
        ip_addresses=sorted(addresses),
        now=now,
        lifetime=policy.leaf_lifetime,
    )


def _is_needed(authority: x509.Certificate, bundle: Bundle, now: datetime, policy: Policy) -> bool:
    """Tell whether a client, even one whose clock is late, may take a leaf of it for valid."""
    leaf, signing = bundle.leaf, bundle.signing
    if signing is None or authority == signing:
        return True
    end = authority.not_valid_after_utc
    if issued(authority) <= issued(signing) and not (leaf and is_signed_by(leaf, authority)):
        # a newer one may have signed until a moment ago: this Secret was restored
        end = min(end, issued(signing) + policy.leaf_lifetime)
    return now < end + CLOCK_SKEW


def _is_full(bundle: Bundle) -> bool:
    return len(bundle.authorities) >= MOST_AUTHORITIES


def _end(certificate: x509.Certificate | None) -> str:
    return f"{certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC" if certificate else ""


def _addresses(names: frozenset[str]) -> Iterator[str]:
    for name in names:
        try:
            ip_address(name)
        except ValueError:
            continue
        yield name
