"""Hold all that is looked at, as it was read; decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from webhook.core import names
from webhook.core.cluster.device_classes import DeviceOffers
from webhook.core.cluster.nodes import NodeOffer
from webhook.core.model import NetworkDefinition, Object
from webhook.diagnose.check.claims import KueueMappings
from webhook.diagnose.check.deployments import Deployment, OwnPod, Role
from webhook.diagnose.check.multus import Configuration, DaemonSet
from webhook.diagnose.check.namespaces import LabelledNamespace
from webhook.diagnose.check.privileges import Access, Answer
from webhook.diagnose.check.profiles import Definition
from webhook.diagnose.check.quotas import Quota
from webhook.diagnose.check.reachability import Attempt
from webhook.diagnose.listing import Found, Listing, Unread
from webhook.world.profiles_read import ProfilesRead


@dataclass(frozen=True, slots=True)
class Subject:
    """Say what is looked at: the installation's *namespace* and configurations; *workload*: one namespace alone, empty for all."""

    namespace: str = "fabric-injector"
    configuration: str = names.WEBHOOK_CONFIGURATION
    workload: str = ""


class Account(NamedTuple):
    """Hold what the API server said of each access that an account needs, and of each that it should not have."""

    role: Role
    name: str
    needed: Mapping[Access, Answer]
    excessive: Mapping[Access, Answer]


class Installation(NamedTuple):
    """Hold our own objects; *installer*: what the caller may do, asked where nothing is installed."""

    configurations: Listing[Object] = Listing()
    deployments: Listing[Deployment] = Listing()
    pods: Listing[OwnPod] = Listing()
    services: Listing[str] = Listing()
    secret: Found[Mapping[str, bytes]] = Found()
    lease: Found[Object] = Found()
    policies: Listing[str] = Listing()
    bindings: Listing[str] = Listing()
    definition: Found[Definition] = Found()
    accounts: tuple[Account, ...] = ()
    installer: Mapping[Access, Answer] | None = None
    attempts: tuple[Attempt, ...] = ()

    def is_there(self, subject: Subject) -> bool:
        """Tell whether anything of ours is installed, or may be: what cannot be read may be there."""
        unread = self.configurations.known is None and self.deployments.known is None
        return bool(unread or self.deployments.items or self.configuration(subject.configuration))

    @property
    def reads_objects(self) -> bool:
        """Tell whether a webhook is installed that reads FabricProfiles, as it does unless its Deployment names a file."""
        return any(
            each.role == "webhook" and not each.profiles.file for each in self.deployments.items
        )

    def configuration(self, name: str) -> Object | None:
        """Return the configuration of this name."""
        return next((each for each in self.configurations.items if _name(each) == name), None)


class Surroundings(NamedTuple):
    """Hold what others run in the cluster; *pods*: metadata of those that nobody injected.

    *claim_templates*: the spec of each template that profiles need and that was asked for, None where it is not there; None in all
    where they were not read.
    """

    namespaces: Listing[LabelledNamespace] = Listing()
    networks: Listing[NetworkDefinition] = Listing()
    nodes: Listing[NodeOffer] = Listing()
    daemon_sets: Listing[DaemonSet] = Listing()
    multus: tuple[Configuration, ...] = ()
    quotas: Listing[Quota] = Listing()
    local_queues: Listing[Object] = Listing()
    cluster_queues: Listing[Object] = Listing()
    kueue_excludes: tuple[str, ...] = ()
    volcano_queues: Listing[Object] = Listing()
    pods: Listing[Object] = Listing()
    earlier_pods: Listing[Object] = Listing()
    device_offers: DeviceOffers = DeviceOffers()
    kueue_mappings: KueueMappings = KueueMappings()
    claim_templates: Mapping[tuple[str, str], Any] | None = None


class Inventory(NamedTuple):
    """Hold everything; *server_time* None where the API server told none. *unread*: what could not be read."""

    subject: Subject
    here: datetime
    server_time: datetime | None
    profiles: ProfilesRead
    installation: Installation = Installation()
    surroundings: Surroundings = Surroundings()
    unread: tuple[Unread, ...] = ()

    @property
    def now(self) -> datetime:
        """Return the time by which all is judged."""
        return self.server_time or self.here


def _name(obj: Object) -> str:
    return (obj.get("metadata") or {}).get("name") or ""
