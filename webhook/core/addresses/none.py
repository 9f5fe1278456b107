"""No source: the job meets on the pod network, as it would without us. All else is injected.

For fabrics whose interfaces give no address to meet at, such as EFA, and clusters where the pod network is as good to meet on.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core.addresses.source import Choice, Words
from webhook.core.model import Object, Reason
from webhook.core.networks import ResolvedNetworks
from webhook.core.networks.status import Secondary, Wanted
from webhook.core.profiles import Profile

WORDS = Words(
    asked="",
    told="",
    writer="nobody",
    attaches_nothing="where no network is attached",
    look="restart the job",
    look_on_node="at the pod on {node}",
    no_interface=(Reason.DISABLED, "the profile says rendezvous.addressSource: none"),
)


def choose(_pod: Object, profile: Profile, _networks: ResolvedNetworks) -> Choice:
    """Choose no network."""
    message = f"profile {profile.name} says rendezvous.addressSource: none: the job meets on the pod network, as it would by itself"
    return Choice(None, Reason.KEEPS_NAME, message)


def parse_wanted(_text: str) -> Wanted | None:
    """Read nothing: no network is ever wanted."""
    return None


def told(_annotations: Mapping[str, str]) -> str:
    """Return nothing."""
    return ""


def secondary(_told: str, _wanted: Wanted) -> Secondary:
    """Find nothing."""
    return Secondary()
