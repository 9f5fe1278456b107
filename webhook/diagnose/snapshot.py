"""Read each thing of a cluster once, when a rule first asks for it, and run the rules."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import cached_property, partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from webhook.core import names
from webhook.core.cluster.device_classes import (
    DeviceOffers,
    read_device_class,
    read_driver,
)
from webhook.core.cluster.nodes import NodeOffer, read_node
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Namespace, NetworkDefinition, Object, World
from webhook.core.networks import define_network
from webhook.core.profiles.objects import PROFILE_KIND
from webhook.diagnose.finding import Code, Finding
from webhook.kube.catalogue import (
    DEVICE_CLASSES,
    DEVICE_SLICES,
    EVENTS,
    LEASES,
    NAMESPACES,
    NETWORKS,
    NODES,
    PODS,
    WORKLOADS,
)
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.reader import Reader, whole
from webhook.kube.resource import Key, Resource, key_text, object_key
from webhook.world.installed_profiles import beside_installed_settings, installed_profiles
from webhook.world.profiles_read import ProfilesRead
from webhook.world.view import REFUSED, PermittedWorld, View

T = TypeVar("T")

UNREAD = Code(
    "unread/unread",
    "Something could not be read, so what depends on it is unknown.",
    "ask for the right to read it, or let an administrator run this",
)
REQUEST_SECONDS = 30.0
PROBE_SECONDS = 15.0
"""More than a webhook is ever waited for by default."""
AT_A_TIME = 8
UNKNOWN_CALLER = 401
MOST_PAGES = 400
"""Two hundred thousand objects of one kind."""
MOST_BROKEN = 5
"""How many broken objects of one list are named."""
_WARNINGS = (
    EVENTS.select(fields="type!=Normal"),
    EVENTS.select(fields="type=Normal,involvedObject.kind=PodGroup"),
)
"""The Events that are read: Volcano says by a normal one why it lets no pods be made."""


class Unread(Unavailable):
    """Say what of the cluster could not be read, and why; the rule that needs it ends there."""

    def __init__(self, what: str, problem: str) -> None:
        super().__init__(f"{what}: {problem}")
        self.what, self.problem = what, problem

    @property
    def remedy(self) -> str | None:
        """Return what to do where the caller was not refused; None: what the code says."""
        if REFUSED in self.problem:
            return None
        return "correct what the message names, or run this again later"

    def finding(self) -> Finding:
        """Return the warning that says so."""
        return UNREAD.warn(self.what, self.problem, self.remedy)


class Snapshot:
    """Hold what the API server answered; any rule may ask, in any thread.

    A member raises Unread where its part cannot be read. *namespace*: of the jobs, empty for all.
    *given*: profiles of a file, None for the installed ones. ``broken_networks``: why the CNI
    configuration of a network that was read is no JSON, by its key.
    """

    def __init__(
        self,
        connection: Connection,
        namespace: str = "",
        *,
        system_namespace: str = "fabric-injector",
        configuration: str = names.WEBHOOK_CONFIGURATION,
        given: ProfilesRead | None = None,
    ) -> None:
        self.connection, self.reader = connection, Reader(connection, REQUEST_SECONDS)
        self.namespace, self.system_namespace = namespace, system_namespace
        self.configuration, self.given = configuration, given
        self.broken_networks: dict[Key, str] = {}
        self._asked: dict[Hashable, Future[Any]] = {}
        self._notes: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    @property
    def now(self) -> datetime:
        """Return the API server's time, else this machine's."""
        return self.reader.answered or datetime.now(UTC)

    def ask_time(self) -> datetime | None:
        """Ask for the API server's time; None where the answer has none.

        Raises Unavailable where nobody answers, InputError for a caller that it does not know.
        """
        try:
            return self.reader.server_time()
        except RequestFailed as error:
            if error.status == UNKNOWN_CALLER:
                raise InputError(f"{error}; log in to the cluster again") from None
            raise

    def note(self, what: str, problem: str) -> None:
        """Note something that could not be read where a rule can go on without it."""
        self._notes.add((what, problem))

    def unread(self) -> list[Unread]:
        """Return what could not be read so far, once each, in a fixed order."""
        return [Unread(what, problem) for what, problem in sorted(self._notes)]

    # how anything is read

    def readable(self, read: Callable[[], T]) -> T | None:
        """Return what *read* does, for a rule that can go on: None for Unread, which is noted."""
        try:
            return read()
        except Unread as unread:
            self.note(unread.what, unread.problem)
            return None

    def once(self, key: Hashable, what: str, read: Callable[[], T]) -> T:
        """Return what *read* returns; it is called once, for the first who asks by this *key*."""
        with self._lock:
            future = self._asked.get(key)
            is_first = future is None
            if future is None:
                future = self._asked[key] = Future()
        if is_first:
            try:
                future.set_result(read())
            except Unread as unread:
                future.set_exception(unread)
            except Unavailable as error:
                problem = f"cannot be read, so that part is unknown: {error}"
                future.set_exception(Unread(what, problem))
            except BaseException as error:
                future.set_exception(error)
        value: T = future.result()
        return value

    def find(self, resource: Resource, key: Key, read: Callable[[Object], T]) -> T | None:
        """Return what *read* makes of one object; None where there is none. Raises Unread."""
        found = partial(self.reader.find, resource, key, read)
        return self.once((resource, key, read), f"{resource.name} {key_text(key)}", found)

    def list_all(
        self,
        resource: Resource,
        read: Callable[[Object], T | None],
        namespace: str = "",
        *,
        partly: bool = False,
    ) -> tuple[T, ...]:
        """Return what *read* makes of each object, without None; none where there is no such kind.

        Raises Unread, also for a broken object or too many, unless *partly*: that is then noted.
        """
        return self.list_optional(resource, read, namespace, partly=partly) or ()

    def list_optional(
        self,
        resource: Resource,
        read: Callable[[Object], T | None],
        namespace: str = "",
        *,
        partly: bool = False,
    ) -> tuple[T, ...] | None:
        """Return the list as `list_all` does; None where the API has no such kind."""
        found, lacks = self.once(
            (resource, namespace, read),
            resource.name,
            partial(self._list, resource, read, namespace),
        )
        for lack in lacks:
            self.note(lack.what, lack.problem)
        if lacks and not partly:
            raise lacks[0]
        return found

    def _list(
        self, resource: Resource, read: Callable[[Object], T | None], namespace: str
    ) -> tuple[tuple[T, ...] | None, list[Unread]]:
        kept: list[T] = []
        lacks: list[Unread] = []
        seen, is_installed, more = 0, False, False
        for page in self.reader.pages(resource, read, namespace, most=MOST_PAGES):
            is_installed = True
            kept += [value for value in page.objects if value is not None]
            why = "is left out, since it cannot be read"
            lacks += [Unread(name, f"{why}: {problem}") for name, problem in page.broken]
            seen, more = seen + len(page.objects), page.more
        if len(lacks) > MOST_BROKEN:
            rest = f"{len(lacks) - MOST_BROKEN:,} more are left out, since they cannot be read"
            lacks[MOST_BROKEN:] = [Unread(resource.name, rest)]
        if more:
            lacks.append(Unread(resource.name, f"only the first {seen:,} were read"))
        return (tuple(kept) if is_installed else None), lacks

    def of(
        self,
        namespace: str,
        resource: Resource,
        read: Callable[[Object], Object | None] = whole,
    ) -> Sequence[Object]:
        """Return the objects of a namespace, out of the list of all that the snapshot is of."""
        sort = partial(self._by_namespace, resource, read)
        return self.once(("of", resource, read), resource.name, sort).get(namespace, ())

    def _by_namespace(
        self, resource: Resource, read: Callable[[Object], Object | None]
    ) -> Mapping[str, list[Object]]:
        found: dict[str, list[Object]] = {}
        for each in self.list_all(resource, read, self.namespace, partly=True):
            found.setdefault(object_key(each)[0], []).append(each)
        return found

    # what rules ask for

    def nodes(self) -> tuple[NodeOffer, ...]:
        """Return the nodes."""
        return self.list_all(NODES, read_node, partly=True)

    def lease(self) -> Object | None:
        """Return the controller's Lease; None where there is none."""
        return self.find(LEASES, (self.system_namespace, "fabric-injector"), whole)

    def profiles(self) -> ProfilesRead:
        """Return the profiles that the webhook uses, or the *given* ones with its settings."""
        read = self.once("profiles", "profiles", self._read_profiles)
        if read.unread:
            self.note("settings", read.unread)
        return read

    def _read_profiles(self) -> ProfilesRead:
        if self.given is None:
            return installed_profiles(self.reader, self.system_namespace)
        try:
            return beside_installed_settings(self.reader, self.system_namespace, self.given)
        except Unavailable as error:
            self.note("settings", f"cannot be read, so the defaults are assumed: {error}")
            return self.given

    def usable_profiles(self) -> ProfilesRead:
        """Return them as `profiles` does; what cannot be used is noted. Raises Unread for none."""
        return self.once("usable profiles", "profiles", self._judge_profiles)

    def _judge_profiles(self) -> ProfilesRead:
        read, unknown = self.profiles(), "what pods would get today is unknown"
        for name in sorted(read.unusable):
            where = f"{PROFILE_KIND} {name}"
            faults = "; ".join(fault.message for fault in read.faults if fault.where == where)
            self.note(where, f"cannot be used ({faults}), so {unknown} of its pods")
        try:
            read.known()
        except InputError as error:
            raise Unread("profiles", f"{error}; {unknown}; name a file by --profiles") from None
        return read

    def device_offers(self, resource: str = "") -> DeviceOffers:
        """Return what drivers give by claims (DRA), as far as it can be read.

        ResourceSlices are read where a class gives the *resource*, or any if it is empty: each
        node has some of up to 100 kB.
        """
        try:
            found = self.list_all(DEVICE_CLASSES, read_device_class)
        except Unread:
            return DeviceOffers(None, None)
        if not any(not resource or each.gives(resource) for each in found):
            return DeviceOffers(found)
        try:
            return DeviceOffers(found, frozenset(self.list_all(DEVICE_SLICES, read_driver)))
        except Unread:
            return DeviceOffers(found, None)

    def pods(self, selector: str = "") -> tuple[Object, ...]:
        """Return the pods, those that *selector* chooses if it is not empty."""
        return self.list_all(PODS.select(labels=selector), whole, self.namespace, partly=True)

    def pod(self, name: str) -> Object | None:
        """Return a pod of the snapshot's namespace."""
        return self.find(PODS, (self.namespace, name), whole)

    def log(self, pod: Object, container: str, most: int, *, previous: bool = False) -> bytes:
        """Return the first *most* bytes of a container's log. Raises Unavailable."""
        query = {"container": container, "limitBytes": str(most)}
        answer = self.connection.request(
            "GET",
            f"{PODS.object_path(object_key(pod))}/log",
            query={**query, "previous": "true"} if previous else query,
            headers={"Accept": "application/json, */*"},
            timeout=REQUEST_SECONDS,
            most_bytes=2 * most,
        )
        return answer.expect(200).body[:most]

    def labels(self) -> Mapping[str, Mapping[str, str]]:
        """Return the labels of the snapshot's namespace, or of all but those that end, by name."""
        if not self.namespace:
            return dict(self.list_all(NAMESPACES, _live_labels, partly=True))
        found = self.find(NAMESPACES, ("", self.namespace), _labels)
        return {} if found is None else {self.namespace: found}

    def events(self, namespace: str) -> Sequence[Object]:
        """Return the Warnings of a namespace, and what Volcano says of PodGroups."""
        return [event for chosen in _WARNINGS for event in self.of(namespace, chosen)]

    def workloads(self, namespace: str) -> Sequence[Object] | None:
        """Return Kueue's unfinished Workloads of a namespace; None where Kueue is not installed."""
        what = WORKLOADS.name
        ask = partial(self.reader.preferred_version, WORKLOADS.group)
        if not (group := self.once(what, what, ask)):
            return None
        resource = WORKLOADS.at(group)
        if self.list_optional(resource, _unfinished, self.namespace, partly=True) is None:
            problem = f"{group} serves no {what}; is Kueue installed as a whole?"
            raise Unread(what, problem)
        return self.of(namespace, resource, _unfinished)

    def by_key(self, resource: Resource) -> Mapping[Key, Object] | None:
        """Return objects by namespace and name; None where the API has no such kind."""
        found = self.list_optional(resource, whole, self.namespace, partly=True)
        return None if found is None else {object_key(each): each for each in found}

    def network(self, namespace: str, name: str) -> Object | None:
        """Return a NetworkAttachmentDefinition; None where there is none. Unread is noted too."""
        key = (namespace, name)
        try:
            ask = partial(self._read_network, key)
            return self.once((NETWORKS, key), f"network {key_text(key)}", ask)
        except Unread as unread:
            self.note(unread.what, unread.problem)
            raise

    def _read_network(self, key: Key) -> Object | None:
        found = self.reader.find(NETWORKS, key, whole)
        if text := ((found or {}).get("spec") or {}).get("config"):
            try:
                json.loads(text)
            except (ValueError, RecursionError) as error:
                self.broken_networks[key] = str(error)
        return found

    @cached_property
    def world(self) -> World:
        """Answer what admission asks; raise Unavailable for what was not read.

        Networks with a broken configuration count as unread. Those that may not be read are taken
        to exist and to give addresses, as in a dry run.
        """
        labels = self.labels()

        def namespace(name: str) -> Namespace | None:
            if name not in labels:
                raise Unavailable(f"namespace {name} was not read")
            return Namespace(name, labels[name])

        def network(space: str, name: str) -> NetworkDefinition | None:
            found = self.network(space, name)
            if (space, name) in self.broken_networks:
                raise Unavailable(f"network {space}/{name} cannot be used")
            return None if found is None else define_network(found)

        return PermittedWorld(View(namespace, namespace, network))


