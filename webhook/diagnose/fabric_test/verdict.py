"""Judge what the ranks of a test have found, from their pods: injection, interface, meeting, devices, memory, speed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from webhook.core import names, podspec
from webhook.core.addresses import multus, source_of
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.part import attached_networks
from webhook.diagnose.fabric_test.image import is_image_unfit, judge_image
from webhook.diagnose.fabric_test.job import CONTAINER
from webhook.diagnose.finding import Finding
from webhook.diagnose.injected import is_injected, read_injection
from webhook.diagnose.wording import listed

_T = TypeVar("_T", list[Any], dict[str, Any])
_MIB = 1 << 20
_RUNTIMES_SHARED_MEMORY = 64 * _MIB
_LITTLE_MEMLOCK = 64 * _MIB
"""Most Linux distributions let a process lock 8 MiB or less; RDMA buffers of NCCL alone take more than this."""
_SLOWER = 0.5
_TO_MEET = "give the profile a network with addresses, and leave rendezvous on in it, if ranks are to meet there"
_OF_CONTAINERS = (Code.CONTAINER_FAILED, Code.CONTAINER_NOT_STARTING)
_SEE_CAUSES = "see what is said of these pods"


@dataclass(frozen=True, slots=True)
class RankReport:
    """Hold what one rank wrote as its termination message; *told* is empty where it wrote none that can be read."""

    pod: str
    rank: int
    node: str
    told: Object

    def number(self, *path: str) -> float | None:
        """Return a number of the report, None where there is none."""
        value = _at(self.told, path)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def text(self, *path: str) -> str:
        """Return a text of the report, empty where there is none."""
        value = _at(self.told, path)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class GroupResult:
    """Tell what became of one Job: the *nodes* that it ran on, what was found, and the speeds of both networks in Gbit/s and µs."""

    nodes: tuple[str, ...]
    findings: tuple[Finding, ...]
    address: str = ""
    fabric_gbits: float | None = None
    fabric_micros: float | None = None
    pod_network_gbits: float | None = None
    pod_network_micros: float | None = None
    rdma_gbits: float | None = None
    rdma_micros: float | None = None

    @property
    def is_failing(self) -> bool:
        """Tell whether anything failed."""
        return any(finding.level == "fail" for finding in self.findings)

    def as_json(self) -> Object:
        """Return it for programs, but for the findings; null for what was not measured."""
        told = ("fabric_gbits", "fabric_micros", "pod_network_gbits", "pod_network_micros", "rdma_gbits", "rdma_micros")
        words = {name: name.split("_") for name in told}
        keys = {name: parts[0] + "".join(map(str.title, parts[1:])) for name, parts in words.items()}
        return {
            "nodes": list(self.nodes),
            "address": self.address or None,
            "failed": self.is_failing,
            **{key: getattr(self, name) for name, key in keys.items()},
        }


def describe_progress(pods: Sequence[Object], ranks: int) -> str:
    """Say in one line how far the pods of a Job have come."""
    injected = [pod for pod in pods if is_injected(pod)]
    bound = [pod for pod in pods if (pod.get("spec") or {}).get("nodeName")]
    attached = [pod for pod in pods if multus.told(podspec.annotations(pod))]
    running = [pod for pod in pods if _state(pod)]
    ended = [pod for pod in pods if "terminated" in _state(pod)]
    steps = [("created", pods), ("injected", injected), ("scheduled", bound)]
    if attached or not injected or any(names.NETWORKS in podspec.annotations(pod) for pod in pods):
        steps.append(("attached", attached))
    told = [*steps, ("started", running), ("done", ended)]
    return ", ".join(f"{len(those)}/{ranks} {word}" for word, those in told)


def is_over(pods: Sequence[Object], ranks: int) -> bool:
    """Tell whether all ranks have ended, or one pod has failed, was not injected or cannot start, so that the others wait in vain."""
    if any((pod.get("status") or {}).get("phase") == "Failed" or not is_injected(pod) for pod in pods):
        return True
    if is_image_unfit(pods):
        return True
    return len(pods) >= ranks and all("terminated" in _state(pod) for pod in pods)


def judge(pods: Sequence[Object], ranks: int, nodes: Sequence[str] = (), causes: Sequence[Finding] = ()) -> GroupResult:
    """Judge one Job; *causes* are what explain says of it, which come first where the ranks did not all report."""
    reports = sorted((read_report(pod) for pod in pods), key=lambda report: report.rank)
    ran_on = tuple(report.node for report in reports if report.node) or tuple(nodes)
    where = " and ".join(ran_on) or "the Job"
    findings: list[Finding] = []
    uninjected = [pod["metadata"]["name"] for pod in pods if not is_injected(pod)]
    complete = len(reports) >= ranks and all(report.told for report in reports) and not uninjected
    if uninjected:
        action = _SEE_CAUSES if causes else None
        message = f"{listed(uninjected)}: nothing was injected"
        findings.append(Finding("fail", Code.TEST_NOT_INJECTED, where, message, action))
    elif pods:
        findings += _interfaces(pods)
    if not complete:
        lacking = [f"{report.pod} told nothing" for report in reports if not report.told]
        if len(reports) < ranks:
            lacking.append(f"{ranks - len(reports)} of {ranks} pods were not created")
        if not uninjected:
            findings.append(Finding("fail", Code.TEST_UNFINISHED, where, listed(lacking) or "no pod was created"))
        unfit = judge_image(pods)
        findings[:0] = [*unfit, *(cause for cause in causes if not (unfit and cause.code in _OF_CONTAINERS))]
    workers = [report for report in reports if report.rank > 0 and report.told]
    for report in reports:
        if report.told:
            findings += _hardware(report)
    if complete and not any(names.RENDEZVOUS in podspec.labels(pod) for pod in pods):
        findings.append(Finding("warn", Code.TEST_UNMEASURED, where, _why_not_tried(pods), _TO_MEET))
        return GroupResult(ran_on, tuple(findings))
    expected = _fabric_addresses(pods)
    for worker in workers:
        findings += _meeting(worker, expected, where)
    first = min(workers, key=lambda one: one.number("fabric", "gbits") or 0.0, default=None)
    figures = {}
    if first is not None:
        for network, name in (("fabric", "fabric"), ("podNetwork", "pod_network"), ("rdma", "rdma")):
            for figure in ("gbits", "micros"):
                figures[f"{name}_{figure}"] = first.number(network, figure)
    return GroupResult(ran_on, tuple(findings), workers[0].text("met", "at") if workers else "", **figures)


def read_report(pod: Object) -> RankReport:
    """Read what a pod's rank wrote; a program that is not ours may have written anything."""
    metadata = pod.get("metadata") or {}
    index = podspec.annotations(pod).get("batch.kubernetes.io/job-completion-index", "")
    rank = int(index) if index.isascii() and index.isdigit() and len(index) < 9 else 0
    try:
        told = json.loads((_state(pod).get("terminated") or {}).get("message") or "")
    except (ValueError, RecursionError):
        told = None
    node = (pod.get("spec") or {}).get("nodeName") or ""
    return RankReport(str(metadata.get("name")), rank, node, told if isinstance(told, dict) and "rank" in told else {})


