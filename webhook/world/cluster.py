"""Answer admission's questions from watches; ask briefly for what they have not brought."""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from webhook.core import names
from webhook.core.model import Namespace, Object
from webhook.core.networks import define_network
from webhook.core.profiles import ProfileObject, read_object
from webhook.kube.catalogue import FABRIC_PROFILES, NAMESPACES, NETWORKS, WEBHOOK_CONFIGURATIONS
from webhook.kube.connection import Connection
from webhook.kube.informer import Informer
from webhook.kube.reader import Reader
from webhook.kube.resource import Key, Resource
from webhook.kube.webhook_configuration import WebhookConfiguration, read_webhook_configuration
from webhook.world.active_profiles import ActiveProfiles
from webhook.world.lookup import Lookup, NotCached
from webhook.world.profile_objects import ProfileObjects
from webhook.world.view import View, read_namespace

__all__ = ["Cluster", "WebhookConfiguration"]

T = TypeVar("T")

LOOKUP_SECONDS = 1.0
CONFIGURATION_SECONDS = 4.0
MOST_LOOKUPS = 4
"""Look-ups of one resource at a time. A tenant's pods may name any number of networks that do not
exist, and may not use up what others' namespaces need."""
STALE_SECONDS = 480.0
"""Silence after which what is held counts as old: a watch of 360 s, 30 s until silence breaks it,
and pauses to try again."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)


class Cluster(View):
    """Know a real cluster; ``cached`` raises NotCached where this one would ask.

    Before `start` and for what no watch has brought, each question costs one look-up. While the API
    server is gone, the last known state is served.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        lookup_seconds: float = LOOKUP_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._lookup_seconds, self._monotonic = lookup_seconds, monotonic
        self._reader = Reader(connection, lookup_seconds)
        self._namespaces, namespaces = self._watched(NAMESPACES, read_namespace)
        self._networks, networks = self._watched(NETWORKS, define_network)
        self._informers: tuple[Informer[Any], ...] = (self._namespaces, self._networks)
        self._profile_objects: ProfileObjects | None = None
        self._profiles: Lookup[ProfileObject] = self._lookup({}, FABRIC_PROFILES, read_object)
        super().__init__(
            lambda name: namespaces.get(("", name)),
            lambda name: namespaces.fresh(("", name)),
            lambda namespace, name: networks.get((namespace, name)),
            self._has_profile,
        )
        self.cached = View(
            lambda name: namespaces.cached(("", name)),
            _not_cached,
            lambda namespace, name: networks.cached((namespace, name)),
            self._has_profile_cached,
        )

    def start(self) -> None:
        """Begin to watch; `checks` says when all is known."""
        for informer in self._informers:
            informer.start()

    def stop(self) -> None:
        """End the watches; what they brought is still served."""
        for informer in self._informers:
            informer.stop()
        self._connection.close()

    def checks(self) -> Mapping[str, str]:
        """Say for each watch, by resource, what keeps it from being trusted; empty for nothing."""
        return {each.resource.name: each.doubt(STALE_SECONDS) for each in self._informers}

    def webhook_configuration(self, name: str) -> WebhookConfiguration | None:
        """Ask for a MutatingWebhookConfiguration; None where there is none. Raises Unavailable."""
        read, seconds = read_webhook_configuration, CONFIGURATION_SECONDS
        return self._reader.find(WEBHOOK_CONFIGURATIONS, ("", name), read, seconds=seconds)

    def serves_claims(self) -> bool:
        """Tell whether the API server knows claims in v1. Raises Unavailable."""
        return self._reader.serves_claims()

    def names_profile(self, profile: str) -> bool:
        """Tell whether a live namespace names *profile*, or may: not all are listed."""
        namespaces = self._namespaces.items.copy().values()
        named = (each.labels.get(names.PROFILE) for each in namespaces if not each.is_ending)
        return profile in named or not self._namespaces.synced

    def follow_profiles(self, active: ActiveProfiles) -> ProfileObjects:
        """Put the FabricProfiles into *active* too, once started."""
        found = ProfileObjects(self._connection, active, self.names_profile)
        self._profile_objects, self._informers = found, (*self._informers, found)
        return found

    def _has_profile(self, name: str) -> bool:
        try:
            return self._has_profile_cached(name)
        except NotCached:
            found = self._profiles.fresh(("", name))  # it may have been created just now
            return found is not None and found.content.profile is not None

    def _has_profile_cached(self, name: str) -> bool:
        if self._profile_objects is None:
            return False
        found = self._profile_objects.items.get(("", name))
        if found is None:
            raise NotCached
        return found.content.profile is not None

    def _watched(
        self, resource: Resource, read: Callable[[Object], T]
    ) -> tuple[Informer[T], Lookup[T]]:
        informer = Informer(
            self._connection,
            resource,
            read,
            on_change=lambda key, _: lookup.forget(key),
            monotonic=self._monotonic,
        )
        lookup = self._lookup(informer.items, resource, read)
        return informer, lookup

    def _lookup(
        self, held: Mapping[Key, T], resource: Resource, read: Callable[[Object], T]
    ) -> Lookup[T]:
        def ask(key: Key) -> T | None:
            namespace, name = key
            if not _NAME.fullmatch(name) or (namespace and not _NAME.fullmatch(namespace)):
                return None  # the API server refuses such a name
            return self._reader.find(resource, key, read)

        seconds, monotonic = self._lookup_seconds, self._monotonic
        return Lookup(held, ask, MOST_LOOKUPS, wait_seconds=seconds, monotonic=monotonic)


def _not_cached(_: str) -> Namespace | None:
    raise NotCached
