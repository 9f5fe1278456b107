"""Keep the ResourceClaimTemplates that pods name by their profiles' claims: made at once, removed when nobody needs them any more.

A template's content cannot be changed, and another content has another name: one that is there is right, and one that is not is applied
again and again. One that somebody made with our labels and another content stays; `check` tells of it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from itertools import islice
from sys import intern
from typing import Any, NamedTuple, TypeVar

from webhook.control.leader_loop import LeaderLoop
from webhook.core import names
from webhook.core.claim_templates import (
    CLAIMS_UNSERVED,
    MANAGED_BY,
    MANAGER,
    is_ours,
    is_template_name,
    make_template,
    wanted_templates,
)
from webhook.core.cluster.demand import NEVER_REACHED
from webhook.core.model import Object
from webhook.core.profiles import Profile, ProfileClaim
from webhook.kube.catalogue import PODS, RESOURCE_CLAIM_TEMPLATES, UNFINISHED
from webhook.kube.claims_api import ClaimsApi
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.informer import Informer
from webhook.kube.lease import WRITE_SECONDS
from webhook.kube.reader import Reader
from webhook.kube.resource import Key, Resource, key_text

log = logging.getLogger(__name__)

OURS = RESOURCE_CLAIM_TEMPLATES.metadata.select(labels=f"{MANAGED_BY}={MANAGER},{names.CLAIM}")
NAMING_PODS = PODS.select(labels=names.CLAIMS, fields=UNFINISHED)
UNNEEDED_SECONDS = 600.0
"""How long a template stays that nobody needs: the pods of a job may come one after the other."""
FOLLOWER_SECONDS = 0.5
PERIOD_SECONDS, RETRY_SECONDS = 60.0, 10.0
"""How long until all is judged again if nothing changes; where something could not be done."""
MOST_NAMED = 16
"""How many templates of one pod are kept: its author may write ten thousand names into it, of a megabyte."""
_APPLY = {"Content-Type": "application/apply-patch+yaml"}
_GONE = (404, 409)
"""Answers to a DELETE of what is gone, or is another one by now."""

T = TypeVar("T")


class _Watched(NamedTuple):
    """Hold what is watched: *ours*, templates in the version that is served, by uid, and the pods that name any."""

    ours: Resource
    templates: Informer[str]
    pods: Informer[frozenset[str]]


class ClaimTemplates:
    """Follow templates and the pods that name them, and make and remove templates, in a thread; all of it only while *may_write*.

    *namespaces* gives the profile that each labelled namespace names, None while they are not known. *own_namespace*: its pods are
    never sent to the webhook.
    """

    def __init__(
        self,
        connection: Connection,
        may_write: Callable[[], bool],
        namespaces: Callable[[], Mapping[str, str] | None],
        *,
        own_namespace: str = "",
        on_restart: Callable[[str, str], None] = lambda _resource, _reason: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection, self._namespaces = connection, namespaces
        self._never = (*NEVER_REACHED, own_namespace)
        self._on_restart, self._monotonic = on_restart, monotonic
        self._api = ClaimsApi(Reader(connection, WRITE_SECONDS), monotonic)
        self._put: Mapping[str, Profile | None] | None = None
        self._profiles: dict[str, Profile] = {}
        self._watched: _Watched | None = None
        self._unneeded: dict[Key, float] = {}
        self._told: Mapping[str, str] = {}
        self._loop = LeaderLoop(
            "claim-templates",
            self.turn,
            may_write,
            fault="ResourceClaimTemplates are not kept",
            on_lost=self._unwatch,
            most_pause_seconds=RETRY_SECONDS,
        )

    def start(self) -> None:
        """Start the thread."""
        self._loop.start()

    def stop(self) -> bool:
        """End it; tell whether no request is under way any more."""
        has_ended = self._loop.stop()
        self._unwatch()
        return has_ended

    def wake(self) -> None:
        """Judge again soon: labels of namespaces have changed. Any thread may call it."""
        self._loop.wake()

    def put(self, profiles: Mapping[str, Profile | None]) -> None:
        """Put the profiles in force; of one whose content cannot be used, None, the last one counts. Any thread may call it."""
        self._put = profiles
        self._loop.wake()

    def turn(self) -> float:
        """Make and remove what is to be; return the seconds until the next time, if nothing changes before. Raises RequestFailed."""
        profiles, namespaces = self._put, self._namespaces()
        if profiles is None or namespaces is None:
            return FOLLOWER_SECONDS
        present = {name: each or self._profiles.get(name) for name, each in profiles.items()}
        self._profiles = {name: each for name, each in present.items() if each is not None}
        watched = self._watch()
        if watched is None:
            return PERIOD_SECONDS
        if not (watched.templates.synced and watched.pods.synced):
            return FOLLOWER_SECONDS
        reached = {name: profile for name, profile in namespaces.items() if name not in self._never}
        pods = watched.pods.items.copy().items()
        named = {
            (space, name) for (space, _), each in pods if space not in self._never for name in each
        }
        there = watched.templates.items.copy()
        wanted = wanted_templates(self._profiles, reached, named)
        now = self._monotonic()
        known = (
            "",
            names.PROFILE_NONE,
            *self._profiles,
        )  # a webhook serves on with a profile that was deleted
        unneeded = [
            key
            for key in there
            if key not in wanted and key not in named and reached.get(key[0], "") in known
        ]
        self._unneeded = {key: self._unneeded.get(key, now) for key in unneeded}
        due = [key for key, since in self._unneeded.items() if now - since >= UNNEEDED_SECONDS]
        problems = {
            key: self._apply(watched, key, claim)
            for key, claim in wanted.items()
            if key not in there
        }
        problems |= {key: self._remove(watched, key, there[key]) for key in due}
        self._tell(
            {
                f"ResourceClaimTemplate {key_text(key)}": each
                for key, each in problems.items()
                if each
            }
        )
        return RETRY_SECONDS if self._told else PERIOD_SECONDS

    def _watch(self) -> _Watched | None:
        """Watch in the version that the cluster serves; None where it serves none. Raises RequestFailed."""
        ours = self._api.served(OURS)
        if self._watched is not None and self._watched.ours != ours:
            self._unwatch()
        if ours is None:
            if any(profile.claims for profile in self._profiles.values()):
                self._tell({"no ResourceClaimTemplate": f"is made: {CLAIMS_UNSERVED}"})
            return None
        if self._watched is None:
            self._watched = _Watched(
                ours, self._informer(ours, _read_uid), self._informer(NAMING_PODS, _read_pod)
            )
            self._watched.templates.start()
            self._watched.pods.start()
        return self._watched

    def _informer(self, resource: Resource, read: Callable[[Object], T | None]) -> Informer[T]:
        return Informer(
            self._connection,
            resource,
            read,
            on_change=lambda _key, _value: self._loop.wake(),
            on_listed=self._loop.wake,
            on_restart=self._on_restart,
            monotonic=self._monotonic,
        )

    def _unwatch(self) -> None:
        if self._watched is not None:
            self._watched.templates.stop()
            self._watched.pods.stop()
        self._watched = None

    def _apply(self, watched: _Watched, key: Key, claim: ProfileClaim) -> str:
        """Make the template of the *claim*; return why that fails."""
        body = {
            "apiVersion": watched.ours.group.removeprefix("/apis/"),
            **make_template(key[0], claim),
        }
        query = {"fieldManager": MANAGER, "force": "true"}
        return self._write(
            "made", "PATCH", watched.ours.object_path(key), body, query=query, headers=_APPLY
        )

    def _remove(self, watched: _Watched, key: Key, uid: str) -> str:
        """Remove the template of this *uid*; return why that fails."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
        return self._write("removed", "DELETE", watched.ours.object_path(key), body)

    def _write(self, done: str, method: str, path: str, body: Object, **how: Any) -> str:
        """Write, where this replica may; return why that fails. Raises RequestFailed where all others would fail too."""
        if not self._loop.may_write():
            return ""
        try:
            response = self._connection.request(
                method, path, body=body, timeout=WRITE_SECONDS, **how
            )
        except RequestFailed as error:
            if error.is_unconnected:
                raise
            return f"is not {done}: {error}"
        if response.status in (200, 201, 202):
            log.info("%s: %s", path, done)
        elif method != "DELETE" or response.status not in _GONE:
            return f"is not {done}: {response.problem}"
        return ""

    def _tell(self, problems: Mapping[str, str]) -> None:
        """Log each problem once, until it is over."""
        for subject, problem in problems.items():
            if self._told.get(subject) != problem:
                log.warning("%s %s", subject, problem)
        self._told = problems


def _read_uid(obj: Object) -> str | None:
    metadata = obj["metadata"]
    is_kept = is_template_name(metadata["name"]) and not metadata.get("deletionTimestamp")
    return str(metadata.get("uid") or "") if is_kept else None


def _read_pod(pod: Object) -> frozenset[str] | None:
    """Keep which templates of ours a pod names, by its spec, and no more of them than the webhook gives."""
    claims = (pod.get("spec") or {}).get("resourceClaims") or ()
    ours = (intern(each["resourceClaimTemplateName"]) for each in claims if is_ours(each))
    return frozenset(islice(ours, MOST_NAMED)) or None
