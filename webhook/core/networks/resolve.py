"""Say what Multus will attach to a pod once a profile's networks are added.

Also on which of them the ranks of its job meet.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from webhook.core import names, podspec
from webhook.core.errors import Denied
from webhook.core.model import NetworkDefinition, Object, Reason
from webhook.core.networks.annotation import (
    NetworkElement,
    NetworksAnnotation,
    TooMuch,
    parse_networks,
)
from webhook.core.networks.definition import with_resource_name_keys
from webhook.core.networks.merge import merge_networks
from webhook.core.printable import printable
from webhook.core.profiles import Multus, Profile, ProfileNetwork

Lookup: TypeAlias = Callable[[str, str], NetworkDefinition | None]
"""Takes namespace and name; None: does not exist; raises Unavailable where that cannot be known."""

_LONGEST: Final = 120
"""Characters of a network that a message shows."""
_MULTUS_NAMESPACE: Final = "kube-system"
"""Namespace of a default network that names none.
Source: multus-cni pkg/types/conf.go defaultMultusNamespace."""
_POSSIBLE: Final = re.compile(
    r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?"
)
"""Whatever else an annotation names is never asked of the API server, whose paths it could change:
``../secrets``."""


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

    Raises Denied for an annotation that Multus refuses, a network that cannot be attached, an
    interface that two networks want; Unavailable where *lookup* cannot tell.
    """
    if podspec.is_host_network(pod):
        problem = "the pod uses the node's network, where Multus attaches nothing"
        return ResolvedNetworks(problem=problem)
    pod_name = podspec.display_name(pod)
    networks = _Networks(pod_name, namespace_name, profile, multus, lookup)
    texts = {**profile.annotations, **podspec.annotations(pod)}
    default = networks.find_default(texts)
    own = networks.read(names.NETWORKS, texts.get(names.NETWORKS) or "", namespace_name)
    kept = len(own.elements)
    source = f"annotation {names.NETWORKS}: element"
    definitions = [
        networks.find(element, f"{source} {number}")
        for number, element in enumerate(own.elements, 1)
    ]
    automatic = map("net{}".format, range(1, multus.default_networks + 1))
    reserved = [(default[0].interface if default else None) or "eth0", *automatic]
    merged = merge_networks(own.elements, profile, namespace_name, reserved, pod_name)
    added = merged.elements[kept:]
    definitions += [networks.find(element, f"profile {profile.name}") for element in added]
    served = {index: profile.networks[number] for number, index in merged.places.items()}
    attachments = [
        Attachment(
            definition,
            merged.interfaces[index],
            networks.resources(definition, served.get(index)),
            added=index >= kept,
        )
        for index, definition in enumerate(definitions)
    ]
    of_profile = [attachments[merged.places[number]] for number in range(len(profile.networks))]
    meets_on, problem = choose_rendezvous_network(profile, namespace_name, attachments, of_profile)
    if default:
        resources = networks.resources(default[1], None)
        attachments.insert(0, Attachment(default[1], reserved[0], resources, default=True))
    value = own.with_added(added) if added else None
    return ResolvedNetworks(value, tuple(attachments), meets_on, problem)


