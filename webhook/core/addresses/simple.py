"""The sources that take a few lines: Multus' network-status, none, and one that is not known."""

from dataclasses import dataclass

from webhook.core import names
from webhook.core.addresses.source import Choice, Words
from webhook.core.model import Object, Reason
from webhook.core.networks import ResolvedNetworks
from webhook.core.networks.status import (
    Secondary,
    Wanted,
    parse_unnamespaced,
    parse_wanted,
    secondary_address,
)
from webhook.core.profiles import Profile


class Multus:
    """Read the annotation that Multus, or another CNI, writes once all networks are attached."""

    WORDS = Words(
        asked=names.NETWORKS,
        told=names.NETWORK_STATUS,
        told_before=names.NETWORKS_STATUS,
        writer="Multus",
        attaches_nothing="where Multus attaches nothing",
        look="look at the network's IPAM and at Multus' log",
        look_on_node="at Multus and the CNI plugin on {node}, and at the network's IPAM",
    )
    parse_wanted = staticmethod(parse_wanted)
    secondary = staticmethod(secondary_address)

    def choose(self, _pod: Object, _profile: Profile, networks: ResolvedNetworks) -> Choice:
        """Choose what `resolve_networks` found."""
        return Choice(networks.rendezvous_network, Reason.NO_IPAM, networks.problem)


@dataclass(frozen=True, slots=True)
class Nowhere:
    """Find no address, because the profile *says* so, or since this version knows no such source.

    *problem*: what is wrong with that.
    """

    WORDS: Words
    reason: Reason
    says: str
    problem: str = ""

    def choose(self, _pod: Object, profile: Profile, _networks: ResolvedNetworks) -> Choice:
        """Choose no network."""
        return Choice(None, self.reason, f"profile {profile.name} {self.says}")

    def parse_wanted(self, text: str) -> Wanted | None:
        """Read what either form tells, for messages."""
        return parse_wanted(text) or parse_unnamespaced(text)

    def secondary(self, told: str, _wanted: Wanted) -> Secondary:
        """Find nothing, and say whether that is a fault."""
        problem = f"it says {told[:40]!r}, {self.problem}"
        return Secondary(problem=problem if self.problem else "")


NONE = Nowhere(
    Words(
        look="restart the job",
        look_on_node="at the pod on {node}",
        no_interface=(Reason.DISABLED, "the profile says rendezvous.addressSource: none"),
    ),
    Reason.KEEPS_NAME,
    "says rendezvous.addressSource: none: the job meets on the pod network, as it would by itself",
)
"""For fabrics whose interfaces give no address to meet at, such as EFA, and clusters where the pod
network is as good to meet on. All else is injected."""
UNKNOWN = Nowhere(
    Words(
        told=names.ADDRESS_SOURCE,
        look="run webhook and controller in the same version",
        look_on_node="at the versions of webhook and controller",
    ),
    Reason.NO_ADDRESS,
    "names a source of addresses that is not known here",
    "a source of addresses that this version does not know",
)
"""Known only to the version that injected the pod: it is never guessed."""
