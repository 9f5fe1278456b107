"""Say how each pod of a job started: when it had a node, a network and an address, and trained.

Times are those that API server and kubelet wrote, in whole seconds. What they did not write is
left out, and the step before it lasts until the next that is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from webhook.core import names
from webhook.core.model import Object
from webhook.core.wording import counted
from webhook.diagnose.explain.addresses import is_made_again, needs
from webhook.diagnose.explain.job import ObservedJob
from webhook.diagnose.jobs import ObservedPod
from webhook.diagnose.wording import duration, seconds_since

NO_NODE, NETWORK, CONTAINERS, WAIT, TRAINING = (
    *("no node", "network", "containers", "wait", "training"),
)
"""The steps of a start, in their order; containers: images, and init containers but the wait."""
UNTOLD = "network or containers"
"""In place of both where the kubelet, before Kubernetes 1.29, does not tell when one was over."""
_OPEN = {NO_NODE: "on no node", NETWORK: "its network is made", CONTAINERS: "its containers start"}
_SHORT_SECONDS = 2.0
"""How long a wait step takes where it waits for nobody."""
_MARGIN = 8
"""The part of the timeline that shows the training that has begun."""


class Step(NamedTuple):
    """Hold one step, in seconds since the job's first pod was created; *ends* None: it goes on."""

    name: str
    begins: float
    ends: float | None


class Start(NamedTuple):
    """Hold the steps of one pod, and what held it up: ``waited 40 s for bert-master-0``."""

    steps: tuple[Step, ...]
    says: str

    @property
    def trains_after(self) -> float | None:
        """Return when it began to train; None where it has not, or that is unknown."""
        return next((step.begins for step in self.steps if step.name == TRAINING), None)

    def as_json(self) -> Object:
        """Return it for programs."""
        steps = [step._asdict() for step in self.steps]
        return {"steps": steps, "trains_after": self.trains_after, "says": self.says}


class Timeline(NamedTuple):
    """Hold when the first pod was created, how many *seconds* are shown, and each pod's start."""

    since: str
    seconds: float
    pods: dict[str, Start]


def draw_timeline(job: ObservedJob) -> Timeline:
    """Return the timeline of the job, which ends soon after the last of them trains."""
    pods = job.pods
    since = min((pod.created for pod in pods), default="")
    now = seconds_since(since, job.now) or 0.0
    marks = {pod.name: [*_marks(job, pod, now)] for pod in pods}
    zeros = {pod.job: pod for pod in pods if pod.is_master and pod.job}
    found = {}
    for pod in pods:
        steps = _steps(marks[pod.name], now, is_live=pod.is_live)
        zero = zeros.get(pod.job)
        whom = _whom(pod, steps, zero, marks[zero.name] if zero else ())
        found[pod.name] = Start(steps, "; ".join(_says(pod, steps, whom, now)))
    last = max((_last(start, now) for start in found.values()), default=0.0)
    return Timeline(since, round(last * (1 + 1 / _MARGIN), 1) or 1.0, found)


def _last(start: Start, now: float) -> float:
    if start.trains_after is not None:
        return start.trains_after
    ends = start.steps[-1].ends if start.steps else 0.0
    return now if ends is None else ends


def _marks(job: ObservedJob, pod: ObservedPod, now: float) -> Iterator[tuple[str, float]]:
    """Yield which step begins when, as far as that is known; clocks of nodes may be a bit apart."""
    wait, training = pod.status_of(names.WAIT_CONTAINER), pod.status_of(_training(pod))
    begun, over = _times(wait)
    trains, ended = _times(training)
    made = pod.since("PodReadyToStartContainers")
    is_again = is_made_again(pod)
    network = NETWORK if made or not pod.has_begun else UNTOLD
    if wait.get("restartCount"):
        begun = made or begun  # its first run is not told
    if training.get("restartCount"):
        trains = over or made or trains
    told = (
        (NO_NODE, "" if is_again else pod.created),
        (network, "" if is_again else pod.since("PodScheduled")),
        (CONTAINERS, made),
        (WAIT, begun),
        (CONTAINERS, over),
        (TRAINING, trains),
        ("", ended),
    )
    before = 0.0
    for name, text in told:
        ago = seconds_since(text, job.now) if text else None
        if ago is not None:
            before = min(max(before, now - ago), now)
            yield name, before


def _training(pod: ObservedPod) -> str:
    return str(pod.training.get("name"))


def _times(status: Object) -> tuple[str, str]:
    """Return when a container began and ended; empty where it has not."""
    state = status.get("state") or {}
    found = state.get("running") or state.get("terminated") or {}
    return str(found.get("startedAt") or ""), str(found.get("finishedAt") or "")


def _steps(marks: Sequence[tuple[str, float]], now: float, *, is_live: bool) -> tuple[Step, ...]:
    """Return the steps between the marks; the last one of a live pod goes on."""
    following: list[float | None] = [*(at for _, at in marks[1:]), None if is_live else now]
    steps = [Step(name, at, ends) for (name, at), ends in zip(marks, following, strict=False)]
    return tuple(step for step in steps if step.name and step.ends != step.begins)


def _whom(
    pod: ObservedPod,
    steps: Iterable[Step],
    zero: ObservedPod | None,
    marks: Iterable[tuple[str, float]],
) -> str:
    """Say for what the wait step waits or waited, by when rank 0 got its network and address."""
    wait = next((step for step in steps if step.name == WAIT), None)
    if wait is None or pod.is_master or "master-addr" not in needs(pod):
        return "its own address"
    there = next((at for name, at in marks if name in (CONTAINERS, WAIT, TRAINING)), None)
    if zero is None or there is None or there > wait.begins:
        return zero.name if zero else "rank 0"
    return "rank 0's address"


def _says(pod: ObservedPod, steps: Iterable[Step], whom: str, now: float) -> Iterator[str]:
    for step in steps:
        seconds = (now if step.ends is None else step.ends) - step.begins
        is_open = step.ends is None and step.name != TRAINING
        if step.name == WAIT and (is_open or seconds > _SHORT_SECONDS):
            verb = "waits" if is_open else "waited"
            yield f"{verb} {duration(seconds)} for {whom}"
        elif is_open:
            yield f"{_OPEN[step.name]} for {duration(seconds)}"
    if again := pod.status_of(_training(pod)).get("restartCount"):
        yield f"restarted {counted(again, 'time')}"
