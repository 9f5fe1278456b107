"""Look for training pods that nobody injected, because they were there before the label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from webhook.core import names, podspec
from webhook.core.errors import MalformedReview
from webhook.core.finding import Finding
from webhook.core.model import Object, Reason
from webhook.core.pod_check import check_pod
from webhook.core.workloads import NotTraining, TrainingPod, recognise
from webhook.diagnose.check.namespaces import LabelledNamespace
from webhook.diagnose.wording import counted, listed

TOPIC = "earlier-pods"


@dataclass(slots=True)
class _Found:
    jobs: set[str] = field(default_factory=set)
    pods: int = 0
    masters: list[str] = field(default_factory=list)


def may_be_earlier(pod: Object, namespaces: Mapping[str, LabelledNamespace]) -> bool:
    """Tell by a pod's metadata alone whether the whole pod is worth reading: a training system's, in a labelled namespace."""
    namespace = namespaces.get(_namespace(pod))
    if namespace is None or not namespace.profile or namespace.observes or not _is_uninjected(pod):
        return False
    found = recognise(pod)
    return isinstance(found, TrainingPod) or found.reason is not Reason.UNKNOWN_SYSTEM


def is_unreached(pod: Object, namespaces: Mapping[str, LabelledNamespace]) -> bool:
    """Tell whether the pod carries the label in a namespace that does not, where the webhook may never be called for it."""
    namespace = namespaces.get(_namespace(pod))
    outside = namespace is None or names.PROFILE not in namespace.labels
    return outside and names.PROFILE in podspec.labels(pod) and _is_uninjected(pod)


def check_earlier_pods(pods: Iterable[Object], unreached: Sequence[Object] = ()) -> Iterator[Finding]:
    """Say for each namespace which unfinished jobs were there before injection; *pods*: whole, chosen by `may_be_earlier`."""
    spaces: dict[str, _Found] = {}
    for pod in pods:
        member = _member(pod)
        if member is not None:
            _note(spaces.setdefault(_namespace(pod), _Found()), pod, member)
    for namespace, found in sorted(spaces.items()):
        message = (
            f"{counted(found.pods, 'unfinished training pod')} of {counted(len(found.jobs), 'job')} without injection"
        )
        if found.masters:
            message += f", rank 0 among them ({listed(found.masters)}): pods that such a job gets from now on wait for it in vain"
        action = "restart these jobs: they were created before the namespace was labelled, or while the webhook was not called"
        yield Finding("warn", TOPIC, f"namespace {namespace}", message, action)
    if not spaces:
        yield Finding(
            "ok", TOPIC, "training pods", "none of the unfinished ones in labelled namespaces is without injection"
        )
    if unreached:
        shown = listed(f"{_namespace(pod)}/{podspec.display_name(pod)}" for pod in unreached)
        message = f"{counted(len(unreached), 'pod')} not injected, in namespaces without the label: {shown}"
        action = "label the namespaces too, or add the component that reaches labelled pods everywhere"
        yield Finding("warn", TOPIC, f"pods with label {names.PROFILE}", message, action)


def _note(found: _Found, pod: Object, member: TrainingPod) -> None:
    found.pods += 1
    meets = member.rendezvous
    owner = podspec.controller(pod)
    found.jobs.add(meets.job if meets else owner.get("uid") or podspec.display_name(pod))
    if meets is not None and meets.role == "master":
        found.masters.append(podspec.display_name(pod))


def _member(pod: Object) -> TrainingPod | None:
    try:
        found = recognise(check_pod(pod))
    except MalformedReview:
        return None
    return None if isinstance(found, NotTraining) else found


def _is_uninjected(pod: Object) -> bool:
    metadata = pod.get("metadata") or {}
    opted_out = podspec.labels(pod).get(names.PROFILE) == names.PROFILE_NONE
    return names.STATUS not in podspec.annotations(pod) and not opted_out and not metadata.get("deletionTimestamp")


def _namespace(pod: Object) -> str:
    return (pod.get("metadata") or {}).get("namespace") or ""
