"""Look for training pods that nobody injected, because they were there before the label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from webhook.core import names, podspec
from webhook.core.errors import MalformedReview
from webhook.core.model import Object, Reason
from webhook.core.pod_check import check_pod
from webhook.core.reconcile.complaint import UNCALLED, UNPUBLISHED
from webhook.core.workloads import NotTraining, TrainingPod, recognise
from webhook.diagnose.check.namespaces import LabelledNamespace
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding
from webhook.diagnose.jobs import identity, is_out_of_reach, lacks_injection, title
from webhook.diagnose.wording import counted, listed


@dataclass(slots=True)
class _Found:
    jobs: dict[str, str] = field(default_factory=dict)
    pods: int = 0
    masters: list[str] = field(default_factory=list)


def may_be_earlier(pod: Object, namespaces: Mapping[str, LabelledNamespace]) -> bool:
    """Tell by a pod's metadata alone whether the whole pod is worth reading: a training system's, in a labelled namespace."""
    namespace = namespaces.get(_namespace(pod))
    if namespace is None or not namespace.profile or namespace.observes or not lacks_injection(pod):
        return False
    found = recognise(pod)
    return isinstance(found, TrainingPod) or found.reason is not Reason.UNKNOWN_SYSTEM


def is_unreached(pod: Object, namespaces: Mapping[str, LabelledNamespace]) -> bool:
    """Tell a pod without injection that carries the label in a namespace that does not."""
    namespace = namespaces.get(_namespace(pod))
    return is_out_of_reach(pod, namespace.labels if namespace else None) and lacks_injection(pod)


def check_earlier_pods(
    pods: Iterable[Object], unreached: Sequence[Object] = ()
) -> Iterator[Finding]:
    """Say for each namespace which unfinished jobs were there before injection; *pods*: whole, chosen by `may_be_earlier`."""
    spaces: dict[str, _Found] = {}
    for pod in pods:
        member = _member(pod)
        if member is not None:
            _note(spaces.setdefault(_namespace(pod), _Found()), pod, member)
    for namespace, found in sorted(spaces.items()):
        jobs = f"{counted(len(found.jobs), 'job')} ({listed(found.jobs.values())})"
        message = f"{counted(found.pods, 'unfinished training pod')} of {jobs} without injection"
        if found.masters:
            message += f": rank 0 ({listed(found.masters)}) {UNCALLED}, and {UNPUBLISHED}"
        action = "restart the jobs; where that does not help, see what else is said here of the webhook: is it called?"
        yield Finding("warn", Code.WEBHOOK_MISSED, f"namespace {namespace}", message, action)
    if not spaces:
        message = "none of the unfinished ones in labelled namespaces is without injection"
        yield Finding("ok", Code.ALL_INJECTED, "training pods", message)
    if unreached:
        shown = listed(f"{_namespace(pod)}/{podspec.display_name(pod)}" for pod in unreached)
        message = f"{counted(len(unreached), 'pod')} not injected, in namespaces without the label: {shown}"
        yield Finding(
            "warn", Code.WEBHOOK_OUT_OF_REACH, f"pods with label {names.PROFILE}", message
        )


def _note(found: _Found, pod: Object, member: TrainingPod) -> None:
    found.pods += 1
    meets = member.rendezvous
    found.jobs.setdefault(
        identity(pod) or (meets.job if meets else podspec.display_name(pod)), title(pod)
    )
    if meets is not None and meets.role == "master":
        found.masters.append(podspec.display_name(pod))


def _member(pod: Object) -> TrainingPod | None:
    try:
        found = recognise(check_pod(pod))
    except MalformedReview:
        return None
    return None if isinstance(found, NotTraining) else found


def _namespace(pod: Object) -> str:
    return (pod.get("metadata") or {}).get("namespace") or ""
