"""Put all topics together: from what was read to findings in order, and a row for each member."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from webhook.core import names
from webhook.diagnose.codes import Code
from webhook.diagnose.explain import (
    addresses,
    claims,
    containers,
    devices,
    drift,
    events,
    injection,
    interfaces,
    kueue,
    members,
    memory,
    networks,
    scheduling,
    suspension,
    transport,
    waiting,
)
from webhook.diagnose.explain.judgement import ReadWorld, judge_today
from webhook.diagnose.explain.observation import Observation, Stage, fold, natural
from webhook.diagnose.explain.part import Part, read_part
from webhook.diagnose.explain.reading import Reading
from webhook.diagnose.finding import Finding
from webhook.diagnose.wording import duration

NOTHING = "-"
_ROLES = ("rank 0", "rank 0?", "worker", NOTHING)
"""In the order of the table."""


@dataclass(frozen=True, slots=True)
class Row:
    """Hold what the table says of one pod; ``-`` where there is nothing to say. *job* is the key, empty for a pod of no job.

    *role*: ``rank 0``, ``rank 0?`` for the first pod of a role that nobody waits for, ``worker`` for one that carries a key.

    *details* are for programs: what was injected, kept and skipped, by which profile and version; what it would get else *today*;
    what the profile *would inject* if the namespace did not only observe;
    the *networks* that Multus attached, ``{"interface": "net1", "network": "default/rdma-net", "addresses": []}``, and the one on which
    the ranks meet where another made it; what it *lacks*.
    """

    pod: str
    job: str
    role: str
    phase: str
    node: str
    address: str
    told: str
    wait: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Hold the answer: *findings* in the order in which a person should read them, *rows* with rank 0 first."""

    target: str
    namespace: str
    jobs: tuple[str, ...]
    findings: tuple[Finding, ...]
    rows: tuple[Row, ...]

    def as_json(self) -> dict[str, Any]:
        """Return what ``-o json`` prints beside the findings."""
        return {
            "target": self.target,
            "namespace": self.namespace,
            "jobs": list(self.jobs),
            "members": [_flat(row) for row in self.rows],
        }


class Judged(NamedTuple):
    """Hold the pods of a job in the order of their names, what was found, and the names of those that are rank 0."""

    parts: Sequence[Part]
    findings: Sequence[Finding]
    masters: Collection[str]


def judge(reading: Reading) -> Judged:
    """Say what is found of the job."""
    parts = _read_parts(reading)
    observed = [*_causes(reading, parts)]
    is_explained = any(one.level == "fail" and one.stage < Stage.WAIT for one in observed)
    observed += waiting.observe(reading, parts, is_explained=is_explained)
    if (
        parts
        and not any(part.is_live for part in parts)
        and not any(one.level == "fail" for one in observed)
    ):
        phases = Counter(part.phase for part in parts)
        message = "has no live pod: " + ", ".join(
            f"{number:,} {phase}" for phase, number in phases.items()
        )
        observed.append(
            Observation(Stage.SUMMARY, "ok", Code.JOB_OVER, message, subject=reading.target)
        )
    followed = {part.job for part in parts if not part.is_master}
    masters = {
        part.name for part in parts if part.is_master and (part.is_certain or part.job in followed)
    }
    return Judged(parts, fold(observed, masters, reading.focus), masters)


def _read_parts(reading: Reading) -> list[Part]:
    world = ReadWorld(reading)
    claims_read = (reading.claims or {}).values()
    return [
        read_part(pod, judge_today(pod, reading.profiles, world, reading.unusable), claims_read)
        for pod in sorted(reading.pods, key=lambda pod: natural(str(pod["metadata"].get("name"))))
    ]


def explain(reading: Reading) -> Explanation:
    """Say why the job trains slowly or does not start."""
    parts, findings, masters = judge(reading)
    jobs = members.group_jobs(parts)
    shown = [part for part in parts if reading.focus in ("", part.name) or part.is_master]
    rows = [_row(reading, part, is_rank_zero=part.name in masters) for part in shown]
    rows.sort(
        key=lambda row: (row.job if len(jobs) > 1 else "", _ROLES.index(row.role), natural(row.pod))
    )
    return Explanation(reading.target, reading.namespace, tuple(jobs), tuple(findings), tuple(rows))


