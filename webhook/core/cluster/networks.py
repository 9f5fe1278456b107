"""Judge whether pods of each namespace can be attached to the networks of a profile."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from webhook.core import names
from webhook.core.cluster.demand import Definitions, attach, places
from webhook.core.errors import Denied
from webhook.core.model import NetworkDefinition, Reason
from webhook.core.networks import Attachment
from webhook.core.profiles import Multus, Profile, ProfileNetwork
from webhook.core.wording import listed


class Obstacle(StrEnum):
    """Say what keeps pods from a network, the worst first, as the reason of a condition."""

    MISSING = "NetworkMissing"
    UNUSABLE = "NetworkUnusable"
    ISOLATED = "NetworkIsolated"


class NetworkFault(NamedTuple):
    """Say what is wrong with a network; *action* None: what usually helps."""

    obstacle: Obstacle
    message: str
    action: str | None = None


class NetworkLook(NamedTuple):
    """Hold what was found of one network, None for the default network of the annotations.

    *faults*: each with the namespaces for whose pods it holds, none where it holds for all.
    *is_unused*: it is looked for in each namespace that uses the profile, and none does.
    """

    network: ProfileNetwork | None
    title: str
    faults: Mapping[NetworkFault, Sequence[str]]
    attached: Sequence[Attachment] = ()
    is_unused: bool = False


def look_at_network(
    profile: Profile,
    network: ProfileNetwork | None,
    multus: Multus,
    namespaces: Sequence[str],
    definitions: Definitions,
) -> NetworkLook:
    """Look for one network that `wanted` gives in each of the *namespaces* that use the profile."""
    title = f"network {network}"
    if network is None:
        title = f"default network {profile.annotations[names.DEFAULT_NETWORK]}"
    if network is not None and network.network.namespace is None and not namespaces:
        return NetworkLook(network, title, {}, is_unused=True)
    faults: dict[NetworkFault, list[str]] = {}
    attached: list[Attachment] = []
    for namespace in places(network, multus, namespaces):
        try:
            found = attach(profile, network, multus, namespace, definitions)
        except Denied as denied:
            named = network and network.network
            key = (named.namespace or namespace, named.name) if named else None
            definition = definitions.get(key) if key else None
            faults.setdefault(_fault(denied, multus, definition), []).append(namespace)
            continue
        for each in found:
            if each.network.config_problem:
                faults.setdefault(_unusable(each.network.config_problem), []).append(namespace)
        attached += found
    if network is None or (network.network.namespace and not multus.namespace_isolation):
        return NetworkLook(network, title, dict.fromkeys(faults, ()), attached)
    return NetworkLook(network, title, faults, attached)


def _fault(denied: Denied, multus: Multus, definition: NetworkDefinition | None) -> NetworkFault:
    match denied.reason:
        case Reason.NETWORK_ABSENT:
            return NetworkFault(Obstacle.MISSING, "does not exist")
        case Reason.NETWORK_ISOLATED:
            usable = listed(multus.global_namespaces) or "none"
            message = (
                "is in another namespace than the pods, which multus.namespaceIsolation forbids"
            )
            action = f"move it to one of multus.globalNamespaces ({usable}) or to the pods' own"
            return NetworkFault(Obstacle.ISOLATED, message, action)
        case Reason.BAD_RESOURCE if definition is not None:
            return _unusable(definition.problem or definition.resource_problem)
        case _:
            return NetworkFault(Obstacle.UNUSABLE, denied.message.removeprefix("pod *: "))


def _unusable(problem: str) -> NetworkFault:
    action = "correct the NetworkAttachmentDefinition"
    return NetworkFault(Obstacle.UNUSABLE, f"has an {problem}", action)
