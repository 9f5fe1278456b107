"""Say what each wait step waits for, and for how long."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.core import names, podspec
from webhook.core.injection import wait
from webhook.diagnose.explain.observation import Observation, fail, ok
from webhook.diagnose.explain.snapshot import JobSnapshot, ObservedJob
from webhook.diagnose.finding import Code
from webhook.diagnose.jobs import ObservedPod
from webhook.diagnose.wording import duration

WAIT_ENDED = Code(
    "wait-ended",
    "wait",
    "The pod's wait for rank 0's address was ended, for that address will not come.",
    "do what the message says; a wait that is started again then goes on",
)
WAIT_LONG = Code(
    "wait-long",
    "wait",
    "The pod's wait step waits for an address that is not published.",
    "look at rank 0's pod, and at the controller's log",
)
WAIT_STUCK = Code(
    "wait-stuck",
    "wait",
    "The pod's wait step goes on although all that it waits for is published.",
    "its own address is on none of its interfaces, where a node was restarted: delete the pod; else the kubelet brings no annotations into its volume: look at the kubelet's log",
)

_PATIENCE_SECONDS = 60.0
_MEANING = {
    "master-addr": "rank 0's address",
    "master-addr:own": "its own address",
    "local-addr": "its own address",
    "local-addr:own": "its own address",
    **dict.fromkeys(wait.DEVICE_FILES, "the names of its RDMA devices"),
}


def what_they_wait_for(snapshot: JobSnapshot, job: ObservedJob) -> Iterator[Observation]:
    """Look at every wait step that runs."""
    groups: dict[tuple[str, ...], list[tuple[str, float]]] = {}
    for pod in job.live:
        if pod.member and pod.member.waits and pod.member.published.wait_ends:
            message = f"will not get rank 0's address: {pod.member.published.wait_ends}"
            yield fail(WAIT_ENDED, pod, message)
        elif (seconds := snapshot.seconds_waited(pod)) is not None:
            groups.setdefault(lacks(pod), []).append((pod.name, seconds))
    for missing, waiting in groups.items():
        pods, longest = [name for name, _ in waiting], max(seconds for _, seconds in waiting)
        what = " and ".join(dict.fromkeys(_MEANING.get(need, need) for need in missing))
        since = duration(longest) if len(waiting) == 1 else f"up to {duration(longest)}"
        if longest < _PATIENCE_SECONDS:
            told = f"waits for {what}" if missing else "is about to start: all addresses are there"
            yield ok("wait", pods, f"{told}, for {since}")
        elif missing:
            yield fail(WAIT_LONG, pods, f"waits for {what}, for {since}")
        else:
            message = f"has waited for {since}, and its annotations hold all that it needs"
            yield fail(WAIT_STUCK, pods, message)


def needs(pod: ObservedPod) -> tuple[str, ...]:
    """Return what the wait step waits for, ``("master-addr", "local-addr:own")``; empty for none."""
    return tuple(map(str, wait.needs(pod.pod)))


def lacks(pod: ObservedPod) -> tuple[str, ...]:
    """Return those of its needs that are not published, or are not the address that the pod has."""
    told, own = podspec.annotations(pod.pod), pod.member.secondary.address if pod.member else ""
    missing = []
    for need in needs(pod):
        value = told.get(f"{names.PREFIX}{need.partition(':')[0]}")
        if not value or (need.endswith(":own") and own and value != own):
            missing.append(need)
    return tuple(missing)
