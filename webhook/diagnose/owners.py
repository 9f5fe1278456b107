"""Tell which pods belong to one owner, and the labels by which people know it."""

from __future__ import annotations

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads import torchx
from webhook.core.workloads.systems import GROUP_NAME, GROVE, JOBSET, LWS, SIBLING_LABELS

JOB_NAMES = (
    torchx.APP_NAME,
    *(label for label in SIBLING_LABELS if not label.endswith("-uid") and label != GROUP_NAME),
)
"""Labels that hold a job's name; ``group-name`` is its operator's."""
_OWN_IDS = (JOBSET + "jobset-uid", GROVE + "podgang")
_GROUPS = (LWS + "name", LWS + "group-index")


def title(pod: Object) -> str:
    """Return the name by which people know the pod's job: of a label, its controller or the pod itself."""
    labels = podspec.labels(pod)
    named = next(
        (labels[each] for each in JOB_NAMES if labels.get(each)),
        podspec.controller(pod).get("name"),
    )
    return str(named or pod["metadata"].get("name") or "")


def identity(pod: Object) -> str:
    """Return what the pods of one owner share: a JobSet's, whose Jobs own its pods, a group of a LeaderWorkerSet, a controller."""
    labels = podspec.labels(pod)
    for label in _OWN_IDS:
        if labels.get(label):
            return labels[label]
    if labels.get(_GROUPS[0]):
        return "/".join(labels.get(label, "") for label in _GROUPS)
    return str(
        podspec.controller(pod).get("uid")
        or next((labels[each] for each in JOB_NAMES if labels.get(each)), "")
    )
