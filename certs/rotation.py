"""Decide which certificate is due: state and time in, next state out. Reads no clock, no network, no cluster.

A new authority is trusted before it signs: clients see ``caBundle`` late, servers take up a new leaf late. So

1. an authority whose life is two thirds over, or that is lost, gets a successor, which at first is only published;
2. once it has been published for ``Policy.settle`` it signs a leaf, and every later one;
3. an authority leaves when the last leaf that it signed has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import ip_address

from certs.bundle import Authority, Bundle
from certs.issue import issue_authority, issue_serving
from certs.pem import (
    hosts,
    is_signed_by,
    is_valid,
    read_authorities,
    read_certificates,
    renewal_due,
)
from certs.trust import View, adopt, drop

MOST_AUTHORITIES = 16
"""With so many, none is made on request: each stays in caBundle as long as its leaves live."""
_FULL = f"no CA is made on request while there are {MOST_AUTHORITIES}: each stays until its certificates have expired"


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
class Rotation:
    """Hold the next state, a sentence for each change, and what is waited for; empty if nothing is."""

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
    """Return the state that follows *bundle* at *now*; the Secret is to be written before ``caBundle``.

    *names*: the DNS names and IP addresses that clients call. *asked*: what somebody wants renewed now; a new
    authority brings a new leaf too.
    """
    bundle, changes = adopt(bundle, view, now, policy.leaf_lifetime)
    reason = _authority_due(bundle, now, asked)
    if reason:
        signer = issue_authority(
            f"{policy.common_name} CA", now=now, lifetime=policy.authority_lifetime
        )
        (certificate,) = read_authorities(signer.certificate)
        authorities = (*bundle.authorities, Authority(certificate))
        bundle = replace(bundle, signer=signer, authorities=authorities, settled=False)
        changes = (
            *changes,
            f"new CA until {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC: {reason}",
        )
    waiting = "" if asked is not Kind.AUTHORITY or not _is_full(bundle) else _FULL
    unsettled = _unsettled(bundle, view, now, policy)
    bundle = replace(bundle, settled=not unsettled)
    reason = _leaf_due(bundle, now, names, asked) if names else ""
    if reason and unsettled:
        waiting = unsettled
    elif reason:
        bundle, change = _sign(bundle, now, names, policy, reason)
        changes = (*changes, change)
    bundle, dropped = drop(bundle, now)
    return Rotation(bundle, (*changes, *dropped), waiting)


def _authority_due(bundle: Bundle, now: datetime, asked: Kind | None) -> str:
    """Return why a new authority is needed; empty if none is."""
    signing = bundle.signing
    if signing is None:
        return "there is none whose key is known"
    if not is_valid(signing.certificate, now):
        return "the last one is not valid now"
    if now >= renewal_due(signing.certificate):
        return "two thirds of the last one's life are over"
    wanted = asked is Kind.AUTHORITY and signing.leaves_end is not None and not _is_full(bundle)
    return "it was asked for" if wanted else ""


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
    if signing is not None and not is_signed_by(leaf, signing.certificate):
        return "the CA is new"
    return "it was asked for" if asked is Kind.SERVING else ""


def _unsettled(bundle: Bundle, view: View, now: datetime, policy: Policy) -> str:
    """Return what is waited for before the authority may sign; empty if it may."""
    signing, leaf = bundle.signing, bundle.leaf
    assert signing is not None  # noqa: S101  # one was made where there was none
    published = view.published_for.get(signing.fingerprint)
    others = [
        each
        for each in read_authorities(view.ca_bundle)
        if each != signing.certificate and is_valid(each, now)
    ]
    served = leaf is not None and is_valid(leaf, now)
    if published is None and (others or (served and not bundle.settled)):
        return "the new CA is not in caBundle yet"
    if bundle.settled or published is None or not (others or served):
        return ""  # or nothing works now that waiting could keep from failing
    return "the new CA signs once all callers know it" if published < policy.settle else ""


def _sign(
    bundle: Bundle, now: datetime, names: frozenset[str], policy: Policy, reason: str
) -> tuple[Bundle, str]:
    signer, signing = bundle.signer, bundle.signing
    assert signer is not None and signing is not None  # noqa: S101, PT018  # as above
    addresses = frozenset(_addresses(names))
    serving = issue_serving(
        signer,
        policy.common_name,
        dns_names=sorted(names - addresses),
        ip_addresses=sorted(addresses),
        now=now,
        lifetime=policy.leaf_lifetime,
    )
    (leaf,) = read_certificates(serving.certificate)
    end = leaf.not_valid_after_utc
    used = replace(signing, leaves_end=max(signing.leaves_end or end, end))
    authorities = tuple(used if each == signing else each for each in bundle.authorities)
    change = f"new serving certificate until {end:%Y-%m-%d %H:%M} UTC: {reason}"
    return replace(bundle, serving=serving, authorities=authorities), change


def _is_full(bundle: Bundle) -> bool:
    return len(bundle.authorities) >= MOST_AUTHORITIES


def _addresses(names: frozenset[str]) -> Iterator[str]:
    for name in names:
        try:
            ip_address(name)
        except ValueError:
            continue
        yield name
