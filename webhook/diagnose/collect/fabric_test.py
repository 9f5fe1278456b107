"""Run a test of the fabric: create its Jobs, follow their pods, ask explain where something is wrong, and remove them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webhook.core.cluster.nodes import place_of, read_node, shown_taint
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.collect.job import Target, read_job
from webhook.diagnose.explain.explanation import explain
from webhook.diagnose.fabric_test.job import JOB_NAME, JobSettings, make_job
from webhook.diagnose.fabric_test.verdict import GroupResult, describe_progress, is_over, judge
from webhook.diagnose.finding import Finding
from webhook.kube.answer import RequestFailed
from webhook.kube.catalogue import DEPLOYMENTS, NODES, PODS
from webhook.kube.connection import Connection
from webhook.kube.reader import Reader, whole
from webhook.kube.resource import Resource
from webhook.world.profiles_read import ProfilesRead

JOBS = Resource("jobs", "/apis/batch/v1", namespaced=True)
_WEBHOOK = "fabric-injector-webhook"
_HOSTNAME = "kubernetes.io/hostname"
_PAUSE_SECONDS = 1.0
_LOOK_SECONDS = 15.0
"""How often explain is asked why pods are not created, or are on no node; more often where a test is to be short."""
_MOST_PAGES = 40


@dataclass(slots=True)
class _Group:
    """Follow one Job: the *nodes* it asks for, and what is known of its pods."""

    nodes: tuple[str, ...]
    name: str
    pods: tuple[Object, ...] = ()
    told: str = ""
    causes: tuple[Finding, ...] = ()
    """What explain said last while a pod was on no node: once the other rank has given up, its node takes this one too."""
    is_asked: bool = False
    result: GroupResult | None = None


class FabricTest:
    """Test groups of nodes in one namespace, a Job for each, with the rights of *connection*. *tell* gets a line for each step."""

    def __init__(
        self,
        connection: Connection,
        namespace: str,
        settings: JobSettings,
        *,
        system_namespace: str,
        profiles: ProfilesRead | None = None,
        tell: Callable[[str], None],
    ) -> None:
        self._connection = connection
        self._reader = Reader(connection)
        self._namespace = namespace
        self._settings = settings
        self._system_namespace = system_namespace
        self._profiles = profiles
        self._tell = tell

    def run(self, groups: Sequence[Sequence[str]], ranks: int) -> list[GroupResult]:
        """Test these groups at the same time, each of so many ranks, and remove the Jobs; raise Unavailable where nothing answers."""
        running = [_Group(tuple(nodes), f"fabric-test-{secrets.token_hex(4)}") for nodes in groups]
        try:
            for group in running:
                self._create(group, ranks)
            often = min(_LOOK_SECONDS, self._settings.seconds / 4)  # ranks give up after the half
            began = looked = time.monotonic()
            while left := [group for group in running if group.result is None]:
                now = time.monotonic()
                is_late = now - began > self._settings.seconds
                look, looked = (True, now) if now - looked > often else (False, looked)
                for group in left:
                    self._follow(group, ranks, is_late=is_late, look=look)
                time.sleep(_PAUSE_SECONDS)
        finally:
            for group in running:
                if group.is_asked:
                    self._remove(group)
        return [group.result for group in running if group.result is not None]

    def _create(self, group: _Group, ranks: int) -> None:
        job = make_job(group.name, group.nodes, ranks, self._settings)
        path = JOBS.path_in(self._namespace)
        group.is_asked = True  # an answer that does not come may still have made it
        answer = self._connection.request("POST", path, body=job)
        if answer.status != 201:
            group.is_asked = False
            lacks_right = answer.status == 403 and "cannot create resource" in answer.problem  # and no quota or policy
            needed = "; a test creates and deletes jobs.batch, and reads pods, in this namespace" if lacks_right else ""
            raise InputError(f"{answer.problem}{needed}")
        self._tell(f"{_title(group)}: Job {group.name} created")

    def _follow(self, group: _Group, ranks: int, *, is_late: bool, look: bool) -> None:
        selected = PODS.select(labels=f"{JOB_NAME}={group.name}")
        try:
            pages = self._reader.pages(selected, whole, self._namespace, most=1)
            group.pods = tuple(pod for page in pages for pod in page.objects)
        except RequestFailed as problem:
            if problem.is_refusal:
                raise InputError(f"{problem}; a test reads its pods: ask for get and list of pods") from None
            if not is_late:
                return
        told = describe_progress(group.pods, ranks)
        if told != group.told:
            self._tell(f"{_title(group)}: {told}")
            group.told = told
        placed = {_node_of(pod) for pod in group.pods} - {""}
        is_waiting = len(group.pods) < ranks or not all(map(_node_of, group.pods))
        if is_late or is_over(group.pods, ranks):
            result = judge(group.pods, ranks, group.nodes)
            if result.is_failing:
                is_known = bool(group.causes) and not is_waiting and len(placed) < ranks
                causes = group.causes if is_known else self._causes(group)
                result = judge(group.pods, ranks, group.nodes, causes)
            group.result = result
        elif look and is_waiting:
            group.causes = self._causes(group)
            if len(group.pods) < ranks and any(cause.level == "fail" for cause in group.causes):
                group.result = judge(group.pods, ranks, group.nodes, group.causes)

    def _causes(self, group: _Group) -> tuple[Finding, ...]:
        """Return what explain says is wrong with the Job; what it cannot read is a warning."""
        target = Target("job", group.name)
        try:
            reading = read_job(
                self._connection,
                target,
                self._namespace,
                profiles=self._profiles,
                system_namespace=self._system_namespace,
            )
        except (InputError, Unavailable) as problem:
            return (Finding("warn", Code.UNREAD, f"Job {group.name}", str(problem)),)
        return tuple(finding for finding in explain(reading).findings if finding.level != "ok")

    def _remove(self, group: _Group) -> None:
        """Delete the Job and its pods; where that fails, its deadline and its time to live do."""
        path = JOBS.object_path((self._namespace, group.name))
        try:
            answer = self._connection.request("DELETE", path, query={"propagationPolicy": "Background"})
            problem = "" if answer.status in (200, 202, 404) else answer.problem
        except Unavailable as unavailable:
            problem = str(unavailable)
        if problem:
            left = f"it ends by its deadline and goes a minute later, or by kubectl -n {self._namespace} delete job {group.name}"
            self._tell(f"{_title(group)}: Job {group.name} could not be deleted: {problem}; {left}")
        elif group.result is None:
            self._tell(f"{_title(group)}: Job {group.name} deleted before its end")


def _node_of(pod: Object) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")


def installed_image(connection: Connection, system_namespace: str) -> str:
    """Return the image that the webhook runs; raise InputError where it cannot be read."""
    hint = "name the image of the pods by --image"
    try:
        found = Reader(connection).find(DEPLOYMENTS, (system_namespace, _WEBHOOK), whole)
    except RequestFailed as problem:
        raise InputError(f"{problem}; {hint}") from None
    containers = (((found or {}).get("spec") or {}).get("template") or {}).get("spec", {}).get("containers") or ()
    image = next((each.get("image") for each in containers if each.get("image")), "")
    if not image:
        raise InputError(
            f"Deployment {system_namespace}/{_WEBHOOK}, whose image would be taken, does not exist; {hint}"
        )
    return str(image)


def schedulable_nodes(connection: Connection) -> list[str]:
    """Return the host names of the nodes that are ready, not cordoned, and without a taint that keeps pods out."""
    try:
        return [name for name, barrier in _barriers(connection) if not barrier]
    except RequestFailed as problem:
        raise InputError(f"{problem}; name the nodes by --nodes") from None


def describe_barriers(connection: Connection, nodes: Sequence[str]) -> list[str]:
    """Say which of these nodes keep pods out, as far as the caller may read nodes; raise InputError for one that does not exist."""
    try:
        found = dict(_barriers(connection))
    except RequestFailed:
        return []
    if unknown := [name for name in nodes if name not in found]:
        raise InputError(
            f"--nodes: no node has the label {_HOSTNAME}={unknown[0]}; kubectl get nodes -L {_HOSTNAME} shows those of all"
        )
    return [f"node {name} {found[name]}: its pod may stay Pending" for name in nodes if found[name]]


def _barriers(connection: Connection) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for page in Reader(connection).pages(NODES, _barrier, most=_MOST_PAGES):
        found = [*(() if page.is_first else found), *page.objects]
    return found


def _barrier(node: Object) -> tuple[str, str]:
    """Return the host name of a node, and what keeps pods from it; empty where nothing does."""
    offer = read_node(node)
    name = offer.labels.get(_HOSTNAME) or offer.name
    if offer.cordoned:
        return name, f"is cordoned; kubectl uncordon {offer.name} ends that"
    if offer.not_ready:
        return name, "is not Ready"
    if taints := place_of({}).untolerated(offer):
        listed = ", ".join(map(shown_taint, taints))
        return name, f"has the taint {listed}, which the pods of a test do not tolerate"
    return name, ""


def _title(group: _Group) -> str:
    return " and ".join(group.nodes) or group.name
