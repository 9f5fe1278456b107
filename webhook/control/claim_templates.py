"""Keep the ResourceClaimTemplates that pods name by their profiles' claims: made at once, removed when nobody needs them any more.

Create and delete only: a template's content cannot be changed, and another content has another name. What is not ours, by its labels
and content, is left alone. All are owned by the webhook's configuration, so that they go with it when the program is uninstalled.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from itertools import islice
from sys import intern
from typing import NamedTuple, TypeVar

from webhook.core import names
from webhook.core.claim_templates import (
    CLAIMS_UNSERVED,
    MANAGED_BY,
    MANAGER,
    is_ours,
    is_template_name,
    is_true,
    make_template,
    stored_spec,
)
from webhook.core.cluster.demand import NEVER_REACHED
from webhook.core.model import Object
from webhook.core.profiles import Profile
from webhook.core.reconcile.claim_templates import TemplateContent, TemplateUpkeep
from webhook.kube.catalogue import PODS, RESOURCE_CLAIM_TEMPLATES, UNFINISHED, WEBHOOK_CONFIGURATIONS
from webhook.kube.claims_api import ClaimsApi
from webhook.kube.connection import Connection, RequestFailed, Response
from webhook.kube.reader import Reader, whole
from webhook.kube.reflector import Reflector
from webhook.kube.resource import Key, Resource, key_text

log = logging.getLogger(__name__)

OURS = RESOURCE_CLAIM_TEMPLATES.metadata.select(labels=f"{MANAGED_BY}={MANAGER},{names.CLAIM}")
"""Metadata alone: in the content of one anybody may write what no reader takes, and it would hide the others."""
NAMING_PODS = PODS.select(labels=names.CLAIMS, fields=UNFINISHED)
FOLLOWER_SECONDS = 0.5
SETTLE_SECONDS = 0.05
"""What changes within it is judged at once."""
PERIOD_SECONDS = 60.0
"""How long until all is judged anew, whatever happened."""
REQUEST_SECONDS = 4.0
"""Timeout of one request: it has ended before another leader may write."""
LEAST_BACKOFF_SECONDS = 1.0
MOST_BACKOFF_SECONDS = 60.0
"""Pause of a template that could not be made; it grows to this. The others of its namespace do not wait for it."""
MOST_LOOKS = 50
"""How many contents are looked at in one turn; a template's content never changes, so that each is looked at once."""
MADE_SECONDS = 10.0
"""How long one that was made counts as there, until the watch has brought it."""
STOP_SECONDS = 0.5
MOST_NAMED = 16
"""How many templates of one pod are kept: its author may write ten thousand names into it, of a megabyte."""
MOST_TOLD = 1000
"""How many complaints are remembered, so that they are not logged again."""
_FOREIGN = " than its name says, and pods get other devices by it; delete it, and it is made anew"

T = TypeVar("T")


class TemplateSeen(NamedTuple):
    """Hold what is kept of a template."""

    uid: str


class _Watched(NamedTuple):
    """Hold what is watched, in one version of the API: *ours*, and all templates as they are asked for by name."""

    ours: Resource
    templates: Reflector[TemplateSeen]
    pods: Reflector[frozenset[str]]

    @property
    def whole(self) -> Resource:
        return RESOURCE_CLAIM_TEMPLATES.at(self.ours.group)

    def stop(self) -> None:
        self.templates.stop()
        self.pods.stop()


class _Rest(NamedTuple):
    """Hold until when a template is left alone, in monotonic seconds, after so many failures."""

    until: float
    failures: int


