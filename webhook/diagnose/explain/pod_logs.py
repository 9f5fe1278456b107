"""Read what NCCL printed in the logs of a job's pods, by the API server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from webhook.core.errors import Unavailable
from webhook.diagnose.explain.nccl_log import PodLog, read_log
from webhook.diagnose.jobs import ObservedPod
from webhook.diagnose.snapshot import Snapshot, at_once
from webhook.diagnose.wording import common_form, named, natural
from webhook.world.view import REFUSED

MOST_PODS = 128
_ALL_BYTES = 64 << 20
_MOST_BYTES = 4 << 20
"""Of one log. It begins where the kubelet last rotated it (containerLogMaxSize, 10 MiB)."""
_RIGHT = "ask for get of pods/log, or let an administrator run this"


def read_logs(cluster: Snapshot, pods: Sequence[ObservedPod]) -> Mapping[str, PodLog]:
    """Read what NCCL printed in the logs of rank 0 and of other pods that train, up to MOST_PODS.

    What cannot be read is noted; where rank 0's may not be, no other is asked for.
    """
    chosen = choose_pods(list(filter(_has_trained, pods)), MOST_PODS)
    most = min(_MOST_BYTES, _ALL_BYTES // max(1, len(chosen)))
    read = partial(_log, cluster, most)
    first = [read(pod) for pod in chosen[:1]]
    if first and isinstance(first[0], Unavailable) and REFUSED in str(first[0]):
        cluster.note("logs", f"{first[0]}; {_RIGHT}")
        return {}
    answers = [*first, *at_once([partial(read, pod) for pod in chosen[1:]])]
    failed: dict[str, list[str]] = {}
    found: dict[str, PodLog] = {}
    for pod, answer in zip(chosen, answers, strict=True):
        if isinstance(answer, PodLog):
            found[pod.name] = answer
        else:
            failed.setdefault(common_form(str(answer), pod.name), []).append(pod.name)
    for problem, pods_of in failed.items():
        what = f"of {named(pods_of)} cannot be read"
        cluster.note("logs", f"{what}, so that part is unknown: {problem}")
    return found


def choose_pods(pods: Sequence[ObservedPod], most: int) -> list[ObservedPod]:
    """Choose rank 0 first, then others spread evenly over the job in the order of their names."""
    ordered = sorted(pods, key=lambda pod: (not pod.is_master, natural(pod.name)))
    if len(ordered) <= most:
        return ordered
    return [ordered[number * len(ordered) // most] for number in range(most)]


def _has_trained(pod: ObservedPod) -> bool:
    found = pod.status_of(str(pod.training.get("name")))
    state = found.get("state") or {}
    return bool(found.get("restartCount") or "running" in state or "terminated" in state)


def _log(cluster: Snapshot, most: int, pod: ObservedPod) -> PodLog | Unavailable:
    """Read the training container's log; of the run before it where this one tells nothing."""
    container = str(pod.training.get("name") or "")
    read = partial(cluster.log, pod.pod, container, most)
    try:
        now = PodLog(container, read_log([read()]))
    except Unavailable as error:
        return error
    if now.log.tells or not pod.status_of(container).get("restartCount"):
        return now
    try:
        before = read_log([read(previous=True)])
    except Unavailable:
        return now  # the former run is removed
    return PodLog(container, before, is_previous=True) if before.tells else now
