"""Read which jobs are suspended. Of kinds that the caller may not read nothing is said: most are not installed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from functools import partial

from webhook.core.errors import Unavailable
from webhook.core.model import Object
from webhook.diagnose.collect.collector import Collector
from webhook.diagnose.explain.suspension import keep_suspended, outermost
from webhook.kube.catalogue import JOBS
from webhook.kube.connection import RequestFailed
from webhook.kube.resource import Resource


def begin_suspended(
    collector: Collector, namespace: str, names: Collection[str], kind: str = ""
) -> list[Future[tuple[Object, ...]]]:
    """Begin to look at the jobs of these *names*; *kind*: at those of this one alone."""

    def find(made: str, resource: Resource, name: str) -> tuple[Object, ...]:
        found = collector.reader.find(
            resource, (namespace, name), partial(keep_suspended, kind=made)
        )
        return () if found is None else (found,)

    return [
        collector.begin(
            partial(_allowed, collector, f"{made} {name}", partial(find, made, resource, name))
        )
        for made, resource in JOBS
        for name in sorted(names)
        if kind in ("", made)
    ]


def begin_all_suspended(collector: Collector, namespace: str) -> list[Future[tuple[Object, ...]]]:
    """Begin to look at all jobs of one namespace, or of all where it is empty."""

    def find(made: str, resource: Resource) -> tuple[Object, ...]:
        return collector.read_list(resource, partial(keep_suspended, kind=made), namespace).items

    return [
        collector.begin(partial(_allowed, collector, resource.name, partial(find, made, resource)))
        for made, resource in JOBS
    ]


def suspended_jobs(begun: Iterable[Future[tuple[Object, ...]]]) -> tuple[Object, ...]:
    """Return the suspended ones, without those that another one of them has made."""
    return outermost(job for each in begun for job in each.result())


def _allowed(
    collector: Collector, what: str, read: Callable[[], tuple[Object, ...]]
) -> tuple[Object, ...]:
    try:
        return read()
    except Unavailable as error:
        if not (isinstance(error, RequestFailed) and error.is_refusal):
            collector.note(what, error)
        return ()
