"""Hold all that `survey` has read of a cluster, before it judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from webhook.core.cluster.device_classes import DeviceOffers
from webhook.core.cluster.nodes import NodeOffer
from webhook.core.model import Namespace, NetworkDefinition
from webhook.core.profiles import Profiles
from webhook.diagnose.listing import Listing, Unread
from webhook.diagnose.survey.pod import SurveyedPod


class ClusterReading(NamedTuple):
    """Hold what was read; *namespace*: the one that was looked at, empty for all.

    *templates* and *oversized* are those of `PodReader`. *profiles*: None where there are none, or they cannot be read; *source*: where
    they are from, for messages. *profile*: the name of the one that was asked for, or of the only one; empty where none was.
    *profiles_option*: by which ``dry-run`` finds them, `` --profiles FILE``, empty for the cluster's.
    """

    pods: Listing[SurveyedPod]
    templates: Mapping[bytes, bytes]
    oversized: Mapping[tuple[str, str], str]
    namespace: str = ""
    namespaces: Listing[Namespace] = Listing()
    networks: Listing[NetworkDefinition] = Listing()
    nodes: Listing[NodeOffer] = Listing()
    profiles: Profiles | None = None
    source: str = ""
    profile: str = ""
    profiles_option: str = ""
    system_namespace: str = "fabric-injector"
    unread: tuple[Unread, ...] = ()
    device_offers: DeviceOffers = DeviceOffers()
