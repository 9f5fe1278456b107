"""Keep the ResourceClaimTemplates that pods name by their profiles' claims.

They are made at once, and removed when nobody needs them any more. A template's content cannot be
changed, and another content has another name: one that is there is right, and one that is not is
applied again and again. One that somebody made with our labels and another content stays; `check`
names it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from itertools import islice
from sys import intern

from webhook.control.leader_loop import LeaderLoop
from webhook.control.served import Served
from webhook.core import names
from webhook.core.claim_templates import (
    CLAIMS_UNSERVED,
    MANAGED_BY,
    MANAGER,
    is_ours,
    is_template_name,
    make_template,
    template_name,
    wanted_templates,
)
from webhook.core.cluster.demand import NEVER_REACHED
from webhook.core.model import Object
from webhook.core.profiles import Profile, ProfileClaim
from webhook.kube.catalogue import PODS, RESOURCE_CLAIM_TEMPLATES, UNFINISHED
from webhook.kube.connection import Connection, RequestFailed, Response
from webhook.kube.informer import Informer
from webhook.kube.lease import WRITE_SECONDS
from webhook.kube.resource import Key, Resource, key_text

log = logging.getLogger(__name__)

OURS = RESOURCE_CLAIM_TEMPLATES.metadata.select(labels=f"{MANAGED_BY}={MANAGER},{names.CLAIM}")
NAMING_PODS = PODS.select(labels=names.CLAIMS, fields=UNFINISHED)
UNNEEDED_SECONDS = 600.0
"""How long a template stays that nobody needs: a job's pods may come one after the other."""
FOLLOWER_SECONDS = 0.5
PERIOD_SECONDS, RETRY_SECONDS = 60.0, 10.0
"""How long until all is judged again if nothing changes; where something could not be done."""
MOST_NAMED = 16
"""How many templates of one pod are kept: its author may write ten thousand names into it."""


