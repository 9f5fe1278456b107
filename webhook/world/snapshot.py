"""List what is held of a cluster at one moment, for people who look at it."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.core.model import Namespace, NetworkDefinition
from webhook.kube.resource import Key
from webhook.world.read import Master


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Hold copies of the caches by key: namespaces, networks, and the live rank-0 pods of jobs."""

    namespaces: dict[Key, Namespace]
    networks: dict[Key, NetworkDefinition]
    masters: dict[Key, Master]
