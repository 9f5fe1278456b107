"""Keep the ResourceClaimTemplates that pods name by their profiles' claims.

They are made at once, and removed when nobody needs them any more. A template's content cannot be
changed, and another content has another name. So one that is there is right, and a missing one is
applied again and again. One that somebody made with our labels and another content stays; `check`
names it.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from sys import intern
from typing import Any

from webhook.control.leader_loop import LeaderLoop
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
from webhook.kube.catalogue import CLAIMS_V1, PODS, RESOURCE_CLAIM_TEMPLATES, UNFINISHED
from webhook.kube.connection import WRITE_SECONDS, Connection, RequestFailed, Response
from webhook.kube.informer import Informer
from webhook.kube.resource import Key, key_text

log = logging.getLogger(__name__)

OURS = RESOURCE_CLAIM_TEMPLATES.metadata.select(labels=f"{MANAGED_BY}={MANAGER},{names.CLAIM}")
NAMING_PODS = PODS.select(labels=names.CLAIMS, fields=UNFINISHED)
UNNEEDED_SECONDS = 600.0
"""How long a template stays that nobody needs: a job's pods may come one after the other."""
FOLLOWER_SECONDS = 0.5
PERIOD_SECONDS = 60.0
"""How long until all is judged again if nothing changes."""
MOST_NAMED = 16
"""How many templates of one pod are kept: its author may write ten thousand names into it."""


class ClaimTemplates(LeaderLoop):
    """Follow templates and the pods that name them; make and remove templates, in a thread.

    All of it only while *may_write*. *namespaces* gives the profile that each labelled namespace
    names, None while they are not known. *own_namespace*: its pods are never sent to the webhook.
    """

    fault = "ResourceClaimTemplates are not kept"
    most_pause_seconds = 10.0

    def __init__(
        self,
        connection: Connection,
        may_write: Callable[[], bool],
        namespaces: Callable[[], Mapping[str, str] | None],
        *,
        own_namespace: str = "",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(may_write, monotonic)
        self._connection, self._namespaces = connection, namespaces
        self._never = (*NEVER_REACHED, own_namespace)
        listen: Any = {"on_change": self.wake, "on_listed": self.wake, "monotonic": monotonic}
        self._templates = Informer(connection, OURS, _read_uid, **listen)
        self._pods = Informer(connection, NAMING_PODS, _read_pod, **listen)
        self._put: Mapping[str, Profile | None] | None = None
        self._profiles: dict[str, Profile] = {}
        self._unneeded: dict[Key, float] = {}

    def lost(self) -> None:
        """Count the time of templates that nobody needs again from when this replica leads."""
        self._unneeded.clear()

    def put(self, profiles: Mapping[str, Profile | None]) -> None:
        """Put the profiles in force; any thread may call it.

        Of one whose content cannot be used, None, the last one counts.
        """
        self._put = profiles
        self.wake()

    def turn(self) -> float:
        """Make and remove what is to be."""
        profiles, namespaces = self._put, self._namespaces()
        if profiles is None or namespaces is None:
            return FOLLOWER_SECONDS
        present = {name: each or self._profiles.get(name) for name, each in profiles.items()}
        self._profiles = {name: each for name, each in present.items() if each is not None}
        if not self.watches:  # a replica that never led asks for nothing
            self.watch(self._templates, self._pods)
        if not self._templates.installed and any(each.claims for each in self._profiles.values()):
            raise RequestFailed(CLAIMS_UNSERVED, 404, PERIOD_SECONDS)
        if not (self._templates.synced and self._pods.synced):
            return FOLLOWER_SECONDS
        reached = {name: profile for name, profile in namespaces.items() if name not in self._never}
        self.do_each(self._writes(reached))
        return PERIOD_SECONDS

    def _writes(self, reached: Mapping[str, str]) -> Iterator[Callable[[], None]]:
        """Yield what makes the templates that are wanted, and removes those that nobody needs.

        *reached*: the namespaces whose pods the webhook is sent, and the profile of each.
        """
        there = self._templates.items.copy()
        named = {
            (space, name)
            for (space, _), each in self._pods.items.copy().items()
            if space not in self._never
            for name in each
        }
        wanted = wanted_templates(self._profiles.values(), reached, named)
        # a webhook serves on with a profile that was deleted
        known = ("", names.PROFILE_NONE, *self._profiles)
        now = self._monotonic()
        self._unneeded = {
            key: self._unneeded.get(key, now)
            for key in there
            if key not in wanted and key not in named and reached.get(key[0], "") in known
        }
        for key, claim in wanted.items():
            if key not in there:
                yield partial(self._make, key, claim)
        for key, since in self._unneeded.items():
            if now - since >= UNNEEDED_SECONDS:
                yield partial(self._remove, key, there[key])

    def _make(self, key: Key, claim: ProfileClaim) -> None:
        apply_template(self._connection, key[0], claim).expect(200, 201)
        log.info("ResourceClaimTemplate %s: made", key_text(key))

    def _remove(self, key: Key, uid: str) -> None:
        """Remove the template of this *uid*; one that is gone, or another by now, is no failure."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
        path = RESOURCE_CLAIM_TEMPLATES.object_path(key)
        response = self._connection.request("DELETE", path, body=body, timeout=WRITE_SECONDS)
        response.expect(200, 202, 404, 409)
        log.info("ResourceClaimTemplate %s: removed, since nobody needs it", key_text(key))


def apply_template(
    connection: Connection, namespace: str, claim: ProfileClaim, **query: str
) -> Response:
    """Apply the template of a claim. Raises RequestFailed where no answer comes."""
    return connection.patch(
        RESOURCE_CLAIM_TEMPLATES.object_path((namespace, template_name(claim))),
        {"apiVersion": CLAIMS_V1.removeprefix("/apis/"), **make_template(namespace, claim)},
        "apply-patch+yaml",
        query={"fieldManager": MANAGER, "force": "true", **query},
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