class ClaimTemplates:
    """Follow templates and the pods that name them; make and remove templates, in a thread.

    All of it only while *may_write*. *namespaces* gives the profile that each labelled namespace
    names, None while they are not known. *own_namespace*: its pods are never sent to the webhook.
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
        self._connection, self._namespaces, self._monotonic = connection, namespaces, monotonic
        self._never = (*NEVER_REACHED, own_namespace)
        self._loop = LeaderLoop(
            "claim-templates",
            self.turn,
            may_write,
            fault="ResourceClaimTemplates are not kept",
            on_lost=lambda: self._unneeded.clear(),
            most_pause_seconds=RETRY_SECONDS,
        )
        self._templates = Served(
            connection,
            OURS,
            _read_uid,
            on_change=self._changed,
            on_listed=self._loop.wake,
            on_restart=on_restart,
            monotonic=monotonic,
        )
        self._pods = Informer(
            connection,
            NAMING_PODS,
            _read_pod,
            on_change=self._changed,
            on_listed=self._loop.wake,
            on_restart=on_restart,
            monotonic=monotonic,
        )
        self._begun = False
        self._put: Mapping[str, Profile | None] | None = None
        self._profiles: dict[str, Profile] = {}
        self._unneeded: dict[Key, float] = {}
        self._told: Mapping[str, str] = {}

    def start(self) -> None:
        """Start the thread."""
        self._loop.start()

    def stop(self) -> bool:
        """End it; tell whether no request is under way any more."""
        has_ended = self._loop.stop()
        self._templates.stop()
        self._pods.stop()
        return has_ended

    def wake(self) -> None:
        """Judge again soon: labels of namespaces have changed. Any thread may call it."""
        self._loop.wake()

    def put(self, profiles: Mapping[str, Profile | None]) -> None:
        """Put the profiles in force; any thread may call it.

        Of one whose content cannot be used, None, the last one counts.
        """
        self._put = profiles
        self._loop.wake()

    def turn(self) -> float:
        """Make and remove what is to be; return the seconds until the next time.

        Raises RequestFailed.
        """
        profiles, namespaces = self._put, self._namespaces()
        if profiles is None or namespaces is None:
            return FOLLOWER_SECONDS
        present = {name: each or self._profiles.get(name) for name, each in profiles.items()}
        self._profiles = {name: each for name, each in present.items() if each is not None}
        templates = self._templates.follow()
        if templates is None:
            if any(profile.claims for profile in self._profiles.values()):
                self._tell({"no ResourceClaimTemplate": f"is made: {CLAIMS_UNSERVED}"})
            return PERIOD_SECONDS
        if not self._begun:
            self._begun = True
            self._pods.start()
        if not (templates.synced and self._pods.synced):
            return FOLLOWER_SECONDS
        reached = {name: profile for name, profile in namespaces.items() if name not in self._never}
        self._tell(self._keep(templates.resource, templates.items.copy(), reached))
        return RETRY_SECONDS if self._told else PERIOD_SECONDS

    def _keep(
        self, templates: Resource, there: Mapping[Key, str], reached: Mapping[str, str]
    ) -> dict[str, str]:
        """Make what is wanted, remove what nobody needs; return what fails, and why.

        *templates*: in the served version; those that are *there* by uid. *reached*: the namespaces
        whose pods the webhook is sent.
        """
        named = {
            (space, name)
            for (space, _), each in self._pods.items.copy().items()
            if space not in self._never
            for name in each
        }
        wanted = wanted_templates(self._profiles, reached, named)
        # a webhook serves on with a profile that was deleted
        known = ("", names.PROFILE_NONE, *self._profiles)
        now = self._monotonic()
        self._unneeded = {
            key: self._unneeded.get(key, now)
            for key in there
            if key not in wanted and key not in named and reached.get(key[0], "") in known
        }
        problems = {
            key: self._make(templates, key[0], claim)
            for key, claim in wanted.items()
            if key not in there
        }
        for key, since in self._unneeded.items():
            if now - since >= UNNEEDED_SECONDS:
                problems[key] = self._remove(templates, key, there[key])
        return {
            f"ResourceClaimTemplate {key_text(key)}": each for key, each in problems.items() if each
        }

    def _changed(self, _key: Key, _value: object) -> None:
        self._loop.wake()

    def _make(self, templates: Resource, namespace: str, claim: ProfileClaim) -> str:
        def send() -> Response:
            return apply_template(self._connection, templates, namespace, claim)

        return self._write("made", send, (200, 201))

    def _remove(self, templates: Resource, key: Key, uid: str) -> str:
        """Remove the template of this *uid*; one that is gone, or another by now, is no failure."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
        path = templates.object_path(key)

        def send() -> Response:
            return self._connection.request("DELETE", path, body=body, timeout=WRITE_SECONDS)

        return self._write("removed", send, (200, 202, 404, 409))

    def _write(self, done: str, send: Callable[[], Response], good: tuple[int, ...]) -> str:
        """Write, where this replica may; return why that fails.

        Raises RequestFailed where all others would fail too.
        """
        if not self._loop.may_write():
            return ""
        try:
            response = send()
        except RequestFailed as error:
            if error.is_unconnected:
                raise
            return f"is not {done}: {error}"
        if response.status not in good:
            return f"is not {done}: {response.problem}"
        log.info("%s: %s", response.request, done)
        return ""

    def _tell(self, problems: Mapping[str, str]) -> None:
        """Log each problem once, until it is over."""
        for subject, problem in problems.items():
            if self._told.get(subject) != problem:
                log.warning("%s %s", subject, problem)
        self._told = problems


def apply_template(
    connection: Connection, templates: Resource, namespace: str, claim: ProfileClaim, **query: str
) -> Response:
    """Apply the template of a claim, in the served version of *templates*. Raises RequestFailed."""
    version = templates.group.removeprefix("/apis/")
    return connection.request(
        "PATCH",
        templates.object_path((namespace, template_name(claim))),
        body={"apiVersion": version, **make_template(namespace, claim)},
        query={"fieldManager": MANAGER, "force": "true", **query},
        headers={"Content-Type": "application/apply-patch+yaml"},
        timeout=WRITE_SECONDS,
    )


def _read_uid(obj: Object) -> str | None:
    metadata = obj["metadata"]
    is_kept = is_template_name(metadata["name"]) and not metadata.get("deletionTimestamp")
    return str(metadata.get("uid") or "") if is_kept else None


def _read_pod(pod: Object) -> frozenset[str] | None:
    """Keep which templates of ours a pod names, and no more of them than the webhook gives."""
    claims = (pod.get("spec") or {}).get("resourceClaims") or ()
    ours = (intern(each["resourceClaimTemplateName"]) for each in claims if is_ours(each))
    return frozenset(islice(ours, MOST_NAMED)) or None