class ClaimTemplates:
    """Follow templates and the pods that name them, and make and remove templates, in a thread; all of it only while *may_write*.

    *namespaces* gives the profile that each labelled namespace names, None while they are not known. *owner*: the name of the
    MutatingWebhookConfiguration; without it none is made. *own_namespace*: its pods are never sent to the webhook.
    """

    def __init__(
        self,
        connection: Connection,
        may_write: Callable[[], bool],
        namespaces: Callable[[], Mapping[str, str] | None],
        *,
        owner: str = names.WEBHOOK_CONFIGURATION,
        own_namespace: str = "",
        on_restart: Callable[[str, str], None] = lambda _resource, _reason: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection, self._leads, self._namespaces, self._owner = connection, may_write, namespaces, owner
        self._never = (*NEVER_REACHED, own_namespace)
        self._on_restart, self._monotonic = on_restart, monotonic
        self._reader = Reader(connection, REQUEST_SECONDS)
        self._api = ClaimsApi(self._reader, monotonic)
        self._upkeep = TemplateUpkeep()
        self._put: Mapping[str, Profile | None] | None = None
        self._watched: _Watched | None = None
        self._made: dict[Key, tuple[str, float]] = {}
        self._true: dict[str, bool] = {}
        self._resting: dict[Key, _Rest] = {}
        self._told: dict[str, str] = {}
        self._stopped, self._woken, self._writing = threading.Event(), threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._run, name="claim-templates", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End it, once a write that is under way has ended."""
        self._stopped.set()
        self._woken.set()
        if self._writing.acquire(timeout=REQUEST_SECONDS):
            self._writing.release()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)
        self._unwatch()

    def wake(self) -> None:
        """Judge anew soon: labels of namespaces have changed. Any thread may call it."""
        self._woken.set()

    def put(self, profiles: Mapping[str, Profile | None]) -> None:
        """Put the profiles in force; None: the content of that one cannot be used. Any thread may call it."""
        self._put = profiles
        self._woken.set()

    def turn(self) -> float:
        """Make and remove what is to be; return the seconds until the next time, if nothing changes before. Raises RequestFailed."""
        profiles, namespaces = self._put, self._namespaces()
        if profiles is None or namespaces is None:
            return FOLLOWER_SECONDS
        watched = self._watch(profiles)
        if watched is None:
            return PERIOD_SECONDS
        if not (watched.templates.synced and watched.pods.synced):
            return FOLLOWER_SECONDS
        self._upkeep.put(profiles)
        reached = {name: profile for name, profile in namespaces.items() if name not in self._never}
        seen = {key: each.uid for key, each in watched.templates.items.copy().items()}
        now = self._monotonic()
        for key, (_, until) in list(self._made.items()):
            if until <= now:
                self._made.pop(key, None)
        there = {key: uid for key, (uid, _) in list(self._made.items())} | seen
        named = [
            (namespace, name)
            for (namespace, _), claimed in watched.pods.items.copy().items()
            for name in claimed
            if namespace not in self._never
        ]
        work = self._upkeep.next(reached, named, there, now)
        self._resting = {each: rest for each, rest in self._resting.items() if rest.until > now - MOST_BACKOFF_SECONDS}
        waits = [work.seconds or PERIOD_SECONDS, PERIOD_SECONDS]
        self._make(watched, [key for key in work.make if not self._rests(key)])
        known = {key: uid for key, uid in there.items() if self._upkeep.content(key[1]) is not None}
        if self._look(watched, known) or self._remove(watched, {key: there[key] for key in work.remove}):
            waits.append(FOLLOWER_SECONDS)
        waits += [rest.until - now for rest in self._resting.values() if rest.until > now]
        live = {*there.values(), *(uid for uid, _ in list(self._made.values()))}
        self._true = {uid: each for uid, each in self._true.items() if uid in live}
        return max(SETTLE_SECONDS, min(waits))

    def _run(self) -> None:
        seconds = 0.0
        failures = 0
        while not self._stopped.is_set():
            self._woken.wait(seconds)
            if not self._may_write():
                self._unwatch()
                self._stopped.wait(FOLLOWER_SECONDS)
                seconds = 0.0
                continue
            self._stopped.wait(SETTLE_SECONDS)
            self._woken.clear()
            try:
                seconds = self.turn()
                failures = 0
                self._told.pop("", None)
            except RequestFailed as error:
                self._log_once("", f"ResourceClaimTemplates are not kept: {error}; trying again")
                seconds = max(error.retry_after_seconds, min(MOST_BACKOFF_SECONDS, 2.0**failures))
                failures = min(failures + 1, 10)
                self._stopped.wait(seconds)  # what wakes would fail too
                seconds = 0.0
            except Exception as error:  # the next turn may go better
                self._log_once("", f"ResourceClaimTemplates are not kept: internal error: {error!r}", exc_info=True)
                self._stopped.wait(MOST_BACKOFF_SECONDS)
                seconds = 0.0

    def _may_write(self) -> bool:
        return not self._stopped.is_set() and self._leads()

    def _watch(self, profiles: Mapping[str, Profile | None]) -> _Watched | None:
        """Watch in the version that the cluster serves; None where it serves none. Raises RequestFailed."""
        ours = self._api.served(OURS)
        if ours is None:
            self._unwatch()
            if any(profile is not None and profile.claims for profile in profiles.values()):
                self._log_once("api", f"no ResourceClaimTemplate is made: {CLAIMS_UNSERVED}")
            return None
        if self._watched is not None and self._watched.ours != ours:
            self._unwatch()
        if self._watched is None:
            self._watched = _Watched(
                ours,
                self._reflector(ours, _read_template, self._template_changed),
                self._reflector(NAMING_PODS, _read_pod, lambda _key, _value: self._woken.set()),
            )
            self._watched.templates.start()
            self._watched.pods.start()
        return self._watched

    def _template_changed(self, key: Key, _value: TemplateSeen | None) -> None:
        self._made.pop(key, None)  # the watch has brought it, or its end
        self._woken.set()

    def _reflector(
        self,
        resource: Resource,
        read: Callable[[Object], T | None],
        on_change: Callable[[Key, T | None], None],
    ) -> Reflector[T]:
        return Reflector(
            self._connection,
            resource,
            read,
            on_change=on_change,
            on_listed=self._woken.set,
            on_restart=self._on_restart,
            monotonic=self._monotonic,
        )

    def _unwatch(self) -> None:
        if self._watched is not None:
            self._watched.stop()
        self._watched = None

    def _make(self, watched: _Watched, keys: list[Key]) -> None:
        owner = self._find_owner() if keys else None
        if keys and owner is None:
            self._log_once(
                "owner", f"no ResourceClaimTemplate is made: there is no MutatingWebhookConfiguration {self._owner}"
            )
        for key in keys if owner is not None else ():
            content = self._upkeep.content(key[1])
            if content is not None:
                self._make_one(watched, key, content, owner)

    def _make_one(self, watched: _Watched, key: Key, content: TemplateContent, owner: Object | None) -> None:
        made = make_template(*key, content.claim, content.spec, owner)
        body = {"apiVersion": watched.ours.group.removeprefix("/apis/"), **made}
        until = self._monotonic() + MADE_SECONDS
        self._made[key] = "", until  # before it is there: the watch may bring it, and its end, ahead of the answer
        try:
            response = self._send(key, "made", "POST", watched.ours.path_in(key[0]), body)
        finally:
            awaited = self._made.pop(key, None) is not None
        if response is None:
            return
        if response.status == 201:
            uid = str((response.json().get("metadata") or {}).get("uid") or "")
            if awaited:
                self._made[key] = uid, until
            self._true[uid] = True
            self._resting.pop(key, None)
            self._told.pop(key_text(key), None)
            log.info("ResourceClaimTemplate %s: made for profile %s", key_text(key), content.profile)
        elif response.status == 409:
            self._fail(key, self._what_is_there(watched, key))
        else:
            self._fail(key, f"is not made: {response.problem}")

    def _send(self, key: Key, done: str, method: str, path: str, body: Object) -> Response | None:
        """Write, where this replica may; None where there is no answer. Raises RequestFailed where no other would have one either."""
        with self._writing:
            if not self._may_write():
                return None
            try:
                return self._connection.request(method, path, body=body, timeout=REQUEST_SECONDS)
            except RequestFailed as error:
                if error.is_unconnected:
                    raise
                self._fail(key, f"is not {done}: {error}", error.retry_after_seconds)
                return None

    def _what_is_there(self, watched: _Watched, key: Key) -> str:
        """Say what has the name of a template that is to be made, and is none of ours by its labels."""
        truth = self._content_is_true(watched, key)
        if truth is None:
            return "was there a moment ago; trying again"
        if truth:
            return f"is there without its labels {MANAGED_BY} and {names.CLAIM}: it is used, and never removed"
        return f"is there with another content{_FOREIGN}"

    def _content_is_true(self, watched: _Watched, key: Key) -> bool | None:
        """Tell whether a template holds what its name says; None where there is none. Raises RequestFailed."""
        content = self._upkeep.content(key[1])
        try:
            found = self._reader.find(watched.whole, key, whole)
        except RequestFailed as error:
            if error.status != 200:
                raise
            return False  # it cannot be read, and what we make can
        if found is None:
            return None
        spec = found.get("spec")
        return bool(stored_spec(spec) == content.spec) if content is not None else is_true(key[1], spec)

    def _look(self, watched: _Watched, known: Mapping[Key, str]) -> bool:
        """Look at the contents that were not looked at; tell whether some are left for the next turn."""
        new = [(key, uid) for key, uid in known.items() if uid not in self._true]
        for key, uid in new[:MOST_LOOKS]:
            truth = self._content_is_true(watched, key)
            if truth is None:
                continue
            self._true[uid] = truth
            if not truth:
                text = f"ResourceClaimTemplate {key_text(key)} was made by somebody with another content{_FOREIGN}"
                self._log_once(key_text(key), text)
        return len(new) > MOST_LOOKS

    def _remove(self, watched: _Watched, unneeded: Mapping[Key, str]) -> bool:
        """Remove those that hold what their name says; tell whether some are left for the next turn."""
        due = {key: uid for key, uid in unneeded.items() if self._true.get(uid, True) and not self._rests(key)}
        for key, uid in list(due.items())[:MOST_LOOKS]:
            if uid not in self._true and (truth := self._content_is_true(watched, key)) is not None:
                self._true[uid] = truth
            if self._true.get(uid):
                body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
                response = self._send(key, "removed", "DELETE", watched.whole.object_path(key), body)
                if response is not None and response.status in (200, 202):
                    log.info("ResourceClaimTemplate %s: removed, since nobody needs it", key_text(key))
                elif response is not None and response.status not in (404, 409):  # it is gone, or another one by now
                    self._fail(key, f"is not removed: {response.problem}")
        return len(due) > MOST_LOOKS

    def _find_owner(self) -> Object | None:
        found = self._reader.find(WEBHOOK_CONFIGURATIONS.metadata, ("", self._owner), whole)
        if found is None or found["metadata"].get("deletionTimestamp"):
            return None
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "name": self._owner,
            "uid": found["metadata"]["uid"],
        }

    def _rests(self, key: Key) -> bool:
        rest = self._resting.get(key)
        return rest is not None and rest.until > self._monotonic()

    def _fail(self, key: Key, why: str, after: float = 0.0) -> None:
        failures = self._resting[key].failures + 1 if key in self._resting else 0
        pause = min(MOST_BACKOFF_SECONDS, max(after, LEAST_BACKOFF_SECONDS * 2 ** min(failures, 10)))
        self._resting[key] = _Rest(self._monotonic() + pause, failures)
        self._log_once(key_text(key), f"ResourceClaimTemplate {key_text(key)} {why}")

    def _log_once(self, name: str, text: str, *, exc_info: bool = False) -> None:
        if text != self._told.get(name):
            log.warning("%s", text, exc_info=exc_info)
        self._told[name] = text
        while len(self._told) > MOST_TOLD:
            del self._told[next(iter(self._told))]


def _read_template(obj: Object) -> TemplateSeen | None:
    metadata = obj["metadata"]
    if metadata.get("deletionTimestamp") or not is_template_name(metadata["name"]):
        return None
    return TemplateSeen(str(metadata.get("uid") or ""))


def _read_pod(pod: Object) -> frozenset[str] | None:
    """Keep which templates of ours a pod names, by its spec, and no more of them than the webhook gives."""
    claims = (pod.get("spec") or {}).get("resourceClaims") or ()
    ours = (intern(each["resourceClaimTemplateName"]) for each in claims if is_ours(each))
    return frozenset(islice(ours, MOST_NAMED)) or None
