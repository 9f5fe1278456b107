"""Find where a pod's secondary address comes from, by the source that its profile names.

Admission asks a source which network counts, the controller asks it for the address, and messages
take its words.
"""

from collections.abc import Mapping

from webhook.core.addresses import claim, gke
from webhook.core.addresses.simple import MULTUS, NONE, UNKNOWN
from webhook.core.addresses.source import Choice, Source, Words
from webhook.core.networks import ResolvedNetworks
from webhook.core.profiles import Profile

__all__ = ["DEFAULT", "MULTUS", "SOURCES", "Choice", "Source", "Words"]
__all__ += ["choose_alone", "source_named"]

DEFAULT = "multus"
SOURCES: Mapping[str, Source] = {
    DEFAULT: MULTUS,
    "gke": gke.SOURCE,
    claim.NAME: claim.SOURCE,
    "none": NONE,
}
"""By the value of a profile's ``rendezvous.addressSource``."""


def choose_alone(profile: Profile) -> Choice | None:
    """Choose for a pod that asks for no network itself.

    None where the profile leaves that to its pods, or Multus attaches it.
    """
    source = source_named(profile.rendezvous.address_source)
    is_asked = profile.rendezvous.enabled and source.words.asked in profile.annotations
    if source is MULTUS or not is_asked:
        return None
    return source.choose({}, profile, ResolvedNetworks())


def source_named(name: str) -> Source:
    """Return the source; for a name that another version has written, the one that says so."""
    return SOURCES.get(name, UNKNOWN)