def _interfaces(pods: Sequence[Object]) -> Iterator[Finding]:
    for pod in pods:
        name = f"pod {pod['metadata']['name']}"
        attached = [str(each.get("interface")) for each in attached_networks(pod) or ()]
        if not attached:
            injected = listed([str(step) for step in _injection(pod, "injected", list)])
            yield Finding("ok", Code.TEST_INJECTED, name, f"is injected: {injected or 'nothing had to be'}")
            continue
        seconds = _seconds_to_network(pod)
        after = "" if seconds is None else f" {seconds:.0f} s after it was scheduled"
        yield Finding("ok", Code.TEST_ATTACHED, name, f"is injected, and has {listed(attached)}{after}")


def _meeting(worker: RankReport, expected: set[str], where: str) -> Iterator[Finding]:
    at, problem = worker.text("met", "at"), worker.text("met", "problem")
    if problem:
        message = f"rank {worker.rank} does not reach rank 0 at {at}: {problem}"
        yield Finding("fail", Code.TEST_RANKS_APART, where, message)
        return
    if expected and at not in expected:
        message = f"rank {worker.rank} meets rank 0 at {at}, which is not its address on the fabric, {listed(sorted(expected))}"
        yield Finding("fail", Code.TEST_MET_ELSEWHERE, where, message)
    else:
        yield Finding("ok", Code.TEST_RANKS_MET, where, f"rank {worker.rank} meets rank 0 at {at}")
    fabric, beside = worker.number("fabric", "gbits"), worker.number("podNetwork", "gbits")
    if fabric is None:
        yield Finding("warn", Code.TEST_UNMEASURED, where, worker.text("fabric", "problem") or "nothing was measured")
        return
    message = f"at least {_speed(worker, 'fabric')} on the fabric"
    if beside is not None:
        message += f", {_speed(worker, 'podNetwork')} on the pod network"
    if beside is not None and fabric < _SLOWER * beside:
        yield Finding("warn", Code.TEST_FABRIC_SLOWER, where, message)
    else:
        yield Finding("ok", Code.TEST_MEASURED, where, f"{message} (one TCP connection of Python; RDMA does more)")
    yield from _rdma(worker, where)


