"""Say what Multus will attach to a pod once a profile's networks are added.

Also on which of them the ranks of its job meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from webhook.core import names, podspec
from webhook.core.model import NetworkDefinition, Object, Reason
from webhook.core.networks.annotation import NetworksAnnotation, parse_networks
from webhook.core.networks.finder import Finder, Lookup
from webhook.core.networks.merge import merge_networks
from webhook.core.networks.selection import NetworkElement, TooMuch
from webhook.core.profiles import Multus, Profile, ProfileNetwork

_MULTUS_NAMESPACE: Final = "kube-system"
"""Namespace of a default network that names none.
Source: multus-cni pkg/types/conf.go defaultMultusNamespace."""


@dataclass(slots=True)
class Attachment:
    """Describe one interface of the pod as Multus will make it.

    *interface*: the name that it gets, ``net1``; empty for a claim whose profile names none.
    *resources*: device resource to count of this attachment, from the profile, else from the
    network. *added*: by us. *default*: from the default-network annotation, so it is eth0.
    """

    network: NetworkDefinition
    interface: str
    resources: tuple[tuple[str, int], ...] = ()
    added: bool = False
    default: bool = False

    @property
    def key(self) -> str:
        """Return ``namespace/name``, or the name of a network that is in no namespace."""
        network = self.network
        return f"{network.namespace}/{network.name}" if network.namespace else network.name

    @property
    def place(self) -> str:
        """Name interface and network for a message; a claim's interface may not be known."""
        return f"{self.interface} of {self.key}" if self.interface else self.key


@dataclass(slots=True)
class ResolvedNetworks:
    """Hold what the pod will be attached to.

    *value*: the new networks annotation, None where it stays as it is. *attachments*: in Multus'
    order. *rendezvous_network*: the one whose address counts; where it is None, *problem* says why.
    """

    value: str | None = None
    attachments: tuple[Attachment, ...] = ()
    rendezvous_network: Attachment | None = None
    problem: str = ""


def resolve_networks(
    pod: Object, profile: Profile, multus: Multus, namespace_name: str, lookup: Lookup
) -> ResolvedNetworks:
    """Merge the profile's networks into the pod's annotation, and look every network up.

    Raises Denied for an annotation that Multus refuses, a network that cannot be attached, and an
    interface that two networks want; Unavailable where *lookup* cannot tell.
    """
    if podspec.is_host_network(pod):
        problem = "the pod uses the node's network, where Multus attaches nothing"
        return ResolvedNetworks(problem=problem)
    finder = Finder(podspec.display_name(pod), namespace_name, multus, lookup)
    texts = {**profile.annotations, **podspec.annotations(pod)}
    default = _find_default(texts, finder)
    own = _read(names.NETWORKS, texts.get(names.NETWORKS) or "", namespace_name, finder)
    kept = len(own.elements)
    source = f"annotation {names.NETWORKS}: element"
    definitions = finder.find_all(
        (element, f"{source} {number}") for number, element in enumerate(own.elements, 1)
    )
    cluster = default[0].interface if default is not None else None
    automatic = map("net{}".format, range(1, multus.default_networks + 1))
    reserved = [cluster or "eth0", *automatic]
    merged = merge_networks(own.elements, profile, namespace_name, reserved, finder.pod_name)
    replaced = [default[0]] if default is not None and merged.elements else []
    _check_gateways([*replaced, *own.elements], finder)
    added = merged.elements[kept:]
    definitions += finder.find_all((element, f"profile {profile.name}") for element in added)
    served = {index: profile.networks[number] for number, index in merged.places.items()}
    attachments = [
        Attachment(
            definition,
            merged.interfaces[index],
            _resources(definition, served.get(index), profile, namespace_name, finder),
            added=index >= kept,
        )
        for index, definition in enumerate(definitions)
    ]
    of_profile = [attachments[merged.places[number]] for number in range(len(profile.networks))]
    rendezvous_network, problem = choose_rendezvous_network(
        profile, namespace_name, attachments, of_profile
    )
    if default is not None:
        resources = _resources(default[1], None, profile, namespace_name, finder)
        attachments.insert(0, Attachment(default[1], reserved[0], resources, default=True))
    value = own.with_added(added) if added else None
    return ResolvedNetworks(value, tuple(attachments), rendezvous_network, problem)