@dataclass(slots=True)
class _Networks:
    """Find the networks of one pod; *namespace* is the pod's."""

    pod_name: str
    namespace: str
    profile: Profile
    multus: Multus
    lookup: Lookup

    def denied(self, reason: Reason, message: str) -> Denied:
        """Return a denial of the pod, whose name the message begins with."""
        return Denied("networks", reason, f"pod {self.pod_name}: {message}")

    def read(self, annotation: str, text: str, namespace: str) -> NetworksAnnotation:
        """Read an annotation. Raises Denied for one that Multus refuses."""
        try:
            return parse_networks(text, namespace)
        except TooMuch as excess:
            raise self.denied(Reason.TOO_LARGE, f"annotation {annotation} {excess}") from None
        except ValueError as error:
            message = f"annotation {annotation}: {error}; Multus refuses it: correct or remove it"
            raise self.denied(Reason.BAD_NETWORKS, message) from None

    def find_default(
        self, texts: Mapping[str, str]
    ) -> tuple[NetworkElement, NetworkDefinition] | None:
        """Find the one network that takes the cluster network's place.

        Source: multus-cni tryLoadK8sPodDefaultNetwork.
        """
        if names.DEFAULT_NETWORK not in texts:
            return None
        text, source = texts[names.DEFAULT_NETWORK] or "", f"annotation {names.DEFAULT_NETWORK}"
        elements = self.read(names.DEFAULT_NETWORK, text, _MULTUS_NAMESPACE).elements
        if len(elements) != 1:
            advice = "name exactly one, or remove the annotation"
            message = f"{source} names {len(elements)} networks; {advice}"
            raise self.denied(Reason.BAD_NETWORKS, message)
        return elements[0], self.find(elements[0], source, isolated=False)

    def find(
        self, element: NetworkElement, source: str, *, isolated: bool = True
    ) -> NetworkDefinition:
        """Return the definition of *element*; *source* tells in a denial where it is written.

        Raises Denied for a network in a namespace that Multus' isolation forbids, one that does not
        exist, and one whose own annotations cannot be used.
        Source: multus-cni pkg/k8sclient GetNetworkDelegates.
        """
        namespace, multus = element.namespace, self.multus
        path = f"{namespace}/{element.name}"
        named = f"{source} names network {printable(path, _LONGEST)}"
        allowed = (self.namespace, *multus.global_namespaces)
        if isolated and multus.namespace_isolation and namespace not in allowed:
            usable = ", ".join(dict.fromkeys(allowed))
            why = f"but Multus keeps namespaces apart here; use a network of namespace {usable}"
            raise self.denied(Reason.NETWORK_ISOLATED, f"{named}, {why}")
        found = self.lookup(namespace, element.name) if _POSSIBLE.fullmatch(path) else None
        if found is None:
            advice = "create that NetworkAttachmentDefinition, or correct the name"
            message = f"{named}, which does not exist; {advice}"
            raise self.denied(Reason.NETWORK_ABSENT, message)
        if found.problem:
            why = f"whose {found.problem}; correct the NetworkAttachmentDefinition"
            raise self.denied(Reason.BAD_RESOURCE, f"{named}, {why}")
        keys = multus.resource_name_keys
        return found if keys == (names.RESOURCE_NAME,) else with_resource_name_keys(found, keys)

    def resources(
        self, definition: NetworkDefinition, entry: ProfileNetwork | None
    ) -> tuple[tuple[str, int], ...]:
        """Return what one attachment takes: the profile's word for it, else the network's own.

        A pod may attach a network more often than the profile: the profile's first entry for it
        speaks for the surplus. Raises Denied where only the network names a resource, and one that
        no container can ask for.
        """
        key = (definition.namespace, definition.name)
        for each in self.profile.networks if entry is None else ():
            if (each.network.namespace or self.namespace, each.network.name) == key:
                entry = each
                break
        if entry is not None and entry.resources:
            return tuple([(resource, entry.count) for resource in entry.resources])
        if definition.resource_problem:
            message = (
                f"network {definition.namespace}/{definition.name}, whose "
                f"{definition.resource_problem}; correct the NetworkAttachmentDefinition, "
                f"or name the network and its resource in profile {self.profile.name}"
            )
            raise self.denied(Reason.BAD_RESOURCE, message)
        count = 1 if entry is None else entry.count
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
        candidates = [each for each in attachments if each.key == key]
        candidates = [each for each in candidates if named.interface in (None, each.interface)][:1]
        if not candidates:
            wanted = f"{key}@{named.interface}" if named.interface else key
            problem = f"meets on network {wanted}, which is not attached to the pod"
            return None, f"profile {profile.name} {problem}"
    if not candidates:
        return None, "no secondary network is attached to the pod"
    problems = [_why_unfit(each, profile) for each in candidates]
    if "" in problems:
        return candidates[problems.index("")], ""
    return None, "; ".join(dict.fromkeys(problems))


def _why_unfit(attachment: Attachment, profile: Profile) -> str:
    network = f"network {attachment.key}"
    if not attachment.network.has_ipam:
        return f"{network} has no IPAM, so its interface gets no address"
    if attachment.network.ipv6_only and profile.rendezvous.ip_family == "IPv4":
        return f"{network} gives IPv6 addresses only, and profile {profile.name} meets on IPv4"
    return ""
