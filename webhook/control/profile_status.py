"""Write the status of each FabricProfile while this replica leads, and only where it says something new."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from webhook.control.leader_loop import STOP_SECONDS, LeaderLoop
from webhook.core import names
from webhook.core.claim_templates import MANAGER, make_template, template_name
from webhook.core.cluster.demand import NEVER_REACHED
from webhook.core.cluster.device_classes import (
    DeviceClass,
    DeviceOffers,
    Given,
    read_device_class,
    read_device_slice,
)
from webhook.core.cluster.nodes import NodeOffer, Search, Supply, read_node
from webhook.core.cluster.profile_status import (
    READY,
    ClaimsSeen,
    Condition,
    Examined,
    NetworksSeen,
    NodesSeen,
    Wish,
    conditions_of,
    examine_profile,
    network_names,
    networks_in_short,
    next_status,
)
from webhook.core.model import NetworkDefinition, Object
from webhook.core.networks.definition import define_network
from webhook.core.profiles import (
    ClusterSettings,
    Content,
    Profile,
    ProfileClaim,
    ProfileObject,
    read_object,
    same_pod_labels,
)
from webhook.kube.catalogue import (
    DEVICE_CLASSES,
    DEVICE_SLICES,
    FABRIC_PROFILES,
    NETWORKS,
    NODES,
    RESOURCE_CLAIM_TEMPLATES,
)
from webhook.kube.claims_api import ClaimsApi
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.informer import Informer
from webhook.kube.lease import WRITE_SECONDS
from webhook.kube.reader import PAGE_SIZE, Reader
from webhook.kube.resource import Key, Resource

log = logging.getLogger(__name__)

FOLLOWER_SECONDS = 0.5
"""How often one that does not know the namespaces looks whether it does."""
PERIOD_SECONDS = 300.0
"""After how long the cluster is looked at again, though no profile and no label has changed."""
UNSOUND_SECONDS = 30.0
"""The same while a profile lacks something, which somebody may be about to mend."""
REST = 5.0
"""How many times as long as a turn took nothing is done after it, however often profiles and labels change."""
NODES_REST = 20.0
"""How many times as long as a list of nodes took they are not listed again, where one lacks something."""
REQUEST_SECONDS = 30.0
PATIENCE = 3
"""Failures in a row after which what the API server does not answer is unknown: its restart shall not change every status."""
NODES_A_PAGE = 100
"""Nodes weigh 10 kB and more: they list their images."""
SLICES_A_PAGE = 20
"""A ResourceSlice of 128 devices weighs up to 100 kB and more."""
T = TypeVar("T")
MOST_PAGES = 1000
_HEADERS = {"Content-Type": "application/merge-patch+json"}


class _Known(NamedTuple):
    """Hold how a wish is met, and until when that counts, in monotonic seconds."""

    supply: Supply
    until: float


class ProfileStatus:
    """Follow the profiles in a thread; judge and write in another. What fails here stops nothing else.

    *namespaces* gives the profile that each labelled namespace names, None while they are not known. *settings* gives what the
    Configuration says at present. *own_namespace*: its pods are never sent to the webhook. *on_read* gets the profiles by name, None for one whose content cannot be used. Nothing is read or
    written but the watch unless *may_write*.
    """

    def __init__(
        self,
        connection: Connection,
        may_write: Callable[[], bool],
        namespaces: Callable[[], Mapping[str, str] | None],
        settings: Callable[[], ClusterSettings],
        *,
        own_namespace: str = "",
        on_read: Callable[[Mapping[str, Profile | None]], None] = lambda _: None,
        on_restart: Callable[[str, str], None] = lambda _resource, _reason: None,
        period_seconds: float = PERIOD_SECONDS,
        unsound_seconds: float = UNSOUND_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._connection, self._namespaces = connection, namespaces
        self._read_settings = settings
        self._on_read = on_read
        self._own_namespace = own_namespace
        self._never = (*NEVER_REACHED, own_namespace)
        self._period, self._unsound, self._monotonic, self._now = (
            period_seconds,
            unsound_seconds,
            monotonic,
            now,
        )
        self._reader = Reader(connection, REQUEST_SECONDS)
        self._supplies: dict[Wish, _Known] = {}
        self._claims = ClaimsApi(self._reader, monotonic)
        self._taken: set[str] = set()
        self._sent: dict[str, Object] = {}
        self._judged: dict[str, int] = {}
        self._written: dict[str, str] = {}
        self._told: dict[str, str] = {}
        self._listed, self._writing = threading.Event(), threading.Lock()
        self._loop = LeaderLoop(
            "profile-status",
            self.turn,
            lambda: may_write() and self._listed.is_set(),
            fault="the status of profiles is not written",
            on_lost=lambda: self._supplies.clear(),
            rest=REST,
            most_pause_seconds=period_seconds,
            monotonic=monotonic,
        )
        self._profiles = Informer(
            connection,
            FABRIC_PROFILES,
            read_object,
            on_change=self._changed,
            on_listed=self._listed.set,
            on_restart=on_restart,
            monotonic=monotonic,
        )

    def start(self) -> None:
        """Start the threads."""
        self._profiles.start()
        self._loop.start()

    def stop(self) -> bool:
        """End the threads; tell whether no write is under way any more. A look that is, may end later."""
        self._loop.stop()
        self._profiles.stop()
        has_ended = self._writing.acquire(timeout=STOP_SECONDS)
        if has_ended:
            self._writing.release()
        return has_ended

    def wake(self) -> None:
        """Judge again soon: labels of namespaces have changed. Any thread may call it."""
        self._loop.wake()

    def turn(self) -> float:
        """Read, judge and write once; return the seconds until the next time, if nothing changes before. Raises RequestFailed."""
        profiles, users = self._profiles.items.copy(), self._users()
        if users is None:
            return FOLLOWER_SECONDS
        self._forget({name for _, name in profiles})
        contents = {name: each.content for (_, name), each in profiles.items()}
        self._on_read({name: content.profile for name, content in contents.items()})
        networks, settings = self._look_at_networks(contents), self._read_settings()
        claims = self._look_at_claims(contents)
        examined = {
            name: Examined((), ())
            if content.profile is None
            else examine_profile(
                content.profile, settings, self._judged_of(users, name), networks.definitions or {}
            )
            for name, content in contents.items()
        }
        usable = [contents[name].profile for name in sorted(contents)]
        for name, owner in same_pod_labels(each for each in usable if each is not None).items():
            examined[name] = examined[name]._replace(same_labels=owner)
        nodes = self._look_at_nodes({wish for each in examined.values() for wish in each.wishes})
        is_sound = True
        failed: RequestFailed | None = None
        for (_, name), obj in sorted(profiles.items()):
            conditions = conditions_of(contents[name], examined[name], networks, nodes, claims)
            is_sound = is_sound and all(each.status == "True" for each in conditions)
            try:
                self._write(
                    name,
                    obj,
                    conditions,
                    len(users.get(name, ())),
                    networks_in_short(contents[name]),
                )
            except RequestFailed as error:
                failed = error
                if error.is_unconnected:
                    break
        if failed is not None:
            raise failed
        return self._period if is_sound else self._unsound

    def _changed(self, key: Key, obj: ProfileObject | None) -> None:
        """Wake where somebody else wrote: our own writes come back too."""
        _, name = key
        if (
            obj is None
            or obj.generation != self._judged.get(name)
            or obj.status != self._sent.get(name)
        ):
            self._loop.wake()

    def _users(self) -> dict[str, list[str]] | None:
        named = self._namespaces()
        if named is None:
            return None
        users: dict[str, list[str]] = {}
        for namespace in sorted(named):
            if (profile := named[namespace]) != names.PROFILE_NONE:
                users.setdefault(profile, []).append(namespace)
        return users

    def _judged_of(self, users: Mapping[str, Sequence[str]], profile: str) -> list[str]:
        return [namespace for namespace in users.get(profile, ()) if namespace not in self._never]

    def _forget(self, names_of_profiles: set[str]) -> None:
        for held in (self._sent, self._judged, self._written, self._told):
            for name in held.keys() - names_of_profiles - {""}:
                del held[name]

    def _look_at_networks(self, contents: Mapping[str, Content]) -> NetworksSeen:
        """List the networks that a profile names; of the others nothing is kept, and nothing is held until the next turn."""
        wanted = {
            name
            for each in contents.values()
            if each.profile
            for name in network_names(each.profile)
        }
        if not wanted:
            return NetworksSeen({})
        found: dict[tuple[str, str], NetworkDefinition] = {}
        is_installed = False
        try:
            for page in self._reader.pages(
                NETWORKS, lambda obj: _network(obj, wanted), most=MOST_PAGES
            ):
                is_installed = True
                if page.is_first:
                    found.clear()
                found |= {
                    (each.namespace, each.name): each for each in page.objects if each is not None
                }
        except RequestFailed as error:
            return NetworksSeen(None, self._unknown(error))
        return NetworksSeen(found, is_installed=is_installed)

    def _look_at_claims(self, contents: Mapping[str, Content]) -> ClaimsSeen:
        """List the DeviceClasses, and let the API server judge the claims' templates, which pods of any namespace may name."""
        profiles = [each.profile for each in contents.values() if each.profile]
        claims = {claim for profile in profiles for claim in profile.claims}
        if not claims:
            return ClaimsSeen()
        try:
            of_classes = self._claims.served(DEVICE_CLASSES)
            of_templates = self._claims.served(RESOURCE_CLAIM_TEMPLATES)
            if of_classes is None or of_templates is None:
                return ClaimsSeen(is_served=False)
            found = self._list(of_classes, read_device_class)
            refusals = {template_name(each): self._refusal(of_templates, each) for each in claims}
        except RequestFailed as error:
            return ClaimsSeen(problem=self._unknown(error))
        self._taken = {name for name, refusal in refusals.items() if not refusal}
        refused = {name: refusal for name, refusal in refusals.items() if refusal}
        return ClaimsSeen(frozenset(each.name for each in found), refused)

    def _refusal(self, templates: Resource, claim: ProfileClaim) -> str:
        """Return the API server's own words where it refuses the claim's template, by a dry run. Raises RequestFailed."""
        name = template_name(claim)
        if name in self._taken:
            return ""
        namespace = self._own_namespace or "default"
        version = templates.group.removeprefix("/apis/")
        response = self._connection.request(
            "PATCH",
            templates.object_path((namespace, name)),
            body={"apiVersion": version, **make_template(namespace, claim)},
            query={"fieldManager": MANAGER, "force": "true", "dryRun": "All"},
            headers={"Content-Type": "application/apply-patch+yaml"},
            timeout=REQUEST_SECONDS,
        )
        if response.status in (200, 201):
            return ""
        if response.status in (400, 422):
            return str(response.json().get("message"))
        raise RequestFailed(response.problem, response.status)

    def _look_at_nodes(self, wishes: set[Wish]) -> NodesSeen:
        """List nodes until each wish is met that is not known to be; nothing is kept of a node."""
        began = self._monotonic()
        self._supplies = {wish: known for wish, known in self._supplies.items() if wish in wishes}
        due = {
            wish
            for wish in wishes
            if (known := self._supplies.get(wish)) is None or known.until <= began
        }
        problem = ""
        try:
            found = self._search_nodes(dict.fromkeys(due)) if due else {}
            found |= self._beside_claims(
                {wish: supply for wish, supply in found.items() if supply.shortage}
            )
        except RequestFailed as error:
            found, problem = {}, self._unknown(error)
        missing = {wish for wish in due if wish not in found}
        rest = min(self._period, max(self._unsound, NODES_REST * (self._monotonic() - began)))
        until = self._monotonic() + rest
        for wish, supply in found.items():
            # a little less than the period, so that it is over when the next turn begins
            ends = until if supply.shortage else began + 0.9 * self._period
            self._supplies[wish] = _Known(supply._replace(nodes=()), ends)
        for wish in missing:
            self._supplies.pop(wish, None)
        return NodesSeen({wish: known.supply for wish, known in self._supplies.items()}, problem)

    def _unknown(self, error: RequestFailed) -> str:
        """Return why something is unknown; raise *error* where that may be over in seconds, so that what is written stays till then."""
        if not error.is_refusal and self._loop.failures < PATIENCE:
            raise error
        return str(error)

    def _beside_claims(self, short: Mapping[Wish, Supply]) -> dict[Wish, Supply]:
        """Judge what no node offers enough of by what claims give besides; nothing where no DeviceClass gives it."""
        offers = self._read_offers({wish.resource for wish in short}) if short else DeviceOffers()
        given = {
            wish: found for wish in short if (found := offers.given(wish.resource)) is not None
        }
        if any(each.by_node for each in given.values()):
            return self._search_nodes(given)
        return {wish: short[wish].beside(found) for wish, found in given.items()}

    def _search_nodes(self, wishes: Mapping[Wish, Given | None]) -> dict[Wish, Supply]:
        searches: dict[Wish, Search] = {}
        for page in self._reader.pages(NODES, _node, most=MOST_PAGES, size=NODES_A_PAGE):
            if page.is_first:
                searches = {wish: wish.search(given) for wish, given in wishes.items()}
            open_searches = [search for search in searches.values() if not search.fitting]
            for node in page.objects:
                for search in open_searches:
                    search.look_at(node)
            if all(search.fitting for search in searches.values()):
                break
        return {wish: search.supply() for wish, search in searches.items()}

    def _read_offers(self, resources: Collection[str]) -> DeviceOffers:
        """Read the DeviceClasses that give one of the *resources*, and their devices."""
        classes: tuple[DeviceClass, ...] | None = None
        try:
            of_classes, of_slices = (
                self._claims.served(DEVICE_CLASSES),
                self._claims.served(DEVICE_SLICES),
            )
            if of_classes is None or of_slices is None:
                return DeviceOffers()
            found = self._list(of_classes, read_device_class)
            classes = tuple(each for each in found if any(map(each.gives, resources)))
            slices = self._list(of_slices, read_device_slice, SLICES_A_PAGE) if classes else []
        except RequestFailed as error:
            return DeviceOffers(classes, None, str(error))
        return DeviceOffers(classes, tuple(slices))

    def _list(
        self, resource: Resource, read: Callable[[Object], T], size: int = PAGE_SIZE
    ) -> list[T]:
        """List all objects. Raises RequestFailed, also where one is broken or they are too many: what is counted must be all."""
        found: list[T] = []
        for page in self._reader.pages(resource, read, most=MOST_PAGES, size=size):
            if page.is_first:
                found.clear()
            found += page.objects
            if page.broken or (page.more and len(found) >= MOST_PAGES * size):
                raise RequestFailed(f"{resource.name}: not all can be read", 200)
        return found

    def _write(
        self,
        name: str,
        obj: ProfileObject,
        conditions: Sequence[Condition],
        namespaces: int,
        networks: str,
    ) -> None:
        """Write the status where it says something new. Raises RequestFailed where that may go better in a moment."""
        now = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
        is_behind = (
            self._written.get(name) == obj.version
        )  # the watch has not brought our own write
        before = self._sent[name] if is_behind else obj.status
        status = next_status(
            before,
            conditions,
            generation=obj.generation,
            namespaces=namespaces,
            networks=networks,
            now=now,
        )
        self._judged[name] = obj.generation
        self._sent[name] = before if status is None else {**_map(before), **status}
        path = f"{FABRIC_PROFILES.object_path(('', name))}/status"
        body = {"metadata": {"uid": obj.uid, "resourceVersion": obj.version}, "status": status}
        with self._writing:
            if status is None or not self._loop.may_write():
                return
            response = self._connection.request(
                "PATCH", path, body=body, headers=_HEADERS, timeout=WRITE_SECONDS
            )
        if response.status == 200:
            self._written[name] = obj.version
            self._tell(name, conditions)
        elif (
            response.status == 409
        ):  # somebody wrote since: what the watch brings is judged a little later
            raise RequestFailed(response.problem, response.status)
        elif response.status != 404:
            self._log_once(
                name, f"FabricProfile {name}: its status is not written: {response.problem}"
            )

    def _tell(self, name: str, conditions: Sequence[Condition]) -> None:
        ready = next(each for each in conditions if each.type == READY)
        text = f"FabricProfile {name}: {ready.type} is {ready.status} ({ready.reason}): {ready.message}"
        self._log_once(
            name, text, level=logging.WARNING if ready.status == "False" else logging.INFO
        )

    def _log_once(self, name: str, text: str, *, level: int = logging.WARNING) -> None:
        if text != self._told.get(name):
            log.log(level, "%s", text)
        self._told[name] = text


def _network(obj: Object, wanted: set[str]) -> NetworkDefinition | None:
    return define_network(obj) if obj["metadata"]["name"] in wanted else None


def _node(obj: Object) -> NodeOffer:
    node = read_node(obj)
    return NodeOffer(node.name, node.labels, node.allocatable)


def _map(value: Any) -> Object:
    return value if isinstance(value, dict) else {}
