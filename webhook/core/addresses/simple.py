"""The sources that take a few lines: Multus' network-status, none, and one that is not known."""

from __future__ import annotations

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


class Nowhere:
    """Leave the job to meet on the pod network, as it would without us. All else is injected.

    For fabrics whose interfaces give no address to meet at, such as EFA, and clusters where the pod
    network is as good to meet on.
    """

    WORDS = Words(
        look="restart the job",
        look_on_node="at the pod on {node}",
        no_interface=(Reason.DISABLED, "the profile says rendezvous.addressSource: none"),
    )

    def choose(self, _pod: Object, profile: Profile, _networks: ResolvedNetworks) -> Choice:
        """Choose no network."""
        message = (
            f"profile {profile.name} says rendezvous.addressSource: none: "
            "the job meets on the pod network, as it would by itself"
        )
        return Choice(None, Reason.KEEPS_NAME, message)

    def parse_wanted(self, _text: str) -> Wanted | None:
        """Return None: no network is ever wanted."""
        return None

    def secondary(self, _told: str, _wanted: Wanted) -> Secondary:
        """Find nothing."""
        return Secondary()


class Unknown:
    """Stand for a source that only the version knows that injected the pod: it is never guessed."""

    WORDS = Words(
        told=names.ADDRESS_SOURCE,
        look="run webhook and controller in the same version",
        look_on_node="at the versions of webhook and controller",
    )

    def choose(self, _pod: Object, profile: Profile, _networks: ResolvedNetworks) -> Choice:
        """Choose no network."""
        why = "names a source of addresses that is not known here"
        return Choice(problem=f"profile {profile.name} {why}")

    def parse_wanted(self, text: str) -> Wanted | None:
        """Read what either form tells, for messages."""
        return parse_wanted(text) or parse_unnamespaced(text)

    def secondary(self, told: str, _wanted: Wanted) -> Secondary:
        """Say that nothing can be found."""
        what = "a source of addresses that this version does not know"
        return Secondary(problem=f"it says {told[:40]!r}, {what}")
