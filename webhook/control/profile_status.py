"""Write the status of each FabricProfile while this replica leads, where it says something new."""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial

from webhook.control.claim_templates import apply_template
from webhook.control.leader_loop import FOLLOWER_SECONDS, LeaderLoop
from webhook.core import names
from webhook.core.claim_templates import template_name
from webhook.core.cluster.demand import NEVER_REACHED, profile_users
from webhook.core.cluster.networks import NetworkLook
from webhook.core.cluster.profile_status import (
    ClaimsSeen,
    Condition,
    NetworksSeen,
    conditions_of,
    look_at_networks,
    network_names,
    next_status,
)
from webhook.core.model import NetworkDefinition, Object
from webhook.core.networks.definition import define_network
from webhook.core.profiles import (
    ClusterSettings,
    Profile,
    ProfileClaim,
    ProfileObject,
    read_object,
    same_pod_labels,
)
from webhook.kube.catalogue import DEVICE_CLASSES, FABRIC_PROFILES, NETWORKS
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.informer import Informer
from webhook.kube.reader import Reader

log = logging.getLogger(__name__)

PERIOD_SECONDS = 300.0
"""After how long the cluster is looked at again, though no profile and no label has changed."""
UNSOUND_SECONDS = 30.0
"""The same while a profile lacks something, which somebody may be about to mend."""
REST = 5.0
"""How many times as long as a turn took nothing is done after it."""
REQUEST_SECONDS = 30.0
MOST_PAGES = 1000


class ProfileStatus(LeaderLoop):
    """Follow the profiles in a thread; judge and write in another. What fails here stops no other.

    *namespaces* gives the profile that each labelled namespace names, None while they are not
    known. *settings* gives what the Configuration says at present. *own_namespace*: its pods are
    never sent to the webhook. *on_read* gets the profiles by name, None for one whose content
    cannot be used. Nothing is read or written but the watch unless *may_write*.
    """

    fault = "the status of profiles is not written"
    rest = REST

    def __init__(
        self,
        connection: Connection,
        may_write: Callable[[], bool],
        namespaces: Callable[[], Mapping[str, str] | None],
        settings: Callable[[], ClusterSettings],
        *,
        own_namespace: str = "",
        on_read: Callable[[Mapping[str, Profile | None]], None] = lambda _: None,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(may_write, monotonic)
        self._connection, self._namespaces, self._settings = connection, namespaces, settings
        self._own_namespace, self._never = own_namespace, (*NEVER_REACHED, own_namespace)
        self._on_read, self._now = on_read, now
        self._reader = Reader(connection, REQUEST_SECONDS)
        self._taken: set[ProfileClaim] = set()
        self._profiles = Informer(
            connection,
            FABRIC_PROFILES,
            read_object,
            on_change=self.wake,
            on_listed=self.wake,
            monotonic=monotonic,
        )
        self.watches = (self._profiles,)

    def turn(self) -> float:
        """Read, judge and write once."""
        objects = {name: obj for (_, name), obj in sorted(self._profiles.items.copy().items())}
        named = self._namespaces()
        if named is None or not self._profiles.synced:
            return FOLLOWER_SECONDS
        self._on_read({name: obj.content.profile for name, obj in objects.items()})
        users = profile_users((each, {names.PROFILE: named[each]}) for each in sorted(named))
        profiles = [obj.content.profile for obj in objects.values() if obj.content.profile]
        networks, claims = self._look_at_networks(profiles), self._look_at_claims(profiles)
        settings, same_labels = self._settings(), same_pod_labels(profiles)
        writes, is_sound = [], True
        for name, obj in objects.items():
            using = users.get(name, [])
            looks: list[NetworkLook] = []
            if obj.content.profile is not None:
                reached = [each for each in using if each not in self._never]
                defined = networks.definitions or {}
                looks = look_at_networks(obj.content.profile, settings, reached, defined)
            same = same_labels.get(name, "")
            conditions = conditions_of(obj.content, looks, networks, claims, same)
            is_sound = is_sound and all(each.status == "True" for each in conditions)
            writes.append(partial(self._write, obj, conditions, len(using)))
        self.do_each(writes)
        return PERIOD_SECONDS if is_sound else UNSOUND_SECONDS

    def _look_at_networks(self, profiles: list[Profile]) -> NetworksSeen:
        """List the networks that a profile names; nothing is kept of the others."""
        wanted = {name for profile in profiles for name in network_names(profile)}
        if not wanted:
            return NetworksSeen({})
        found: dict[tuple[str, str], NetworkDefinition] = {}
        is_installed = False

        def read(obj: Object) -> NetworkDefinition | None:
            return define_network(obj) if obj["metadata"]["name"] in wanted else None

        try:
            for page in self._reader.pages(NETWORKS, read, most=MOST_PAGES):
                is_installed = True
                found |= {(each.namespace, each.name): each for each in page.objects if each}
        except RequestFailed as error:
            return NetworksSeen(None, _refusal(error))
        return NetworksSeen(found, is_installed=is_installed)

    def _look_at_claims(self, profiles: list[Profile]) -> ClaimsSeen:
        """List the DeviceClasses, and let the API server judge the claims' templates."""
        if not any(profile.claims for profile in profiles):
            return ClaimsSeen()
        claims = {claim for profile in profiles for claim in profile.kept_claims}
        found: set[str] | None = None
        try:
            for page in self._reader.pages(DEVICE_CLASSES, _name, most=MOST_PAGES):
                found = {*(found or ()), *page.objects}
            if found is None:
                return ClaimsSeen(is_served=False)
            refused = {
                template_name(claim): why
                for claim in claims
                if claim not in self._taken and (why := self._refusal(claim))
            }
        except RequestFailed as error:
            return ClaimsSeen(problem=_refusal(error))
        self._taken = {claim for claim in claims if template_name(claim) not in refused}
        return ClaimsSeen(frozenset(found), refused)

    def _refusal(self, claim: ProfileClaim) -> str:
        """Return why the API server refuses the claim's template, empty where it takes it."""
        namespace = self._own_namespace or "default"
        response = apply_template(self._connection, namespace, claim, dryRun="All")
        is_taken = response.expect(200, 201, 400, 422).status < 400
        return "" if is_taken else str(response.json().get("message"))

    def _write(self, obj: ProfileObject, conditions: list[Condition], namespaces: int) -> None:
        """Write the status where it says something new. Raises RequestFailed."""
        now = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
        status = next_status(obj, conditions, namespaces, now)
        if status is None:
            return
        body = {"metadata": {"uid": obj.uid, "resourceVersion": obj.version}, "status": status}
        path = f"{FABRIC_PROFILES.object_path(('', obj.name))}/status"
        response = self._connection.patch(path, body)
        # 409 where the watch is behind, of our own write too
        if response.expect(200, 404).status == 404:
            return
        ready = conditions[0]
        level = logging.WARNING if ready.status == "False" else logging.INFO
        told = f"{ready.type} is {ready.status} ({ready.reason}): {ready.message}"
        log.log(level, "FabricProfile %s: %s", obj.name, told)


def _refusal(error: RequestFailed) -> str:
    """Return why something may not be read; raise *error* for an outage, which changes nothing."""
    if not error.is_refusal:
        raise error
    return str(error)


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
