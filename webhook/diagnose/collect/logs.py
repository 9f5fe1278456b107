"""Read what NCCL has printed in the logs of a job's pods: the beginning of each, within bounds.

`limitBytes` begins where the kubelet last rotated the log (containerLogMaxSize, 10 MiB).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from webhook.core import podspec
from webhook.core.errors import Unavailable
from webhook.core.model import Object
from webhook.diagnose.explain.nccl_log import PodLog, read_log
from webhook.diagnose.explain.observation import common_form, named, natural
from webhook.diagnose.jobs import ObservedPod
from webhook.diagnose.snapshot import Snapshot, at_once
from webhook.kube.catalogue import PODS
from webhook.kube.connection import RequestFailed

MOST_PODS = 128
_ALL_BYTES = 64 << 20
_MOST_BYTES, _TAIL_BYTES = 4 << 20, 1 << 18
"""Most of one log that is read: from its beginning, and from its end if NCCL says nothing there."""
_TAIL_LINES = 2000
_MOST_CONTAINERS = 4
_SECONDS = 30.0
_FORBIDDEN = 403
_RIGHT = "ask for get of pods/log, or let an administrator run this"


def read_logs(cluster: Snapshot, pods: Iterable[Object]) -> Mapping[str, PodLog]:
    """Read the logs of rank 0 and of other pods that have begun to train, up to MOST_PODS.

    What cannot be read is noted; where rank 0's may not be, no other is asked for.
    """
    every = [*map(ObservedPod, pods)]
    chosen = choose_pods([pod for pod in every if _begun(pod)], MOST_PODS)
    most = min(_MOST_BYTES, _ALL_BYTES // max(1, len(chosen)))
    read = partial(_try, cluster, most)
    first = [read(pod) for pod in chosen[:1]]
    if first and isinstance(first[0], RequestFailed) and first[0].status == _FORBIDDEN:
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


def _try(cluster: Snapshot, most: int, pod: ObservedPod) -> PodLog | Unavailable:
    try:
        return _read_pod(cluster, pod, most)
    except Unavailable as error:
        return error


def choose_pods(members_: Sequence[ObservedPod], most: int) -> list[ObservedPod]:
    """Choose rank 0 first, then others spread evenly over the job in the order of their names."""
    ordered = sorted(members_, key=lambda pod: (not pod.is_master, natural(pod.name)))
    if len(ordered) <= most:
        return ordered
    return [ordered[number * len(ordered) // most] for number in range(most)]


def _begun(pod: ObservedPod) -> bool:
    """Tell whether the training container has run, or another where none is known for it."""
    status = pod.pod.get("status") or {}
    for each in status.get("containerStatuses") or ():
        state = each.get("state") or {}
        if "running" in state or "terminated" in state or each.get("restartCount"):
            return True
    return False


def _read_pod(cluster: Snapshot, pod: ObservedPod, most: int) -> PodLog:
    """Read the training container's log, else of the run before it, else of other containers."""
    training = str(pod.training.get("name") or "")
    others = [
        str(each.get("name"))
        for each in podspec.containers(pod.pod)
        if each.get("name") != training
    ]
    restarted = {
        str(each.get("name"))
        for each in (pod.pod.get("status") or {}).get("containerStatuses") or ()
        if each.get("restartCount")
    }
    first: PodLog | None = None
    for container in [training, *others][:_MOST_CONTAINERS]:
        for is_previous in (False, True) if container in restarted else (False,):
            try:
                found = _read_container(cluster, pod, container, most, is_previous=is_previous)
            except RequestFailed as error:
                if (
                    first is None and error.status != 400
                ):  # 400: it has not run, or its former run is removed
                    raise
                continue
            if found.log.tells:
                return found
            first = first or found
    return first or PodLog(training, read_log(()))


def _read_container(
    cluster: Snapshot, pod: ObservedPod, container: str, most: int, *, is_previous: bool
) -> PodLog:
    query = {"container": container, **({"previous": "true"} if is_previous else {})}
    head = _ask(cluster, pod, {**query, "limitBytes": str(most)}, most)
    log = read_log([head])
    if not log.tells and len(head) >= most:
        tail = {**query, "tailLines": str(_TAIL_LINES), "limitBytes": str(_TAIL_BYTES)}
        log = read_log([head, _ask(cluster, pod, tail, _TAIL_BYTES)])
    return PodLog(container, log, is_previous)


def _ask(cluster: Snapshot, pod: ObservedPod, query: Mapping[str, str], most: int) -> bytes:
    metadata = pod.pod["metadata"]
    path = f"{PODS.object_path((str(metadata.get('namespace')), pod.name))}/log"
    answer = cluster.connection.request(
        "GET",
        path,
        query=query,
        headers={"Accept": "application/json, */*"},
        timeout=_SECONDS,
        most_bytes=2 * most,
    )
    if answer.status != 200:
        raise RequestFailed(answer.problem, answer.status)
    return answer.body[:most]
