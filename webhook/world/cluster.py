"""Answer admission's questions about the cluster from watches, and from bounded live look-ups for what they have not brought."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from webhook.core.errors import WebhookError
from webhook.core.model import Namespace, NetworkDefinition, Object, World
from webhook.core.networks import define_network
from webhook.core.profiles import Profile
from webhook.kube.catalogue import NAMESPACES, NETWORKS, WEBHOOK_CONFIGURATIONS
from webhook.kube.claims_api import ClaimsApi
from webhook.kube.connection import Connection, connect
from webhook.kube.informer import Informer
from webhook.kube.reader import Reader
from webhook.kube.resource import Key, Resource
from webhook.kube.webhook_configuration import WebhookConfiguration, read_webhook_configuration
from webhook.world.held import names_profile, read_namespace
from webhook.world.lookup import Lookup, MustAsk
from webhook.world.profile_objects import Parse, ProfileObjects

__all__ = ["Cluster", "WebhookConfiguration", "connected_cluster"]

T = TypeVar("T")

LOOKUP_SECONDS = 1.0
CONFIGURATION_SECONDS = 4.0
MOST_LOOKUPS = 4
"""Look-ups of networks at a time; as many of namespaces and profiles."""
STALE_SECONDS = 480.0
"""Silence after which what is held counts as old: a watch of 360 s, 30 s until silence breaks it, and pauses to try again."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)


class Cluster:
    """Implement model.World for a real cluster; *at_once* raises MustAsk where this one would ask.

    Before `start` and for what no watch has brought, each question costs one live look-up. While the API server is gone, the
    last known state is served. *on_restart* gets the resource and the reason whenever a watch begins anew.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        on_restart: Callable[[str, str], None] = lambda _resource, _reason: None,
        lookup_seconds: float = LOOKUP_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._on_restart = on_restart
        self._reader = Reader(connection, lookup_seconds)
        self._lookup_seconds = lookup_seconds
        self._monotonic = monotonic
        self._claims = ClaimsApi(self._reader, monotonic)
        self._namespaces = Informer(
            connection,
            NAMESPACES,
            read_namespace,
            on_change=lambda key, _: self._namespace.forget(key),
            on_restart=on_restart,
            monotonic=monotonic,
        )
        self._networks = Informer(
            connection,
            NETWORKS,
            define_network,
            on_change=lambda key, _: self._network.forget(key),
            on_restart=on_restart,
            monotonic=monotonic,
        )
        self._lookups = threading.Semaphore(MOST_LOOKUPS)
        self._namespace = self._lookup(self._namespaces, read_namespace, self._lookups)
        # pods name networks, as many as a tenant likes that do not exist: none of them may use up what others' namespaces need
        self._network = self._lookup(
            self._networks, define_network, threading.Semaphore(MOST_LOOKUPS)
        )
        self.at_once: World = _AtOnce(self._namespace, self._network)

    def start(self) -> None:
        """Begin to watch; `checks` says when all is known."""
        for informer in self._informers():
            informer.start()

    def stop(self) -> None:
        """End the watches; what they brought is still served."""
        for informer in self._informers():
            informer.stop()
        self._connection.close()

    def checks(self) -> Mapping[str, str]:
        """Say for each watch, by resource, what keeps it from being trusted; empty where nothing does."""
        return {
            informer.resource.name: informer.doubt(STALE_SECONDS) for informer in self._informers()
        }

    def namespace(self, name: str) -> Namespace | None:
        """Look a namespace up; raise Unavailable where it is neither held nor can be asked for."""
        return self._namespace.get(("", name))

    def fresh_namespace(self, name: str) -> Namespace | None:
        """Look a namespace up live, where the cached labels contradict the API server's selector."""
        return self._namespace.fresh(("", name))

    def network(self, namespace: str, name: str) -> NetworkDefinition | None:
        """Look a network up; None also where NetworkAttachmentDefinitions are not installed. Raises Unavailable as above."""
        return self._network.get((namespace, name))

    def webhook_configuration(self, name: str) -> WebhookConfiguration | None:
        """Ask for the MutatingWebhookConfiguration *name*, live; None where it does not exist. Raises Unavailable."""
        return self._reader.find(
            WEBHOOK_CONFIGURATIONS,
            ("", name),
            read_webhook_configuration,
            seconds=CONFIGURATION_SECONDS,
        )

    def serves_claims(self) -> bool:
        """Tell whether the API server knows claims in a version that we write; asked for now and then. Raises Unavailable."""
        return bool(self._claims.version())

    def names_profile(self, profile: str) -> bool:
        """Tell whether the label of a namespace that is not being deleted names *profile*, or may do so: not all are listed yet."""
        namespaces = self._namespaces.items.copy().values()
        return not self._namespaces.synced or any(
            names_profile(each, profile) for each in namespaces
        )

    def follow_profiles(
        self,
        parse: Parse,
        *,
        on_reload: Callable[[Mapping[str, Profile]], None],
        on_error: Callable[[WebhookError], None],
        on_installed: Callable[[bool], None],
    ) -> ProfileObjects:
        """Make what follows the FabricProfiles; start it, and stop it before the cluster."""
        return ProfileObjects(
            self._connection,
            parse=parse,
            is_in_use=self.names_profile,
            on_reload=on_reload,
            on_error=on_error,
            on_installed=on_installed,
            on_restart=self._on_restart,
        )

    def _informers(
        self,
    ) -> tuple[Informer[Namespace], Informer[NetworkDefinition]]:
        return self._namespaces, self._networks

    def _lookup(
        self, watched: Informer[T], read: Callable[[Object], T], slots: threading.Semaphore
    ) -> Lookup[T]:
        def ask(key: Key) -> T | None:
            return self._ask(watched.resource, read, key)

        return Lookup(
            watched.items, ask, slots, wait_seconds=self._lookup_seconds, monotonic=self._monotonic
        )

    def _ask(self, resource: Resource, read: Callable[[Object], T], key: Key) -> T | None:
        """Get one object; None where it does not exist or cannot, having a name that the API server refuses."""
        namespace, name = key
        if not _NAME.fullmatch(name) or (namespace and not _NAME.fullmatch(namespace)):
            return None
        return self._reader.find(resource, key, read)


class _AtOnce:
    """Answer from what is known."""

    def __init__(self, namespaces: Lookup[Namespace], networks: Lookup[NetworkDefinition]) -> None:
        self._namespaces, self._networks = namespaces, networks

    def namespace(self, name: str) -> Namespace | None:
        return self._namespaces.at_once(("", name))

    def fresh_namespace(self, name: str) -> Namespace | None:
        raise MustAsk

    def network(self, namespace: str, name: str) -> NetworkDefinition | None:
        return self._networks.at_once((namespace, name))


def connected_cluster(*, on_restart: Callable[[str, str], None]) -> Cluster:
    """Prepare the cluster of this process' credentials; raise InputError where there are none."""
    return Cluster(connect(), on_restart=on_restart)