def _read(annotation: str, text: str, namespace: str, finder: Finder) -> NetworksAnnotation:
    try:
        return parse_networks(text, namespace)
    except TooMuch as excess:
        raise finder.denied(Reason.TOO_LARGE, f"annotation {annotation} {excess}") from None
    except ValueError as error:
        message = f"annotation {annotation}: {error}; Multus refuses it: correct or remove it"
        raise finder.denied(Reason.BAD_NETWORKS, message) from None


def _find_default(
    texts: Mapping[str, str], finder: Finder
) -> tuple[NetworkElement, NetworkDefinition] | None:
    """Find the one network that takes the cluster network's place.

    Source: multus-cni tryLoadK8sPodDefaultNetwork.
    """
    if names.DEFAULT_NETWORK not in texts:
        return None
    text, source = texts[names.DEFAULT_NETWORK] or "", f"annotation {names.DEFAULT_NETWORK}"
    elements = _read(names.DEFAULT_NETWORK, text, _MULTUS_NAMESPACE, finder).elements
    if len(elements) != 1:
        message = (
            f"{source} names {len(elements)} networks; name exactly one, or remove the annotation"
        )
        raise finder.denied(Reason.BAD_NETWORKS, message)
    return elements[0], finder.find(elements[0], source, isolated=False)


def _check_gateways(elements: Sequence[NetworkElement], finder: Finder) -> None:
    """Deny two default routes of one family.

    Source: multus-cni pkg/types/conf.go CheckGatewayConfig.
    """
    for family, version in enumerate(("IPv4", "IPv6")):
        total = sum([element.gateways[family] for element in elements])
        if total > 1:
            message = (
                f"annotation {names.NETWORKS}: default-route holds {total} {version} gateways "
                "in all, and Multus takes one; remove the others"
            )
            raise finder.denied(Reason.BAD_NETWORKS, message)


def _resources(
    definition: NetworkDefinition,
    entry: ProfileNetwork | None,
    profile: Profile,
    namespace: str,
    finder: Finder,
) -> tuple[tuple[str, int], ...]:
    """Return what one attachment takes: the profile's word for it, else the network's own.

    A pod may attach a network more often than the profile: the profile's first entry for it speaks
    for the surplus. Raises Denied where only the network names a resource, and one that no
    container can ask for.
    """
    if entry is None:
        key = (definition.namespace, definition.name)
        same = [
            each for each in profile.networks if (each.namespace or namespace, each.name) == key
        ]
        entry = same[0] if same else None
    count = 1 if entry is None else entry.count
    if entry is not None and entry.resources:
        return tuple([(resource, count) for resource in entry.resources])
    if definition.resource_problem:
        message = (
            f"network {definition.namespace}/{definition.name}, whose "
            f"{definition.resource_problem}; correct the NetworkAttachmentDefinition, "
            f"or name the network and its resource in profile {profile.name}"
        )
        raise finder.denied(Reason.BAD_RESOURCE, message)
    return tuple([(resource, count) for resource in definition.resources])


def choose_rendezvous_network(
    profile: Profile,
    namespace: str,
    attachments: Sequence[Attachment],
    of_profile: Sequence[Attachment],
) -> tuple[Attachment | None, str]:
    """Return the attachment whose address counts, or None and a sentence that says why none does.

    1. the profile's rendezvous network, if it says one; then no other;
    2. the first of the profile's networks that gives addresses;
    3. with no networks in the profile, the first attachment that does.

    *attachments*: those of the networks annotation; *of_profile*: those that serve the profile's
    networks, in its order.
    """
    named = profile.rendezvous.network
    candidates = of_profile if profile.networks else attachments
    if named is not None:
        key = f"{named.namespace or namespace}/{named.name}"
        candidates = [
            one
            for one in attachments
            if one.key == key and named.interface in (None, one.interface)
        ][:1]
        if not candidates:
            wanted = f"{key}@{named.interface}" if named.interface else key
            problem = f"meets on network {wanted}, which is not attached to the pod"
            return None, f"profile {profile.name} {problem}"
    if not candidates:
        return None, "no secondary network is attached to the pod"
    problems: dict[str, None] = {}
    for attachment in candidates:
        problem = _why_unfit(attachment, profile)
        if not problem:
            return attachment, ""
        problems[problem] = None
    return None, "; ".join(problems)


def _why_unfit(attachment: Attachment, profile: Profile) -> str:
    network = f"network {attachment.key}"
    if not attachment.network.has_ipam:
        return f"{network} has no IPAM, so its interface gets no address"
    if attachment.network.ipv6_only and profile.rendezvous.ip_family == "IPv4":
        return f"{network} gives IPv6 addresses only, and profile {profile.name} meets on IPv4"
    return ""
