"""Ask the snapshot for what several rules need: labelled namespaces, our own objects, demands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

from webhook.core import names
from webhook.core.cluster.demand import (
    NEVER_REACHED,
    Definitions,
    Demand,
    find_demands,
    profile_users,
)
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.networks import define_network
from webhook.core.profiles import Profiles
from webhook.diagnose.snapshot import Snapshot, Unread
from webhook.kube.catalogue import DEPLOYMENTS, NETWORKS, WEBHOOK_CONFIGURATIONS
from webhook.kube.reader import whole

LIKE_OURS = "fabric-injector"
"""How labels begin that are looked at: people misspell what follows, the rest of the prefix too."""
Role = Literal["webhook", "controller"]
_COMMANDS: dict[str, Role] = {"serve": "webhook", "control": "controller"}
DEFAULT_NAMESPACE = "fabric-injector"
_OTHERS_KEEP = re.compile(r"(?:--certificates|FABRIC_INJECTOR_CONTROL_CERTIFICATES)[= ]none\b")
"""What tells a controller that others keep the certificates."""


class LabelledNamespace(NamedTuple):
    """Hold a namespace's name and labels."""

    name: str
    labels: Mapping[str, str]

    @property
    def title(self) -> str:
        """Return ``namespace research``."""
        return f"namespace {self.name}"

    @property
    def profile(self) -> str:
        """Return the profile that it names; empty for none and for ``none``."""
        named = self.labels.get(names.PROFILE, "")
        return "" if named == names.PROFILE_NONE else named

    @property
    def observes(self) -> bool:
        """Tell whether it only observes."""
        return self.labels.get(names.MODE) == names.MODE_OBSERVE


def labelled(snapshot: Snapshot) -> Mapping[str, LabelledNamespace]:
    """Return by name the namespaces with a label like ours, only the snapshot's own if it has one.

    Raises InputError where that does not exist.
    """
    found = snapshot.labels()
    if snapshot.namespace and not found:
        raise InputError(f"-n {snapshot.namespace}: there is no namespace of this name")
    return {
        name: LabelledNamespace(name, labels)
        for name, labels in found.items()
        if any(key.startswith(LIKE_OURS) for key in labels)
    }


def users(snapshot: Snapshot) -> dict[str, list[str]]:
    """Return the namespaces of each profile."""
    never = (*NEVER_REACHED, snapshot.system_namespace)
    spaces = labelled(snapshot).values()
    return profile_users((each.name, each.labels) for each in spaces if each.name not in never)


def known_profiles(snapshot: Snapshot) -> Profiles:
    """Return the profiles that can be used: none where a file's are faulty, which is a finding."""
    return snapshot.profiles().profiles or Profiles()


def definitions(snapshot: Snapshot, *, partly: bool = False) -> Definitions:
    """Return the networks by namespace and name; *partly*: without the broken ones."""
    found = snapshot.list_all(NETWORKS, define_network, partly=partly)
    return {(each.namespace, each.name): each for each in found}


def knows_networks(snapshot: Snapshot) -> bool:
    """Tell whether the cluster has NetworkAttachmentDefinitions."""
    return snapshot.list_optional(NETWORKS, define_network, partly=True) is not None


def demands(snapshot: Snapshot) -> Sequence[Demand]:
    """Return what a pod of each profile takes."""
    profiles, spaces = known_profiles(snapshot), users(snapshot)
    networks = definitions(snapshot, partly=True)
    return snapshot.once("demands", "", partial(find_demands, profiles, spaces, networks))


def configurations(snapshot: Snapshot) -> tuple[Object, ...]:
    """Return every MutatingWebhookConfiguration."""
    return snapshot.list_all(WEBHOOK_CONFIGURATIONS, whole, partly=True)


def configuration(snapshot: Snapshot) -> Object | None:
    """Return ours; None where there is none."""
    for each in configurations(snapshot):
        if each["metadata"]["name"] == snapshot.configuration:
            return each
    snapshot.list_all(WEBHOOK_CONFIGURATIONS, whole)  # a broken one may be ours
    return None


def webhooks_of(configuration: Object | None) -> list[Object]:
    """Return the webhooks of a configuration."""
    webhooks = (configuration or {}).get("webhooks") or ()
    return [each for each in webhooks if isinstance(each, dict)]


class Deployment(NamedTuple):
    """Hold what is kept of a Deployment of ours; *waiting*: its pods that are not available.

    *keeps_certificates*: nobody else, such as cert-manager, does.
    """

    name: str
    role: Role
    namespace: str
    wanted: int
    ready: int
    waiting: int
    account: str
    priority_class: str
    keeps_certificates: bool


def read_deployment(obj: Object) -> Deployment | None:
    """Keep what matters; None for a Deployment that runs neither ``serve`` nor ``control``."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    pod = (spec.get("template") or {}).get("spec") or {}
    for container in pod.get("containers") or ():
        arguments = [*(container.get("command") or ()), *(container.get("args") or ())]
        role = next((_COMMANDS[each] for each in arguments if each in _COMMANDS), None)
        texts = f"{metadata['name']} {container.get('image')} {arguments}"
        if role is None or "injector" not in texts:
            continue
        given = [f"{each.get('name')}={each.get('value')}" for each in container.get("env") or ()]
        replicas = spec.get("replicas")
        return Deployment(
            metadata["name"],
            role,
            metadata.get("namespace") or "",
            wanted=1 if replicas is None else replicas,
            ready=status.get("readyReplicas") or 0,
            waiting=status.get("unavailableReplicas") or 0,
            account=pod.get("serviceAccountName") or "default",
            priority_class=pod.get("priorityClassName") or "",
            keeps_certificates=_OTHERS_KEEP.search(" ".join((*arguments, *given))) is None,
        )
    return None


def deployments(snapshot: Snapshot) -> tuple[Deployment, ...]:
    """Return our Deployments."""
    return snapshot.list_all(DEPLOYMENTS, read_deployment, snapshot.system_namespace)


def is_installed(snapshot: Snapshot) -> bool:
    """Tell whether anything of ours is installed, or may be: what cannot be read may be there."""
    unread = 0
    for ask in (deployments, configuration):
        try:
            if ask(snapshot):
                return True
        except Unread:
            unread += 1
    return unread == 2  # both


def find_system_namespace(snapshot: Snapshot) -> str:
    """Return the namespace of the Service that our configuration calls, else the default."""
    try:
        found = configuration(snapshot)
    except Unread:
        found = None
    services = [(each.get("clientConfig") or {}).get("service") for each in webhooks_of(found)]
    spaces = [each["namespace"] for each in services if each and each.get("namespace")]
    return spaces[0] if spaces else DEFAULT_NAMESPACE
