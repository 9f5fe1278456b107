"""Find where a pod's secondary address comes from, by the source that its profile names.

Admission asks a source which network counts, the controller asks it for the address, and messages
take its words.
"""

from collections.abc import Mapping

from webhook.core import names
from webhook.core.addresses import claim, gke
from webhook.core.addresses.simple import NONE, UNKNOWN, Multus
from webhook.core.addresses.source import Choice, Source, Words
from webhook.core.networks import ResolvedNetworks
from webhook.core.profiles import Profile

__all__ = ["DEFAULT", "SOURCES", "Choice", "Source", "Words"]
__all__ += ["choose_alone", "multus", "source_named", "source_of"]

DEFAULT = "multus"
multus = Multus()
SOURCES: Mapping[str, Source] = {DEFAULT: multus, "gke": gke, claim.NAME: claim, "none": NONE}
"""By the value of a profile's ``rendezvous.addressSource``."""


def choose_alone(profile: Profile) -> Choice | None:
    """Choose for a pod that asks for no network itself.

    None where the profile leaves that to its pods, or Multus attaches it.
    """
    source = source_named(profile.rendezvous.address_source)
    is_asked = profile.rendezvous.enabled and source.WORDS.asked in profile.annotations
    if source is multus or not is_asked:
        return None
    return source.choose({}, profile, ResolvedNetworks())


def source_of(annotations: Mapping[str, str]) -> Source:
    """Return the source that an injected pod's annotation names; another version wrote some."""
    return source_named(annotations.get(names.ADDRESS_SOURCE) or DEFAULT)


def source_named(name: str) -> Source:
    """Return the source; for a name that none has, the one that says so."""
    return SOURCES.get(name, UNKNOWN)
