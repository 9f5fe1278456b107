"""Look for training pods that nobody injected, because they were there before the label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from webhook.core import names
from webhook.core.model import Object, Reason
from webhook.core.reconcile.complaint import UNPUBLISHED
from webhook.core.workloads import TrainingPod, recognise
from webhook.diagnose.check.needs import LabelledNamespace, is_installed, labelled
from webhook.diagnose.common import WEBHOOK_MISSED, WEBHOOK_OUT_OF_REACH
from webhook.diagnose.finding import Finding
from webhook.diagnose.jobs import ObservedPod, identity, is_out_of_reach, lacks_injection, title
from webhook.diagnose.snapshot import Snapshot
from webhook.diagnose.wording import counted, listed
from webhook.kube.catalogue import PODS, UNFINISHED
from webhook.kube.resource import object_key

MOST_NAMESPACES = 32
"""Namespaces whose whole pods are listed one by one; of more, those of the whole cluster are."""
_EARLIER = "was created before its namespace was labelled"
_PODS = PODS.select(fields=UNFINISHED)
_Namespaces = Mapping[str, LabelledNamespace]


def check_earlier_pods(snapshot: Snapshot) -> Iterator[Finding]:
    """Name the unfinished jobs of each namespace that run without injection.

    Their metadata says which pods are worth reading whole: many a training pod is known only by its
    variables and arguments.
    """
    if not is_installed(snapshot):
        return
    spaces = labelled(snapshot)
    kept = partial(_suspect, spaces)
    suspects = snapshot.list_all(_PODS.metadata, kept, snapshot.namespace, partly=True)
    wanted = {object_key(pod) for pod in suspects if may_be_earlier(pod, spaces)}
    where = sorted({namespace for namespace, _ in wanted})
    for namespace in where if len(where) <= MOST_NAMESPACES else [""]:
        pods = snapshot.list_all(_PODS, partial(_read_wanted, wanted), namespace, partly=True)
        yield from judge(pods)
    unreached = [object_key(pod) for pod in suspects if is_unreached(pod, spaces)]
    if unreached:
        shown = listed("/".join(key) for key in unreached)
        message = f"{counted(len(unreached), 'pod')} not injected in unlabelled namespaces: {shown}"
        yield WEBHOOK_OUT_OF_REACH.warn(f"pods with label {names.PROFILE}", message)


def _suspect(spaces: _Namespaces, pod: Object) -> Object | None:
    return pod if may_be_earlier(pod, spaces) or is_unreached(pod, spaces) else None


def _read_wanted(wanted: set[tuple[str, str]], pod: Object) -> Object | None:
    return pod if object_key(pod) in wanted else None


def may_be_earlier(pod: Object, spaces: _Namespaces) -> bool:
    """Tell by metadata whether a pod in a labelled namespace may be a training system's."""
    space = spaces.get(object_key(pod)[0])
    if space is None or not space.profile or space.observes or not lacks_injection(pod):
        return False
    found = recognise(pod)
    return isinstance(found, TrainingPod) or found.reason is not Reason.UNKNOWN_SYSTEM


def is_unreached(pod: Object, spaces: _Namespaces) -> bool:
    """Tell a pod without injection that carries the label in a namespace that does not."""
    space = spaces.get(object_key(pod)[0])
    return is_out_of_reach(pod, space.labels if space else None) and lacks_injection(pod)


def judge(pods: Iterable[Object]) -> Iterator[Finding]:
    """Say for each namespace which jobs the training pods among these are of."""
    spaces: dict[str, list[ObservedPod]] = {}
    for pod in map(ObservedPod, pods):
        if isinstance(pod.found, TrainingPod):
            spaces.setdefault(object_key(pod.pod)[0], []).append(pod)
    for namespace, found in sorted(spaces.items()):
        jobs = {identity(each.pod) or each.name: title(each.pod) for each in found}
        which = f"{counted(len(jobs), 'job')} ({listed(jobs.values())})"
        message = f"{counted(len(found), 'unfinished training pod')} of {which} not injected"
        if masters := [each.name for each in found if each.is_master]:
            message += f": rank 0 ({listed(masters)}) {_EARLIER}, and {UNPUBLISHED}"
        action = "restart the jobs; if that does not help, correct the failures of the webhook"
        yield WEBHOOK_MISSED.warn(f"namespace {namespace}", message, action)
