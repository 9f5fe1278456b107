"""Say what each wait step waits for, and for how long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from webhook.core import names, podspec
from webhook.core.injection import wait
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.observation import Observation, Stage
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading, seconds_since
from webhook.diagnose.finding import Level
from webhook.diagnose.wording import duration

_PATIENCE_SECONDS = 60.0
_MEANING = {
    "master-addr": "rank 0's address",
    "master-addr:own": "its own address",
    "local-addr": "its own address",
    "local-addr:own": "its own address",
    **dict.fromkeys(wait.DEVICE_FILES, "the names of its RDMA devices"),
}


def observe(
    reading: Reading, parts: Iterable[Part], *, is_explained: bool
) -> Iterator[Observation]:
    """Look at every wait step that runs. *is_explained*: something else failed, so that waiting is what follows."""
    groups: dict[tuple[str, ...], list[tuple[str, float]]] = {}
    ended: dict[str, list[str]] = {}
    for part in parts:
        if part.is_live and part.member and part.member.waits and part.member.published.wait_ends:
            ended.setdefault(part.member.published.wait_ends, []).append(part.name)
        elif part.is_live and (seconds := seconds_waited(reading, part)) is not None:
            groups.setdefault(lacks(part), []).append((part.name, seconds))
    for cause, names_of_pods in ended.items():
        message = f"will not get rank 0's address: {cause}"
        yield Observation(
            Stage.WAIT,
            "warn" if is_explained else "fail",
            Code.WAIT_ENDED,
            message,
            pods=tuple(names_of_pods),
        )
    for missing, waiting in groups.items():
        pods, longest = tuple(name for name, _ in waiting), max(seconds for _, seconds in waiting)
        what = " and ".join(dict.fromkeys(_MEANING.get(need, need) for need in missing))
        since = duration(longest) if len(waiting) == 1 else f"up to {duration(longest)}"
        if longest < _PATIENCE_SECONDS:
            told = f"waits for {what}" if missing else "is about to start: all addresses are there"
            yield Observation(
                Stage.SUMMARY, "ok", Code.WAIT_BEGUN, f"{told}, for {since}", pods=pods
            )
        elif missing:
            level: Level = "warn" if is_explained else "fail"
            action = (
                "see what else is said of the job, which is why it waits" if is_explained else None
            )
            yield Observation(
                Stage.WAIT, level, Code.WAIT_LONG, f"waits for {what}, for {since}", action, pods
            )
        else:
            message = f"has waited for {since}, and all that it needs is in its annotations"
            yield Observation(Stage.WAIT, "fail", Code.WAIT_STUCK, message, pods=pods)


def needs(part: Part) -> tuple[str, ...]:
    """Return what the wait step was told to wait for, ``("master-addr", "local-addr:own")``; empty where there is none."""
    return tuple(map(str, wait.needs(part.pod)))


def lacks(part: Part) -> tuple[str, ...]:
    """Return those of its needs that are not published yet, or that are not the address which the pod has."""
    told, own = podspec.annotations(part.pod), part.member.secondary.address if part.member else ""
    missing = []
    for need in needs(part):
        value = told.get(f"{names.PREFIX}{need.partition(':')[0]}")
        if not value or (need.endswith(":own") and own and value != own):
            missing.append(need)
    return tuple(missing)


def seconds_waited(reading: Reading, part: Part) -> float | None:
    """Return for how long the wait step has run; None where it does not run."""
    running = part.state_of(names.WAIT_CONTAINER).get("running")
    return None if running is None else seconds_since(running.get("startedAt"), reading.now) or 0.0
