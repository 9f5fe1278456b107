"""Decide which authorities clients are to trust: every leaf that may still be served must chain to one. Pure, as ``rotation``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from certs.bundle import Authority, Bundle
from certs.issue import CLOCK_SKEW
from certs.pem import fingerprint, is_valid, read_authorities

ADOPTED_LONGER = timedelta(hours=1)
"""Added to a leaf's life when an authority is adopted, so that it is not adopted, and written, again at each look."""


@dataclass(frozen=True, slots=True)
class View:
    """Hold what clients were last seen to trust.

    *ca_bundle*: every authority of the live configuration, PEM. *published_for*: how long each fingerprint has been seen there
    without a break, and in every entry; or for how long there has been no configuration, and so nobody to call.
    """

    ca_bundle: bytes = b""
    published_for: Mapping[str, timedelta] = field(default_factory=dict)


def adopt(
    bundle: Bundle, view: View, now: datetime, leaf_lifetime: timedelta
) -> tuple[Bundle, tuple[str, ...]]:
    """Keep the CAs that clients trust for one more leaf's life, where they are not exactly those that we last published.

    The Secret was then lost or restored, or a write failed half way: servers may hold a leaf that the Secret does not know.
    """
    live = {fingerprint(each): each for each in read_authorities(view.ca_bundle)}
    trusted = {
        key: each for key, each in live.items() if key not in bundle.left and is_valid(each, now)
    }
    bundle = replace(bundle, left=bundle.left & live.keys())
    known = {each.fingerprint: each for each in bundle.authorities}
    if [*trusted] == [fingerprint(each) for each in read_authorities(bundle.ca_bundle)]:
        return bundle, ()
    foreign = [key for key in trusted if key not in known]
    for key, certificate in trusted.items():
        end = known[key].leaves_end if key in known else None
        if end is None or end < now + leaf_lifetime:
            known[key] = Authority(certificate, now + leaf_lifetime + ADOPTED_LONGER)
    change = f"{len(foreign)} CA of caBundle kept: certificates of it may still be served"
    return replace(bundle, authorities=tuple(known.values())), (change,) if foreign else ()


def drop(bundle: Bundle, now: datetime) -> tuple[Bundle, tuple[str, ...]]:
    """Stop trusting the authorities whose leaves have all ended; return a sentence that says how many."""
    kept = tuple(
        each for each in bundle.authorities if each == bundle.signing or _is_needed(each, now)
    )
    gone = {each.fingerprint for each in bundle.authorities if each not in kept}
    if not gone:
        return bundle, ()
    change = f"{len(gone)} CA left: every certificate that it signed has expired"
    return replace(bundle, authorities=kept, left=bundle.left | gone), (change,)


def _is_needed(authority: Authority, now: datetime) -> bool:
    """Return whether some client, even one whose clock is late, may take a leaf of the authority for valid."""
    end = min(authority.leaves_end or now, authority.certificate.not_valid_after_utc)
    return authority.leaves_end is not None and now < end + CLOCK_SKEW
