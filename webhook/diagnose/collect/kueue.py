"""Read Kueue's Workloads: nothing where the cluster has no Kueue; who may not read them is told so, and the rest is judged."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.core.errors import Unavailable
from webhook.core.model import Object
from webhook.diagnose.collect.collector import Collector
from webhook.diagnose.explain.kueue import is_gated, keep_workload
from webhook.diagnose.listing import Unread
from webhook.kube.catalogue import WORKLOADS

_WHAT = "Kueue's Workloads"


def read_workloads(
    collector: Collector, namespace: str, pods: Iterable[Object] = ()
) -> tuple[Object, ...] | None:
    """List those that have not finished, of one namespace or of all, in the version that their API group prefers.

    None where they cannot be read, which is noted; so is a gate of Kueue on one of the *pods* where nothing serves Workloads.
    """
    try:
        group = collector.reader.preferred_version(WORKLOADS.group)
        found = (
            collector.read_list(WORKLOADS.at(group), keep_workload, namespace) if group else None
        )
    except Unavailable as error:
        collector.note(_WHAT, error)
        return None
    if found is not None and found.installed:
        return tuple(each for each in found.items if each is not None)
    if group or any(map(is_gated, pods)):
        lack = (
            f"{group} serves no workloads"
            if group
            else "this cluster serves no kueue.x-k8s.io, and a pod has its gate"
        )
        collector.unread.append(
            Unread(
                _WHAT,
                f"cannot be read, so that part is unknown: {lack}; is Kueue installed as a whole?",
            )
        )
        return None
    return ()