def _labels(namespace: Object) -> Mapping[str, str]:
    return namespace["metadata"].get("labels") or {}


def _live_labels(namespace: Object) -> tuple[str, Mapping[str, str]] | None:
    metadata = namespace["metadata"]
    return None if metadata.get("deletionTimestamp") else (metadata["name"], _labels(namespace))


def _unfinished(workload: Object) -> Object | None:
    conditions = (workload.get("status") or {}).get("conditions") or ()
    ended = [each for each in conditions if each.get("type") == "Finished"]
    return None if any(each.get("status") == "True" for each in ended) else workload


Rule = Callable[..., Iterator[Finding]]
"""``rule(snapshot)`` of check, ``rule(snapshot, job)`` of explain: yield what is found."""


def run(rules: Sequence[Rule], snapshot: Snapshot, *job: Any) -> list[Finding]:
    """Return what the rules find, in their order, then a warning for each thing not read.

    Several rules run at a time, since each may wait for the API server.
    """
    parts = at_once([partial(ask, rule, snapshot, *job) for rule in rules])
    found = [finding for part in parts for finding in part]
    return [*found, *(unread.finding() for unread in snapshot.unread())]


def ask(rule: Rule, snapshot: Snapshot, *job: Any) -> list[Finding]:
    """Return what a rule finds; what it cannot read ends it, and is noted."""
    found = []
    try:
        for finding in rule(snapshot, *job):
            found.append(finding)  # noqa: PERF402  # what came before Unread counts
    except Unread as unread:
        snapshot.note(unread.what, unread.problem)
    return found


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Return what the calls return, in their order, several made at a time; raise the first error.

    The threads are daemons: who interrupts a command waits for no silent server.
    """
    futures: list[Future[T]] = [Future() for _ in calls]
    left: SimpleQueue[tuple[Future[T], Callable[[], T]]] = SimpleQueue()
    for pair in zip(futures, calls, strict=True):
        left.put(pair)
    for _ in range(min(AT_A_TIME, len(calls))):
        threading.Thread(target=_work, args=(left,), name="read", daemon=True).start()
    return [future.result() for future in futures]


def _work(left: SimpleQueue[tuple[Future[T], Callable[[], T]]]) -> None:
    while True:
        try:
            future, call = left.get_nowait()
        except Empty:
            return
        try:
            future.set_result(call())
        except BaseException as error:  # whoever asks for the result gets it
            future.set_exception(error)
