"""Write what `explain` found of a job into a file for bug reports, and read it again: by allow-lists, so that no secret is in it.

Two lists decide. Of each object only the fields of `_POD`, `_NODE` and `_EVENT` are taken: no value of a variable, no command, no
argument, no annotation or label that is not known. Then of each text only words that are known are kept: those of this program's own
messages and of Kubernetes' components, names of the objects at hand, numbers, times and addresses; any other is replaced by UNTOLD.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from ipaddress import ip_address
from typing import Any

from webhook import __version__
from webhook.core import names, podspec
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.printable import printable, quoted
from webhook.core.value_types import type_name
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.explanation import NOTHING, Explanation, Row
from webhook.diagnose.explain.part import attached_networks
from webhook.diagnose.explain.reading import Reading
from webhook.diagnose.finding import WEIGHT, Finding, as_document
from webhook.diagnose.owners import JOB_NAMES

FORMAT = 1
_LONGEST_FIGURE = 32
_MOST_LEVELS = 20
UNTOLD = "…"
_ROW = ("pod", "job", "role", "phase", "node", "address", "told", "wait")
_WORD = re.compile(r"[^\s\"'`(){}\[\],;<>|]+")
_INSIDE = re.compile(r"[=:/@^~]+")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_RESOURCE = re.compile(r"[a-z0-9][a-z0-9.-]*/[a-z0-9][a-z0-9._-]*")
_FIGURE = re.compile(r"[+-]?[0-9][0-9,.]{0,14}(?:[numkMGTPE]|[KMGTPE]i|B|ms|s|m|h|d|%|x)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?")
_INTERFACE = re.compile(r"(?:eth|eno|ens|enp|ib|bond|net|mlx\d_)\d{1,3}(?:[sfvp]\d{1,3}){0,3}")
_COMPONENTS = """
nodes are available Insufficient node s had untolerated taint taints didn't match Pod's affinity selector preemption
No victims found on for incoming pod is not helpful scheduling were unschedulable satisfy existing anti-affinity rules
pods PersistentVolumeClaim exceeded quota requested used limited failed must specify forbidden violates PodSecurity
restricted baseline privileged latest non-default capabilities container containers include in securityContext add
hostPath volumes volume uses error adding to network IP addresses range set Failed create sandbox rpc code Unknown
desc plugin type whereabouts macvlan ipvlan sriov host-device host-local delegateAdd conf Multus cni CNI could find
setup timeout context deadline Back-off pulling image restarting ErrImagePull ImagePullBackOff CrashLoopBackOff
OOMKilled Error Completed Evicted MountVolume SetUp references non-existent configmap secret "not found" webhook
denied the request calling connection refused no endpoints service Post https local host x509 certificate signed by
unknown authority clusterqueue flavor Workload PodGroup gang NodeNotReady kubelet stopped posting status NotReady
Ready Pending Running Succeeded Terminating ContainerCreating PodInitializing PodScheduled Initialized ContainersReady
PodReadyToStartContainers Unschedulable SchedulerError True False Warning Normal Killing FailedScheduling FailedCreate
FailedCreatePod FailedCreatePodSandBox FailedMount BackOff Preempted UnexpectedAdmissionError master worker Pod Job
JobSet PyTorchJob TrainJob StatefulSet LeaderWorkerSet Volcano ReplicaSet
LocalQueue ClusterQueue Cohort cohort couldn't assign flavors pod set insufficient unused more needed request maximum
capacity previously considered podsets requests current podset unavailable doesn't exist is inactive terminating missing or all any
Preempted preempted Preempting accommodate workload UID JobUID due reclamation prioritization within PodsReady
PodsReadyTimeout Exceeded timeout AdmissionCheck checks Retry Rejected LocalQueueStopped ClusterQueueStopped stopped
Deactivated Pending workload(s) admitted workloads Waiting condition topology allows fit only out namespace match
"""
_TEXT: Any = str
_STATE = {
    "waiting": {"reason": _TEXT},
    "running": {"startedAt": _TEXT},
    "terminated": {"reason": _TEXT, "exitCode": int, "startedAt": _TEXT, "finishedAt": _TEXT},
}
_CONTAINER_STATUS = {"name": _TEXT, "ready": bool, "restartCount": int, "state": _STATE, "lastState": _STATE}
_CONDITION = dict.fromkeys(("type", "status", "reason", "lastTransitionTime"), _TEXT)
_RESOURCES = {"limits": {"*": _TEXT}, "requests": {"*": _TEXT}}
_CONTAINER = {
    "name": _TEXT,
    "resources": _RESOURCES,
    "env": [{"name": _TEXT}],
    "restartPolicy": _TEXT,
    "securityContext": {"privileged": bool, "runAsNonRoot": bool, "runAsUser": int, "capabilities": {"add": [_TEXT]}},
}
_POD: Mapping[str, Any] = {
    "metadata": {
        **dict.fromkeys(("name", "namespace", "creationTimestamp", "deletionTimestamp"), _TEXT),
        "labels": dict.fromkeys((names.PROFILE, names.JOB, names.RENDEZVOUS, *JOB_NAMES), _TEXT),
        "annotations": dict.fromkeys(
            (*(key for key in names.OWN_ANNOTATIONS if key != names.STATUS), names.NETWORKS), _TEXT
        ),
        "ownerReferences": [{"kind": _TEXT, "name": _TEXT, "controller": bool}],
    },
    "spec": {
        **dict.fromkeys(("nodeName", "schedulerName", "restartPolicy"), _TEXT),
        **dict.fromkeys(("hostNetwork", "hostIPC", "hostUsers"), bool),
        "containers": [_CONTAINER],
        "initContainers": [_CONTAINER],
        "schedulingGates": [{"name": _TEXT}],
    },
    "status": {
        "phase": _TEXT,
        "reason": _TEXT,
        "conditions": [_CONDITION],
        "containerStatuses": [_CONTAINER_STATUS],
        "initContainerStatuses": [_CONTAINER_STATUS],
    },
}
_EVENT: Mapping[str, Any] = {
    **dict.fromkeys(("reason", "message", "type", "lastTimestamp", "reportingComponent"), _TEXT),
    "count": int,
    "involvedObject": {"kind": _TEXT, "name": _TEXT},
}
_WORKLOAD: Mapping[str, Any] = {
    "metadata": {
        **dict.fromkeys(("name", "namespace", "creationTimestamp"), _TEXT),
        "ownerReferences": [{"kind": _TEXT, "name": _TEXT, "controller": bool}],
    },
    "spec": {"queueName": _TEXT, "active": bool, "podSets": [{"name": _TEXT}]},
    "status": {
        "conditions": [{**_CONDITION, "message": _TEXT}],
        "admissionChecks": [dict.fromkeys(("name", "state", "message"), _TEXT)],
    },
}
_KUEUE_NAMES = re.compile(
    r"\b(?:[Ff]lavors?|ClusterQueue|LocalQueue|Cohort|pod set|topology|quota for|resource) \"?([a-z0-9./_-]{1,253})"
)
"""What Kueue names in its messages."""
_LEASE: Mapping[str, Any] = {"spec": {"renewTime": _TEXT, "leaseDurationSeconds": int}}


def make_bundle(reading: Reading, explanation: Explanation) -> Object:
    """Return the document of the file."""
    words = Words(reading, explanation)
    told = {**explanation.as_json(), **as_document(explanation.findings)}
    del told["summary"]
    nodes = [
        {"name": node.name, "allocatable": dict(node.allocatable), "usable": node.usable}
        for node in reading.nodes or ()
    ]
    document = {
        "bundle": FORMAT,
        "version": __version__,
        "time": reading.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "explanation": told,
        "objects": {
            "pods": [_taken(pod, _POD) for pod in reading.pods],
            "nodes": nodes,
            "events": [_taken(event, _EVENT) for event in reading.events or ()],
            "workloads": [_taken(workload, _WORKLOAD) for workload in reading.workloads or ()],
            "lease": _taken(reading.lease or {}, _LEASE),
            "networks": {"/".join(key): found is not None for key, found in reading.networks.items()},
            "profiles": sorted(reading.profiles.profiles) if reading.profiles else [],
        },
        "unread": [{"what": each.what, "problem": each.problem} for each in reading.unread],
    }
    known: Object = words.known_in(document)
    return known


def read_bundle(source: str, text: str) -> Explanation:
    """Read what `make_bundle` has written. Raises InputError for another file, one of another format, or one that was changed."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        if not text.lstrip().startswith("{"):
            raise _no_bundle(source) from None
        at = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{source}: is no JSON from {at} on: the file was cut or changed; {_AGAIN}") from None
    except (ValueError, RecursionError):
        raise _no_bundle(source) from None
    if not isinstance(document, dict) or "bundle" not in document:
        raise _no_bundle(source)
    if (number := document["bundle"]) != FORMAT:
        raise InputError(
            f"{source}: is a bundle of format {printable(str(number), 60)}; this version reads {FORMAT}: take that which made it"
        )
    told = _Field(source, "", document).inner("explanation", dict)
    findings = tuple(_read_finding(each) for each in told.items("findings", dict))
    rows = tuple(_read_row(each) for each in told.items("members", dict))
    jobs = tuple(str(each.value) for each in told.items("jobs", str))
    target, namespace = told.inner("target", str), told.inner("namespace", str)
    if not findings and not rows:
        raise told.wrong(
            f"is of {quoted(target.value)} in namespace {quoted(namespace.value)} and lacks both findings and members, one of which "
            "every bundle has"
        )
    return Explanation(target.value, namespace.value, jobs, findings, rows)


_AGAIN = "make it anew by fabric-injector bundle -o FILE"


def _no_bundle(source: str) -> InputError:
    return InputError(f"{source}: is no file of fabric-injector bundle; make one by bundle -o FILE")


class _Field:
    """Hold a value of the file and its path, so that what is wrong is told with both."""

    def __init__(self, source: str, path: str, value: Any) -> None:
        self._source, self.path, self.value = source, path, value

    def inner(self, key: str, kind: type) -> _Field:
        """Return the field of this name. Raises InputError where it is missing, or of another type."""
        found = _Field(self._source, f"{self.path}.{key}".lstrip("."), self.value.get(key))
        if key not in self.value:
            raise found.wrong("is missing")
        return found.checked(kind)

    def items(self, key: str, kind: type) -> Iterator[_Field]:
        """Yield the entries of the list of this name."""
        every = self.inner(key, list)
        for number, each in enumerate(every.value):
            yield _Field(self._source, f"{every.path}[{number}]", each).checked(kind)

    def checked(self, kind: type) -> _Field:
        """Return it, where it is of this type."""
        if type(self.value) is not kind:
            raise self.wrong(f"is {type_name(self.value)}, and must be {type_name(kind())}")
        return self

    def wrong(self, problem: str) -> InputError:
        """Return what is to be said of it."""
        return InputError(
            f"{self._source}: {self.path} {problem}: the bundle was changed, or is of a newer version; {_AGAIN}"
        )


_CODES: Mapping[str, Code] = {str(code): code for code in Code}


def _read_finding(field: _Field) -> Finding:
    level, code = field.inner("level", str), field.inner("code", str)
    if level.value not in WEIGHT:
        raise level.wrong(f"is {quoted(level.value)}, and must be one of {', '.join(WEIGHT)}")
    if code.value not in _CODES:
        raise code.wrong(f"is {quoted(code.value)}, which this version does not know")
    subject, message, action = (field.inner(key, str).value for key in ("subject", "message", "action"))
    return Finding(level.value, _CODES[code.value], subject, message, action)


def _read_row(field: _Field) -> Row:
    cells = {}
    for key in _ROW:
        value = field.value.get(key)  # null for none; earlier versions wrote ``-``
        cells[key] = ("" if key == "job" else NOTHING) if value is None else field.inner(key, str).value
    if "pod" not in field.value or field.value["pod"] is None:
        raise field.wrong("names no pod")
    details = {key: value for key, value in field.value.items() if key not in _ROW}
    if _is_deep(details):
        raise field.wrong("is nested too deeply")
    return Row(**cells, details=details)


def _is_deep(value: Any) -> bool:
    """Tell a value with more levels than any that is written, which could not be printed again."""
    level = [value]
    for _ in range(_MOST_LEVELS):
        level = [
            item
            for each in level
            for item in (each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
        ]
    return bool(level)


def _taken(value: Any, shape: Any) -> Any:
    """Return of *value* what the shape names, of the types that it names; ``*`` stands for any key."""
    if isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            return {}
        keys = value if "*" in shape else shape
        inner = {key: _taken(value[key], shape.get(key, shape.get("*"))) for key in keys if key in value}
        return {key: item for key, item in inner.items() if item not in (None, {}, [])}
    if isinstance(shape, list):
        return [_taken(item, shape[0]) for item in value] if isinstance(value, list) else []
    return value if type(value) is shape else None


class Words:
    """Know the words that a bundle may hold: those of messages, and the names of what was read."""

    def __init__(self, reading: Reading, explanation: Explanation) -> None:
        self._known = _vocabulary() | frozenset(_names_in(reading, explanation.jobs))

    def known_in(self, value: Any) -> Any:
        """Return *value* with UNTOLD for each word, of keys too, that is not known."""
        if isinstance(value, str):
            return _WORD.sub(lambda match: self._kept(match[0]), value)
        if isinstance(value, Mapping):
            return {self.known_in(str(key)): self.known_in(item) for key, item in value.items()}
        return [self.known_in(item) for item in value] if isinstance(value, list | tuple) else value

    def _kept(self, word: str) -> str:
        if self._is_known(word):
            return word
        pieces = _INSIDE.split(word)
        if len(pieces) > 1 and all(not piece or self._is_known(piece) for piece in pieces):
            return word
        return UNTOLD

    def _is_known(self, word: str) -> bool:
        if word in self._known or _is_figure(word):
            return True
        bare = word.strip(".:!?…")
        return not bare or bare in self._known or _is_figure(bare)


def _is_figure(word: str) -> bool:
    """Tell a number, a quantity, a time, an address or the usual name of an interface."""
    if any(each.fullmatch(word) for each in (_FIGURE, _TIME, _INTERFACE)):
        return len(word) <= _LONGEST_FIGURE
    try:
        return getattr(ip_address(word), "scope_id", None) is None  # behind its % may stand anything
    except ValueError:
        return False


def _names_in(reading: Reading, jobs: Iterable[str]) -> Iterator[str]:
    """Yield the names of objects, containers, resources and interfaces, as far as they are written as such are."""
    found: list[Any] = [reading.namespace, reading.owner, reading.focus, *reading.lease_key, *jobs]
    found.append(((reading.lease or {}).get("spec") or {}).get("holderIdentity"))
    found += [reading.target.partition("/")[2], *(name for key in reading.networks for name in key)]
    found += [node.name for node in reading.nodes or ()]
    found += list(reading.profiles.profiles) if reading.profiles else []
    resources: list[Any] = [resource for node in reading.nodes or () for resource in node.allocatable]
    for event in reading.events or ():
        found.append((event.get("involvedObject") or {}).get("name"))
    for workload in reading.workloads or ():
        named = list(_names_of_workload(workload))
        found += named
        resources += named
    for pod in reading.pods:
        metadata, spec, labels = pod["metadata"], pod.get("spec") or {}, podspec.labels(pod)
        found += [metadata.get("name"), spec.get("nodeName"), podspec.controller(pod).get("name")]
        found += [labels.get(key) for key in (names.JOB, *JOB_NAMES)]
        for container in (*podspec.containers(pod), *podspec.init_containers(pod)):
            found.append(container.get("name"))
            resources += [*podspec.limits(container), *podspec.requests(container)]
        for entry in attached_networks(pod) or ():
            found.append(entry.get("interface"))
    yield from (name for name in found if isinstance(name, str) and _NAME.fullmatch(name))
    for resource in resources:
        if isinstance(resource, str) and _RESOURCE.fullmatch(resource):
            yield from (resource, *resource.split("/"))


def _names_of_workload(workload: Object) -> Iterator[Any]:
    """Yield what Kueue's Workload, and the messages that Kueue writes there, name."""
    metadata, spec, status = workload["metadata"], workload.get("spec") or {}, workload.get("status") or {}
    yield from (metadata["name"], spec.get("queueName"))
    yield from (each.get("name") for each in (*(metadata.get("ownerReferences") or ()), *(spec.get("podSets") or ())))
    yield from (each.get("name") for each in status.get("admissionChecks") or ())
    for condition in status.get("conditions") or ():
        yield from _KUEUE_NAMES.findall(str(condition.get("message") or ""))


@cache
def _vocabulary() -> frozenset[str]:
    """Return the words of all texts in the code that decides and judges, and of Kubernetes' components."""
    found = {*_COMPONENTS.split(), *map(str, Code)}
    for wing in ("core", "diagnose"):
        for text in _texts(files("webhook").joinpath(wing)):
            for word in _WORD.findall(text):
                found |= {word, word.strip(".:!?…"), *_INSIDE.split(word)}
    return frozenset(found - {""})


def _texts(folder: Traversable) -> Iterator[str]:
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.is_dir():
            yield from _texts(entry)
        elif entry.name.endswith(".py"):
            for node in ast.walk(ast.parse(entry.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value