def _rdma(worker: RankReport, where: str) -> Iterator[Finding]:
    """Tell what perftest said; nothing where the image does not have it. That it could not run is no fault of the fabric."""
    device, problem = worker.text("rdma", "device"), worker.text("rdma", "problem")
    gbits, micros = worker.number("rdma", "gbits"), worker.number("rdma", "micros")
    if problem:
        before = "" if gbits is None else f"{gbits:.2f} Gbit/s, and then "
        message = f"RDMA over {device}: {before}{problem}"
        if _at(worker.told, ("rdma", "failed")) is True:
            yield Finding("fail", Code.TEST_RDMA_FAILED, where, message)
        else:
            yield Finding("warn", Code.TEST_RDMA_UNMEASURED, where, message)
    elif gbits is not None:
        late = "" if micros is None else f" and {micros:.2f} µs for a read (ib_read_lat)"
        yield Finding(
            "ok", Code.TEST_RDMA_MEASURED, where, f"RDMA over {device}: {gbits:.2f} Gbit/s (ib_write_bw){late}"
        )


def _speed(worker: RankReport, network: str) -> str:
    micros = worker.number(network, "micros")
    late = "" if micros is None else f" and {micros:.0f} µs there and back"
    return f"{worker.number(network, 'gbits') or 0.0:.2f} Gbit/s{late}"


def _hardware(report: RankReport) -> Iterator[Finding]:
    pod = f"pod {report.pod}"
    devices = report.told.get("devices")
    if isinstance(devices, dict) and devices:
        closed = [f"{name}: {why}" for name, why in devices.items() if why]
        if closed:
            yield Finding("fail", Code.TEST_DEVICE_CLOSED, pod, listed(closed))
        else:
            yield Finding("ok", Code.TEST_DEVICES_OPEN, pod, f"opens {listed(list(devices))}")
    limit, may_lock = report.number("memlock"), report.told.get("ipcLock") is True
    if devices and limit is not None and 0 <= limit < _LITTLE_MEMLOCK and not may_lock:
        message = f"may lock {limit / _MIB:.0f} MiB of memory, and has no IPC_LOCK in effect"
        yield Finding("warn", Code.TEST_MEMLOCK_LOW, pod, message)
    shared = report.number("sharedMemory")
    if shared is not None and shared <= _RUNTIMES_SHARED_MEMORY:
        yield Finding("warn", Code.SHARED_MEMORY_SMALL, pod, f"/dev/shm holds {shared / _MIB:.0f} MiB")


def _injection(pod: Object, key: str, kind: type[_T]) -> _T:
    """Return what was injected, as the pod tells it under a key; an empty value where it tells nothing of this kind."""
    found = read_injection(pod).get(key)
    return found if isinstance(found, kind) else kind()


def _why_not_tried(pods: Sequence[Object]) -> str:
    """Say why ranks that were told no address did not try to meet."""
    why = next(filter(None, (_injection(pod, "skipped", dict).get("rendezvous") for pod in pods)), "")
    return f"not measured, for the ranks are told no address to meet at: {why or 'rendezvous was not injected'}"


def _fabric_addresses(pods: Sequence[Object]) -> set[str]:
    """Return rank 0's addresses on the fabric: those that Multus gave its pod, or what the controller published of another source."""
    told = [podspec.annotations(pod) for pod in pods]
    if any(source_of(each) is not multus for each in told):
        return set(filter(None, (each.get(names.MASTER_ADDR) for each in told)))
    return {
        str(address)
        for pod in pods
        if read_report(pod).rank == 0
        for each in attached_networks(pod) or ()
        if isinstance(each.get("ips"), list)
        for address in each["ips"]
    }


def _seconds_to_network(pod: Object) -> float | None:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    at = {each.get("type"): each.get("lastTransitionTime") for each in conditions if each.get("status") == "True"}
    bound, ready = at.get("PodScheduled"), at.get("PodReadyToStartContainers")
    try:
        return (datetime.fromisoformat(str(ready)) - datetime.fromisoformat(str(bound))).total_seconds()
    except (ValueError, TypeError):
        return None


def _state(pod: Object) -> Object:
    """Return the state of the container that tests, empty while it waits to start."""
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        if status.get("name") == CONTAINER:
            return {key: value for key, value in (status.get("state") or {}).items() if key != "waiting"}
    return {}


def _at(told: Any, path: Sequence[str]) -> Any:
    for key in path:
        told = told.get(key) if isinstance(told, dict) else None
    return told
