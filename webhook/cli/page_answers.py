"""Answer for the page what dry-run, status, explain and check answer, with the caller's rights."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from webhook import __version__
from webhook.cli.inputs import assumed_networks, permitted_world, read_profiles
from webhook.cli.status import look_at
from webhook.core import names
from webhook.core.errors import InputError
from webhook.core.model import Namespace, Object
from webhook.core.printable import printable
from webhook.diagnose.check import check, open_snapshot
from webhook.diagnose.explain.job import Target, read_job
from webhook.diagnose.explain.judge import explain
from webhook.diagnose.finding import as_document, count, grouped
from webhook.diagnose.snapshot import Snapshot, Unread
from webhook.dry_run import DryRun, dry_run, fit
from webhook.kube.catalogue import NAMESPACES
from webhook.kube.connection import Connection
from webhook.world.view import read_namespace

MOST_ROWS = 1_000
"""Jobs, or pods of one job, of an answer: nobody reads more. Those with problems come first."""


class PageAnswers:
    """Answer by the cluster of *connection*, each time as it is then.

    *namespace* is the default one, None for the kubeconfig's. *profiles*: a file in place of the
    webhook's own. *system*: the namespace where fabric-injector is installed.

    Any thread may call any method. Each raises InputError or Unavailable, with what to do.
    """

    def __init__(
        self, connection: Connection, namespace: str | None, profiles: Path | None, system: str
    ) -> None:
        self.title = printable(connection.title, limit=None)
        self.namespace = namespace or connection.namespace
        self._connection, self._profiles, self._system = connection, profiles, system

    def judge(self, text: str, namespace: str | None, profile: str | None) -> DryRun:
        """Judge a manifest as `fabric-injector dry-run` does."""
        known = self._cluster("").profiles().known()  # `state` says what is left out
        world, space = permitted_world(self._connection), namespace or self.namespace
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
        read = cluster.readable(cluster.usable_profiles)
        document = state_document(read.known().profiles if read else (), namespaces)
        problems = [f"{each.what}: {each.problem}" for each in cluster.unread()]
        local = {"namespace": self.namespace, "cluster": self.title}
        return fitted({**document, "problems": problems, "local": local})

    def status(self, namespace: str | None) -> Object:
        """Return the document of ``status -o json``, and the time; *namespace* empty: of all."""
        space = self.namespace if namespace is None else namespace
        document = look_at(self._cluster(space)).as_json()
        return fitted({**document, "jobs": document["jobs"][:MOST_ROWS]})

    def explain(self, namespace: str | None, name: str | None) -> Object:
        """Return the document of ``explain job NAME -o json``, the number of pods and the time."""
        if not name:
            raise InputError("name a job: job=NAME")
        cluster = self._cluster(namespace or self.namespace)
        found = explain(cluster, read_job(cluster, Target("job", name)))
        document = {**found.as_json(), **as_document(found.findings)}
        members = document["members"]
        return fitted({**document, "members": members[:MOST_ROWS], "total": len(members)})

    def check(self) -> Object:
        """Return the document of ``check -o json``, similar findings joined, and the time.

        Each finding has *means* beside its code.
        """
        system, given = self._system, read_profiles(self._profiles, faulty=True)
        found = check(open_snapshot(self._connection, system_namespace=system, given=given))
        findings = [{**each.as_json(), "means": each.code.means} for each in grouped(found)]
        return fitted({"systemNamespace": system, "findings": findings, "summary": count(found)})

    def _cluster(self, namespace: str) -> Snapshot:
        system, given = self._system, read_profiles(self._profiles)
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