def _causes(reading: Reading, parts: Sequence[Part]) -> Iterator[Observation]:
    """Ask each topic."""
    refused = list(events.observe_refusals(reading, parts))
    held = list(kueue.observe(reading, parts)) or list(suspension.observe(reading))
    yield from held
    yield from refused
    yield from injection.observe(reading, parts)
    yield from members.observe(reading, parts, is_refused=bool(refused or held))
    claimed = list(claims.observe(reading, parts))
    yield from claimed
    yield from scheduling.observe(reading, parts)
    attached = list(networks.observe(reading, parts))
    yield from attached
    yield from containers.observe(parts)
    yield from addresses.observe(reading, parts)
    yield from memory.observe(reading, parts)
    yield from interfaces.observe(reading, parts)
    yield from interfaces.observe_together(parts)
    yield from devices.observe(parts)
    yield from transport.observe(reading, parts)
    yield from drift.observe(reading, parts)
    unattached = {pod for one in (*claimed, *attached) if one.level == "fail" for pod in one.pods}
    yield from events.observe(reading, parts, unattached)
    for unread in reading.unread:
        yield Observation(
            Stage.UNREAD, "warn", Code.UNREAD, unread.problem, unread.remedy, subject=unread.what
        )
    if not parts and not refused and not held:
        message = f"namespace {reading.namespace} has no pod of it"
        yield Observation(
            Stage.MEMBERS, "fail", Code.JOB_WITHOUT_PODS, message, subject=reading.target
        )


def _row(reading: Reading, part: Part, *, is_rank_zero: bool) -> Row:
    certain, perhaps, worker, none = _ROLES
    role = certain if is_rank_zero else perhaps if part.is_master else worker if part.job else none
    return Row(
        pod=part.name,
        job=part.job,
        role=role,
        phase=shown_phase(part),
        node=part.node or NOTHING,
        address=shown_address(part) or NOTHING,
        told=(part.member.published.master_addr if part.member else "") or NOTHING,
        wait=_wait(reading, part),
        details=_details(reading, part),
    )


def _flat(row: Row) -> dict[str, Any]:
    """Write a row for programs: null for what the table shows as ``-``, which could be mistaken for a value."""
    found = asdict(row)
    told = {
        key: None if value in (NOTHING, "") else value
        for key, value in found.items()
        if key != "details"
    }
    return {**told, **found["details"]}


def _details(reading: Reading, part: Part) -> Mapping[str, Any]:
    status = part.status
    return {
        **{key: status.get(key) for key in ("profile", "version", "injected", "kept", "skipped")},
        "today": list(drift.changes_today(reading, part)),
        "would_inject": injection.would_inject(part.verdict),
        "networks": [
            *(
                {
                    "interface": entry.get("interface"),
                    "network": entry.get("name"),
                    "addresses": entry.get("ips") or [],
                }
                for entry in part.attached or ()
            ),
            *networks.attached_elsewhere(part),
        ],
        "lacks": list(waiting.lacks(part)) if part.is_live else [],
    }


def shown_phase(part: Part) -> str:
    """Return the phase; of a pod that does not train the reason that its first waiting container gives."""
    if part.is_live and part.node:
        for status in part.container_statuses:
            reason = ((status.get("state") or {}).get("waiting") or {}).get("reason")
            if reason and reason not in ("PodInitializing", "ContainerCreating"):
                return str(reason)
    if part.phase == "Pending" and part.node:
        return "Init" if part.state_of(names.WAIT_CONTAINER).get("running") else "Starting"
    return part.phase


def shown_address(part: Part) -> str:
    """Return the address on the network where the ranks meet, else that on the first further network; empty for none."""
    if part.member is not None and part.member.wanted:
        return part.member.secondary.address
    for entry in part.attached or ():
        ips = entry.get("ips")
        if isinstance(ips, list) and ips:
            return str(ips[0])
    return ""


def _wait(reading: Reading, part: Part) -> str:
    if not waiting.needs(part):
        return NOTHING
    seconds = waiting.seconds_waited(reading, part)
    if seconds is not None:
        return duration(seconds)
    ended = part.state_of(names.WAIT_CONTAINER).get("terminated") or {}
    if "exitCode" in ended:
        known = {0: "over", containers.WAITED_IN_VAIN: "gave up"}
        return known.get(ended["exitCode"]) or f"status {ended['exitCode']}"
    return NOTHING
