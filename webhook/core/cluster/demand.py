"""Say what each profile asks of the cluster, by the same code that admission runs."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from msgspec import structs

from webhook.core import names
from webhook.core.errors import Denied
from webhook.core.injection.devices import needed_resources
from webhook.core.injection.quantities import least_amount
from webhook.core.model import NetworkDefinition
from webhook.core.networks import Attachment, resolve_networks
from webhook.core.profiles import Multus, Profile, ProfileNetwork, Profiles

Definitions: TypeAlias = Mapping[tuple[str, str], NetworkDefinition]

NEVER_REACHED = ("kube-system",)
"""Namespaces whose pods are never sent to the webhook; its own is another."""
NOWHERE = ""
"""Stands for the namespace where none uses a profile."""


class Demand(NamedTuple):
    """Hold what one pod of a profile takes in these namespaces, and the labels of its node.

    *at_least*: the resources that a pod may take more of, by its node's type or its accelerators.
    """

    profile: str
    resources: Mapping[str, int | Fraction]
    node_selector: Mapping[str, str]
    namespaces: tuple[str, ...] = ()
    at_least: frozenset[str] = frozenset()


def profile_users(namespaces: Iterable[tuple[str, Mapping[str, str]]]) -> dict[str, list[str]]:
    """Return the namespaces of each profile, by their label; *namespaces* are names with labels."""
    users: dict[str, list[str]] = {}
    for name, labels in namespaces:
        profile = labels.get(names.PROFILE)
        if profile and profile != names.PROFILE_NONE:
            users.setdefault(profile, []).append(name)
    return users


def wanted(profile: Profile) -> tuple[ProfileNetwork | None, ...]:
    """Return its networks, and None for the default network that its annotations name."""
    has_default = names.DEFAULT_NETWORK in profile.annotations
    return (None, *profile.networks) if has_default else profile.networks


def attach(
    profile: Profile,
    network: ProfileNetwork | None,
    multus: Multus,
    namespace: str,
    definitions: Definitions,
) -> tuple[Attachment, ...]:
    """Attach one network as admission would; raises Denied as it does."""
    alone = structs.replace(profile, networks=())
    if network is not None:
        alone = structs.replace(profile, networks=(network,), pod={})
    found = resolve_networks({}, alone, multus, namespace, lambda *key: definitions.get(key))
    return found.attachments


def places(
    network: ProfileNetwork | None, multus: Multus, namespaces: Sequence[str]
) -> Sequence[str]:
    """Return the namespaces to look at: one stands for all where they are alike."""
    if network is not None and (network.network.namespace is None or multus.namespace_isolation):
        return namespaces
    return namespaces[:1] or (NOWHERE,)


def find_demands(
    profiles: Profiles, users: Mapping[str, Sequence[str]], definitions: Definitions
) -> list[Demand]:
    """Return the different demands of each profile, without networks that cannot be attached."""
    demands: list[Demand] = []
    for profile in profiles.profiles.values():
        found: list[tuple[Demand, list[str]]] = []
        for namespace in users.get(profile.name) or (NOWHERE,):
            demand = _demand(profile, namespace, profiles.multus, definitions)
            same = next((spaces for known, spaces in found if known == demand), None)
            if same is None:
                found.append((demand, same := []))
            if namespace != NOWHERE:
                same.append(namespace)
        demands += [demand._replace(namespaces=tuple(spaces)) for demand, spaces in found]
    return demands


def _demand(profile: Profile, namespace: str, multus: Multus, definitions: Definitions) -> Demand:
    attachments: list[Attachment] = []
    for network in wanted(profile):
        # one that cannot be attached is looked at by itself
        with suppress(Denied):
            attachments += attach(profile, network, multus, namespace, definitions)
    selector = dict(profile.node_selector)
    for attachment in attachments:
        selector.update(attachment.network.node_selector)
    needed = needed_resources(attachments, profile)
    least = {each.resource: least_amount(profile, each, selector) for each in profile.quantities}
    counted = {key: amount for key, amount in least.items() if amount > needed.get(key, 0)}
    return Demand(profile.name, needed | counted, selector, at_least=frozenset(counted))
