"""Answer for the page what dry-run, status, explain and check answer, with the caller's rights."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from webhook import __version__
from webhook.cli.dry_run_profiles import LOOKUP_SECONDS, assumed_networks, choose_profiles
from webhook.cli.explain import unread_at_once
from webhook.cli.input_files import read_profiles_file, read_profiles_option
from webhook.core import names
from webhook.core.errors import InputError
from webhook.core.model import Namespace, Object
from webhook.core.printable import printable
from webhook.diagnose.check import check, open_snapshot
from webhook.diagnose.collect import Target, read_all, read_job, read_profiles
from webhook.diagnose.explain.judge import explain
from webhook.diagnose.finding import count, grouped
from webhook.diagnose.snapshot import Snapshot, Unread
from webhook.diagnose.status.status import JobStatus, look_at_all
from webhook.dry_run import DryRun, dry_run, fit
from webhook.kube.catalogue import NAMESPACES
from webhook.kube.connection import Connection
from webhook.world.cluster import Cluster
from webhook.world.view import PermittedWorld, read_namespace

MOST_ROWS = 1_000
"""Jobs, or pods of one job, of an answer: nobody reads more. Those with problems come first."""


class PageAnswers:
    """Answer by the cluster of *connection*.

    *namespace* is the default one, None for the kubeconfig's. *profiles*: a file in place of the
    webhook's own. *system_namespace*: where fabric-injector is installed, None if nobody says.

    Any thread may call any method. Each raises InputError or Unavailable, with what to do.
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

    def judge(self, text: str, namespace: str | None, profile: str | None) -> DryRun:
        """Judge a manifest as `fabric-injector dry-run` does, by the profiles of this moment."""
        system, silent = self._system_namespace, lambda _: None  # `state` tells it
        known = choose_profiles(self._profiles, [], self._connection, system, tell=silent)
        world = PermittedWorld(Cluster(self._connection, lookup_seconds=LOOKUP_SECONDS))
        space = namespace or self.namespace
        run = dry_run(text, namespace=space, profile=profile, profiles=known, world=world)
        if not (warning := printable(assumed_networks(world))):
            return run
        pods = (replace(pod, warnings=(*pod.warnings, warning)) for pod in run.pods)
        return replace(run, pods=tuple(pods))

    def state(self) -> Object:
        """Return what the caller may read of profiles and namespaces, for the form.

        *local*: ``{"namespace": "research", "cluster": "server …"}``. *problems*: what could not be
        read, and why.
        """
        cluster = self._cluster("")
        namespaces: Sequence[Namespace] = ()
        try:
            namespaces = cluster.list_all(NAMESPACES, read_namespace, partly=True)
        except Unread as unread:
            cluster.note(unread.what, unread.problem)
        read = read_profiles(cluster)
        problems = [f"{each.what}: {each.problem}" for each in cluster.unread()]
        local = {"namespace": self.namespace, "cluster": self.title}
        known = read.known().profiles if read else ()
        answer: Object = fit(
            {**state_document(known, namespaces), "problems": problems, "local": local}
        )
        return answer

    def status(self, namespace: str | None) -> Object:
        """Return what `fabric-injector status` finds; *namespace* empty: in all of them.

        Shape: ``{"namespace", "jobs": [{"namespace", "name", "phase", "members", "waits",
        "address", "first": {…} or None}], "total", "failing", "unread": [{"what", "problem"}],
        "at": time}``.
        """
        space = self.namespace if namespace is None else namespace
        snapshot, jobs = read_all(self._cluster(space))
        found = look_at_all(snapshot, jobs)
        unread = unread_at_once([each.finding() for each in snapshot.unread])
        return fitted(
            {
                "namespace": space,
                "jobs": [_job(each) for each in found[:MOST_ROWS]],
                "total": len(found),
                "failing": sum(each.is_failing for each in found),
                "unread": [{"what": each.subject, "problem": each.message} for each in unread],
            }
        )

    def explain(self, namespace: str | None, name: str | None) -> Object:
        """Return what `fabric-injector explain job NAME` finds.

        Shape: that of ``explain -o json``, with ``"findings"``, ``"total"`` and ``"at"``.
        """
        if not name:
            raise InputError("name a job: job=NAME")
        cluster = self._cluster(namespace or self.namespace)
        found = explain(*read_job(cluster, Target("job", name)))
        told = found.as_json()
        return fitted(
            {
                **told,
                "findings": [each.as_json() for each in unread_at_once(found.findings)],
                "members": told["members"][:MOST_ROWS],
                "total": len(told["members"]),
            }
        )

    def check(self) -> Object:
        """Return what `fabric-injector check` finds, similar findings joined.

        Shape: ``{"systemNamespace", "findings": [{"level", "code", "topic", "subject", "message",
        "action", "means"}], "summary": {"fail": 0, …}, "at"}``.
        """
        path, space = self._profiles, self._given_namespace
        given = read_profiles_file(path) if path else None
        snapshot = open_snapshot(self._connection, system_namespace=space, given=given)
        found = check(snapshot)
        return fitted(
            {
                "systemNamespace": snapshot.system_namespace,
                "findings": [
                    {**each.as_json(), "means": each.code.means} for each in grouped(found)
                ],
                "summary": count(found),
            }
        )

    def _cluster(self, namespace: str) -> Snapshot:
        system, given = self._system_namespace, read_profiles_option(self._profiles)
        return Snapshot(self._connection, namespace, system_namespace=system, given=given)


def state_document(profiles: Iterable[str], namespaces: Iterable[Namespace]) -> Object:
    """Return what the form needs, by name.

    Shape: ``{"version", "namespaces": [{"name", "profile", "observed"}], "profiles": [{"name"}]}``.
    """
    spaces = [
        {
            "name": space.name,
            "profile": space.labels.get(names.PROFILE, ""),
            "observed": space.labels.get(names.MODE) == names.MODE_OBSERVE,
        }
        for space in sorted(namespaces, key=lambda each: each.name)
    ]
    listed = [{"name": name} for name in sorted(profiles)]
    return {"version": __version__, "problems": [], "namespaces": spaces, "profiles": listed}


def fitted(document: Object) -> Object:
    """Return the document as the page may show it, with the time."""
    found: Object = fit(document)
    return {**found, "at": datetime.now(UTC).isoformat(timespec="seconds")}


def _job(job: JobStatus) -> Object:
    keys = ("namespace", "name", "phase", "members", "waits", "address")
    cells = dict(zip(keys, job.cells(), strict=True))
    return {**cells, "first": job.first and job.first.as_json()}
