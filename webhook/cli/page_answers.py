"""Answer for the page what dry-run, status, explain and check answer, by the same functions and with the caller's rights."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from webhook.cli.dry_run_profiles import LOOKUP_SECONDS, choose_profiles
from webhook.cli.explain import unread_at_once
from webhook.cli.input_files import read_profiles_option, read_text
from webhook.cli.unanswered import with_cluster
from webhook.core import names
from webhook.core.errors import InputError, Unavailable, WebhookError
from webhook.core.model import Object
from webhook.core.networks import define_network
from webhook.core.printable import printable
from webhook.core.profiles import Profiles
from webhook.diagnose import snapshot as diagnosed
from webhook.diagnose.check import check, open_snapshot
from webhook.diagnose.collect.collector import Collector
from webhook.diagnose.collect.jobs import Target, read_all, read_job, read_profiles
from webhook.diagnose.explain.judge import explain
from webhook.diagnose.finding import Finding, count, grouped
from webhook.diagnose.listing import Unread
from webhook.diagnose.snapshot import UNREAD
from webhook.diagnose.status.status import JobStatus, look_at_all
from webhook.diagnose.wording import listed
from webhook.dry_run import DryRun, dry_run
from webhook.kube.catalogue import NAMESPACES, NETWORKS, PODS, UNFINISHED
from webhook.kube.connection import Connection
from webhook.kube.resource import Key, Resource, key_text, object_key
from webhook.page.state import Snapshot, read_rank_zero, state_document
from webhook.world.cluster import Cluster
from webhook.world.profiles_read import ProfilesRead, read_file
from webhook.world.view import REFUSED, PermittedWorld, read_namespace

T = TypeVar("T")

MOST_PAGES = 40
_RANKS_ZERO = PODS.metadata.select(labels=f"{names.RENDEZVOUS}=master", fields=UNFINISHED)
MOST_ROWS = 1_000
"""Jobs, or pods of one job, that an answer holds: nobody reads more. Those in trouble come first."""
_LONGEST = 4_000
"""Letters of a line: an annotation or a message may have 250,000."""
_PATIENCE_SECONDS = 60.0
_BUSY = "the page still looks at the cluster for an earlier question: ask again in a moment"
_ELSEWHERE = "start fabric-injector page with --profiles FILE"


class PageAnswers:
    """Answer by the cluster of *connection*; *namespace*: the one that is meant where none is named, None for the kubeconfig's.

    *profiles*: a file in place of the webhook's own. *system_namespace*: where fabric-injector is installed, None where nobody says.

    All methods may be called from any thread. One of them lists objects at a time; those that come meanwhile wait. Each raises
    InputError or Unavailable, with what to do, and Unavailable too where it had to wait too long.
    """

    def __init__(
        self,
        connection: Connection,
        namespace: str | None,
        profiles: Path | None,
        system_namespace: str | None,
    ) -> None:
        self.title = printable(connection.title, limit=None)
        self.namespace = namespace or connection.namespace or "default"
        self._connection, self._profiles = connection, profiles
        self._given_namespace = system_namespace
        self._system_namespace = system_namespace or "fabric-injector"
        self._one_look = threading.Lock()

    def judge(self, text: str, namespace: str | None, profile: str | None) -> DryRun:
        """Judge a manifest as `fabric-injector dry-run` does: by the profiles and objects of this moment."""
        with self._told():
            known = choose_profiles(
                self._profiles,
                [],
                self._connection,
                self._system_namespace,
                tell=lambda _: None,  # `state` tells it
                elsewhere=_ELSEWHERE,
            )
            world = PermittedWorld(Cluster(self._connection, lookup_seconds=LOOKUP_SECONDS))
            run = dry_run(
                text,
                namespace=namespace or self.namespace,
                profile=profile,
                profiles=known,
                world=world,
            )
        if not world.assumed:
            return run
        named = printable(listed(sorted(map(key_text, world.assumed))), limit=None)
        warning = f"networks that you may not read are taken to exist, to give addresses and to name no device: {named}"
        pods = (
            replace(pod, warnings=(*pod.warnings, warning)) if pod.profile else pod
            for pod in run.pods
        )
        return replace(run, pods=tuple(pods))

    def state(self) -> Object:
        """Return what can be read of profiles, namespaces, networks and jobs, as ``state_document`` does.

        ``local`` names namespace and cluster: ``{"namespace": "research", "cluster": "server … of kubeconfig …"}``.
        """
        with (
            self._told(),
            self._look(),
            Collector(self._connection, most_pages=MOST_PAGES) as collector,
        ):
            spaces = collector.begin(lambda: self._held(collector, NAMESPACES, read_namespace))
            networks = collector.begin(lambda: self._held(collector, NETWORKS, define_network))
            masters = collector.begin(lambda: self._held(collector, _RANKS_ZERO, read_rank_zero))
            cluster = self._cluster("")
            read = read_profiles(cluster)
            held = Snapshot(spaces.result(), networks.result(), masters.result())
            profiles = read.profiles if read and read.profiles else Profiles()
            notes = [f"{each.what}: {each.problem}" for each in collector.notes()]
            notes += [f"{each.what}: {each.problem}" for each in cluster.unread()]
        document = state_document(profiles, held, notes)
        return fit({**document, "local": {"namespace": self.namespace, "cluster": self.title}})

    def status(self, namespace: str | None) -> Object:
        """Return what `fabric-injector status` finds; *namespace* empty: in all of them.

        Shape: ``{"namespace", "jobs": [{"namespace", "name", "phase", "members", "waits", "address", "first": {…} or None}], "total",
        "failing", "unread": [{"what", "problem"}], "at": time}``.
        """
        space = self.namespace if namespace is None else namespace
        with self._told(), self._look():
            snapshot, jobs = read_all(self._cluster(space))
            found = look_at_all(snapshot, jobs)
        return fit(
            {
                "namespace": space,
                "jobs": [_job(each) for each in found[:MOST_ROWS]],
                "total": len(found),
                "failing": sum(each.is_failing for each in found),
                "unread": [
                    {"what": each.subject, "problem": each.message}
                    for each in _unread(snapshot.unread)
                ],
                "at": _now(),
            }
        )

    def explain(self, namespace: str | None, name: str) -> Object:
        """Return what `fabric-injector explain job/NAME` finds.

        Shape: ``{"target", "namespace", "jobs": [key], "findings": [{"level", "code", "subject", "message", "action"}],
        "members": [row], "total", "at"}``; a row as ``explain -o json`` has it.
        """
        if not name:
            raise InputError("name a job: job=NAME")
        with self._told(), self._look():
            cluster = self._cluster(namespace or self.namespace)
            found = explain(*read_job(cluster, Target("job", name)))
        told = found.as_json()
        return fit(
            {
                **told,
                "findings": [each.as_json() for each in unread_at_once(found.findings)],
                "members": told["members"][:MOST_ROWS],
                "total": len(told["members"]),
                "at": _now(),
            }
        )

    def check(self) -> Object:
        """Return what `fabric-injector check` finds, alike findings joined.

        Shape: ``{"systemNamespace", "findings": [{"level", "code", "topic", "subject", "message", "action", "means"}], "summary":
        {"fail": 0, …}, "at"}``.
        """
        with self._told(), self._look():
            given = (
                read_file(str(self._profiles), read_text(self._profiles))
                if self._profiles
                else None
            )
            snapshot = open_snapshot(
                self._connection, system_namespace=self._given_namespace, given=given
            )
            found = check(snapshot)
        return fit(
            {
                "systemNamespace": snapshot.system_namespace,
                "findings": [
                    {**each.as_json(), "means": each.code.means} for each in grouped(found)
                ],
                "summary": count(found),
                "at": _now(),
            }
        )

    def _cluster(self, namespace: str) -> diagnosed.Snapshot:
        system, given = self._system_namespace, self._given()
        return diagnosed.Snapshot(self._connection, namespace, system_namespace=system, given=given)

    def _given(self) -> ProfilesRead | None:
        return read_profiles_option(self._profiles)

    def _held(
        self, collector: Collector, resource: Resource, read: Callable[[Object], T | None]
    ) -> dict[Key, T]:
        """Return what may be listed, by key: of all namespaces, else of the caller's own; what may not be is noted."""

        def keyed(obj: Object) -> tuple[Key, T] | None:
            value = read(obj)
            return None if value is None else (object_key(obj), value)

        try:
            return dict(collector.read_list(resource, keyed).items)
        except Unavailable as error:
            if REFUSED not in str(error):
                collector.note(resource.name, error)
                return {}
        if resource.namespaced:
            found = collector.list_part(resource.name, resource, keyed, self.namespace)
            items: Iterable[tuple[Key, T]] = found.items
            problem = found.problem
        else:
            one = collector.find_part(resource.name, resource, ("", self.namespace), keyed)
            items, problem = [one.value] if one.value else [], one.problem
        if not problem:
            told = f"you may not list those of all namespaces; those of {self.namespace} are shown"
            collector.unread.append(Unread(resource.name, told))
        return dict(items)

    @contextmanager
    def _look(self) -> Iterator[None]:
        if not self._one_look.acquire(timeout=_PATIENCE_SECONDS):
            raise Unavailable(_BUSY)
        try:
            yield
        finally:
            self._one_look.release()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say of a request without success which cluster was asked, and what to do."""
        try:
            yield
        except WebhookError as error:
            kind = Unavailable if isinstance(error, Unavailable) else InputError
            raise kind(_fit(with_cluster(str(error), self._connection.title))) from None


def fit(document: Object) -> Object:
    """Return a document whose texts have neither control characters nor what reorders others beside them."""
    found: Object = _fit(document)
    return found


def _fit(value: Any) -> Any:
    if isinstance(value, str):
        return "\n".join(printable(line, limit=_LONGEST) for line in value.split("\n"))
    if isinstance(value, dict):
        return {_fit(key): _fit(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_fit(each) for each in value]
    return value


def _job(job: JobStatus) -> Object:
    namespace, name, phase, members, waits, address = job.cells()
    told = {
        "namespace": namespace,
        "name": name,
        "phase": phase,
        "members": members,
        "waits": waits,
    }
    return {**told, "address": address, "first": job.first and job.first.as_json()}


def _unread(unread: Iterable[diagnosed.Unread]) -> Iterable[Finding]:
    """Return what could not be read as `explain` tells it: all that the caller may not read in one."""
    return unread_at_once(
        [Finding("warn", UNREAD, each.what, each.problem, each.remedy) for each in unread]
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
