"""Hold all that is looked at, as it was read; decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from webhook import names
from webhook.check.deployments import Deployment, Role
from webhook.check.devices import Node
from webhook.check.multus import Configuration, DaemonSet
from webhook.check.namespaces import LabelledNamespace
from webhook.check.privileges import Access, Answer
from webhook.check.quotas import Quota
from webhook.check.reachability import Attempt
from webhook.check.reader import Found, Listing
from webhook.model import NetworkDefinition, Object
from webhook.profiles import Profiles


@dataclass(frozen=True, slots=True)
class Subject:
    """Say what is looked at: the installation's *namespace* and configuration."""

    namespace: str = "fabric-injector"
    configuration: str = names.WEBHOOK_CONFIGURATION


@dataclass(frozen=True, slots=True)
class ProfilesRead:
    """Hold the profiles and where they are from; *profiles* None: *faults* say why."""

    source: str
    profiles: Profiles | None = None
    faults: tuple[str, ...] = ()
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class Installation:
    """Hold our own objects."""

    configurations: Listing[Object] = Listing()
    deployments: Listing[Deployment] = Listing()
    services: Listing[str] = Listing()
    secret: Found[Mapping[str, bytes]] = Found()
    secret_keeper: str = ""
    lease: Found[Object] = Found()
    policies: Listing[str] = Listing()
    bindings: Listing[str] = Listing()
    accounts: Mapping[tuple[Role, str], tuple[Mapping[Access, Answer], Mapping[Access, Answer]]] = field(
        default_factory=dict
    )
    installer: Mapping[Access, Answer] = field(default_factory=dict)
    attempts: tuple[Attempt, ...] = ()

    def configuration(self, name: str) -> Object | None:
        """Return the configuration of this name."""
        return next((each for each in self.configurations.items if _name(each) == name), None)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Hold what others run in the cluster."""

    namespaces: Listing[LabelledNamespace] = Listing()
    networks: Listing[NetworkDefinition] = Listing()
    nodes: Listing[Node] = Listing()
    daemon_sets: Listing[DaemonSet] = Listing()
    multus: tuple[Configuration, ...] = ()
    multus_problem: str = ""
    quotas: Listing[Quota] = Listing()
    local_queues: Listing[Object] = Listing()
    cluster_queues: Listing[Object] = Listing()
    kueue_excludes: tuple[str, ...] = ()
    volcano_queues: Listing[Object] = Listing()
    pods: Listing[Object] = Listing()
    earlier_pods: Listing[Object] = Listing()


@dataclass(frozen=True, slots=True)
class Inventory:
    """Hold everything; *server_time* None where the API server told none."""

    subject: Subject
    here: datetime
    server_time: datetime | None
    profiles: ProfilesRead
    installation: Installation = Installation()
    surroundings: Surroundings = Surroundings()

    @property
    def now(self) -> datetime:
        """Return the time by which all is judged."""
        return self.server_time or self.here


def _name(obj: Object) -> str:
    return (obj.get("metadata") or {}).get("name") or ""
