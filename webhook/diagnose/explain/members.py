"""Say who is missing from a job: rank 0 above all, or who is in it twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from webhook.core import names, podspec
from webhook.core.model import Reason
from webhook.core.reconcile.member import is_name
from webhook.core.workloads import TrainingPod
from webhook.core.workloads.systems import KUEUE, LWS
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.observation import Observation, Stage, named
from webhook.diagnose.explain.part import Part, log_command
from webhook.diagnose.explain.reading import Reading, seconds_since
from webhook.diagnose.explain.selection import keys_of_jobs
from webhook.diagnose.explain.waiting import seconds_waited
from webhook.diagnose.finding import Level
from webhook.diagnose.owners import identity
from webhook.diagnose.wording import counted, duration

_NODES = re.compile(r"--nnodes(?:=|\s+)[\"']?(\d{1,6})(?![\d:])")
"""A fixed number; of ``2:4`` only torchrun knows how many there should be."""
_NUMBER = re.compile(r"[0-9]{1,6}")
_SOON_SECONDS = 30.0
_ENDING_SECONDS = 300.0
"""How long members may take to end after rank 0: they write checkpoints."""


def observe(
    reading: Reading, parts: Iterable[Part], *, is_refused: bool = False
) -> Iterator[Observation]:
    """Look at every job among the pods by itself. *is_refused*: it is told why pods could not be created."""
    parts = list(parts)
    jobs: dict[str, list[Part]] = {}
    for part in parts:
        if part.job:
            jobs.setdefault(part.job, []).append(part)
    for key, members in jobs.items():
        yield from _rank_zero(reading, key, members)
    for key, members in group_jobs(parts).items():
        yield from _number(key, members, is_refused=is_refused)


def group_jobs(parts: Iterable[Part]) -> dict[str, list[Part]]:
    """Group pods by the key of their job; those of the same owner that wait for nobody, and so share no key, are with it."""
    listed = list(parts)
    keys_of: dict[str, dict[str, list[Part]]] = {}
    for part in listed:
        if part.job:
            keys_of.setdefault(identity(part.pod) or part.job, {}).setdefault(part.job, []).append(
                part
            )
    jobs: dict[str, list[Part]] = {}
    job_of: dict[str, str] = {}
    for owner, keys in keys_of.items():
        kept = keys_of_jobs(
            {key: [part.is_master for part in members] for key, members in keys.items()}
        )
        for key, members in keys.items():
            jobs.setdefault(key if key in kept else kept[0], []).extend(members)
        if len(kept) == 1:
            job_of[owner] = kept[0]
    for part in listed:
        is_member = isinstance(part.found, TrainingPod) and part.found.reason is Reason.NO_MASTER
        if not part.job and is_member and (job := job_of.get(identity(part.pod))):
            jobs[job].append(part)
    return jobs


def _rank_zero(reading: Reading, key: str, members: Sequence[Part]) -> Iterator[Observation]:
    told = [part for part in members if part.member is not None and part.member.wanted]
    masters = [part for part in told if part.is_master]
    subject = f"job {key}"
    if len(masters) > 1:
        newest = max(masters, key=lambda part: (part.created, str(part.pod["metadata"].get("uid"))))
        pods = named(part.name for part in masters)
        message = f"has {len(masters)} live rank-0 pods ({pods}): all are told of {newest.name}, the newest"
        others = " ".join(part.name for part in masters if part is not newest)
        action = f"delete the others: kubectl delete pod -n {reading.namespace} {others}"
        yield Observation(
            Stage.MEMBERS, "fail", Code.RANK_ZERO_TWICE, message, action, subject=subject
        )
    if masters or not told:
        return
    if any(is_apart(part) for part in members):
        return  # why that is so is told of the pod itself, see injection
    ended = [part for part in members if part.is_master]
    if ended:
        last = max(ended, key=lambda part: str(part.pod["metadata"].get("creationTimestamp")))
        if last.phase == "Succeeded" and all(
            seconds_waited(reading, part) is None for part in told
        ):
            yield _succeeded(reading, last)
            return
        message = f"rank 0 is {last.phase}{_why_ended(last)}, and its members still run"
        action = f"look at its log, then restart the job: {log_command(last, str(last.training.get('name')))}"
        if not last.is_injected and any(seconds_waited(reading, part) is not None for part in told):
            message = (
                f"rank 0 {_why_unpublished(last)} and published no address; it is {last.phase}"
            )
            message, action = f"{message}, and its members still run", Code.RANK_ZERO_APART.action
        elif last.phase == "Terminating":
            action = "wait for the next one; if this one stays, look at its finalizers and at its node's kubelet"
        yield Observation(
            Stage.MEMBERS, "fail", Code.RANK_ZERO_ENDED, message, action, (last.name,)
        )
        return
    ages = [
        seconds_since(part.pod["metadata"].get("creationTimestamp"), reading.now) or 0.0
        for part in told
    ]
    go_by_name = all(
        part.member and is_name(part.member.published.master_addr) for part in told
    )  # rank 0 may come once they are ready
    level: Level = "fail" if max(ages) > _SOON_SECONDS and not go_by_name else "warn"
    yield Observation(
        Stage.MEMBERS, level, Code.RANK_ZERO_MISSING, "has no rank-0 pod", subject=subject
    )


def is_apart(part: Part) -> bool:
    """Tell a live rank 0 whose address is published to nobody, for it does not meet the others where they wait for it."""
    return part.is_master and part.is_live and not (part.member and part.member.wanted)


def _succeeded(reading: Reading, part: Part) -> Observation:
    state = part.state_of(str(part.training.get("name"))).get("terminated") or {}
    seconds = seconds_since(state.get("finishedAt"), reading.now) or 0.0
    if seconds < _ENDING_SECONDS:
        message = "rank 0 has ended well, and its members should follow"
        return Observation(Stage.SUMMARY, "ok", Code.RANK_ZERO_DONE, message, pods=(part.name,))
    message = f"rank 0 has ended well {duration(seconds)} ago, and its members still run"
    return Observation(Stage.MEMBERS, "warn", Code.MEMBERS_LINGER, message, pods=(part.name,))


def _why_unpublished(part: Part) -> str:
    profile = podspec.labels(part.pod).get(names.PROFILE)
    return (
        f"carries label {names.PROFILE}: {profile}"
        if profile == names.PROFILE_NONE
        else "was not injected"
    )


def _why_ended(part: Part) -> str:
    for status in part.container_statuses:
        ended = (status.get("state") or {}).get("terminated") or {}
        if ended.get("exitCode"):
            return f" (container {status.get('name')} exited with {ended['exitCode']})"
    reason = (part.pod.get("status") or {}).get("reason")
    return f" ({reason})" if reason else ""


def _number(key: str, members: Sequence[Part], *, is_refused: bool) -> Iterator[Observation]:
    wanted = max((expected_members(part) for part in members), default=0)
    there = [part for part in members if part.phase != "Terminating"]
    if wanted > len(there) > 0:
        message = f"has {len(there):,} of {counted(wanted, 'member')}"
        action = (
            "see what else is said of the job, which is why the others are not there"
            if is_refused
            else None
        )
        yield Observation(
            Stage.MEMBERS, "warn", Code.MEMBERS_MISSING, message, action, subject=f"job {key}"
        )


def expected_members(part: Part) -> int:
    """Return how many pods the job is to have, as the pod itself tells; 0 where it does not."""
    annotations = podspec.annotations(part.pod)
    for key in (LWS + "size", KUEUE + "pod-group-total-count"):
        if _NUMBER.fullmatch(annotations.get(key, "")):
            return int(annotations[key])
    if "--nnodes" in part.command:
        found = _NODES.search(part.command)
        return int(found[1]) if found else 0
    nodes = part.literals.get("PET_NNODES") or ""
    return int(nodes) if _NUMBER.fullmatch(nodes) else 0
