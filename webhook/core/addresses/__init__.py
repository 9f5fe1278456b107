"""Say where a pod's secondary address comes from: one file for each source, by the name that a profile gives it.

A source is asked at admission which network's address counts, by the controller what is told of it, and by messages for its words.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import names
from webhook.core.addresses import claim, gke, multus, none, unknown
from webhook.core.addresses.source import Choice, Source, Words
from webhook.core.networks import ResolvedNetworks
from webhook.core.profiles import Profile

__all__ = [
    "DEFAULT",
    "SOURCES",
    "Choice",
    "Source",
    "Words",
    "choose_alone",
    "source_named",
    "source_of",
]

DEFAULT = "multus"
SOURCES: Mapping[str, Source] = {DEFAULT: multus, "gke": gke, claim.NAME: claim, "none": none}
"""By the value of a profile's ``rendezvous.addressSource``."""


def choose_alone(profile: Profile) -> Choice | None:
    """Choose for a pod that asks for no network itself; None where the profile leaves that to its pods, or Multus attaches it."""
    name = profile.rendezvous.address_source
    if (
        name == DEFAULT
        or not profile.rendezvous.enabled
        or source_named(name).WORDS.asked not in profile.annotations
    ):
        return None
    return source_named(name).choose({}, profile, ResolvedNetworks())


def source_of(annotations: Mapping[str, str]) -> Source:
    """Return the source that an injected pod's annotation names; another version may have written one that is not known here."""
    return source_named(annotations.get(names.ADDRESS_SOURCE) or DEFAULT)


def source_named(name: str) -> Source:
    """Return the source; for a name that none has, the one that says so."""
    return SOURCES.get(name, unknown)
