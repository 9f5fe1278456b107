"""The sources that take a few lines: Multus' network-status, none, and one that is not known."""

from webhook.core import names
from webhook.core.addresses.source import Choice, Source, Words
from webhook.core.model import Reason
from webhook.core.networks.status import Secondary, secondary_address

MULTUS = Source(
    Words(
        asked=names.NETWORKS,
        told=names.NETWORK_STATUS,
        told_before=names.NETWORKS_STATUS,
        writer="Multus",
        look="look at the network's IPAM and at Multus' log",
    ),
    lambda _pod, _profile, found: Choice(found.rendezvous_network, Reason.NO_IPAM, found.problem),
    secondary_address,
)
"""The annotation that Multus, or another CNI, writes once all networks are attached."""


_SAYS_NONE = "says rendezvous.addressSource: none"
NONE = Source(
    Words(look="restart the job", no_interface=(Reason.DISABLED, f"the profile {_SAYS_NONE}")),
    lambda _pod, profile, _networks: Choice(
        None,
        Reason.KEEPS_NAME,
        f"profile {profile.name} {_SAYS_NONE}: the job meets on the pod network, as it would by "
        "itself",
    ),
    lambda _told, _wanted: Secondary(),
)
"""For fabrics whose interfaces give no address to meet at, such as EFA, and clusters where the pod
network is as good to meet on. All else is injected."""
UNKNOWN = Source(
    Words(told=names.ADDRESS_SOURCE, look="run webhook and controller in the same version"),
    NONE.choose,  # never asked: no profile has such a source
    lambda told, _wanted: Secondary(
        problem=f"it says {told[:40]!r}, a source of addresses that this version does not know"
    ),
)
"""Known only to the version that injected the pod: it is never guessed."""
