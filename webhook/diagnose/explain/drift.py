"""Say whether a pod would get another result today, or differs from its rank 0."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.core.model import Reason
from webhook.diagnose.explain.admission import said
from webhook.diagnose.explain.observation import Observation, warn
from webhook.diagnose.explain.snapshot import JobSnapshot, ObservedJob
from webhook.diagnose.finding import Code
from webhook.diagnose.jobs import ObservedPod

DRIFT = Code(
    "drift",
    "drift",
    "The pod would get another result today: its profile has changed, or is not for it.",
    "restart the job to take it up, or undo the change",
)
REVISIONS_DIFFER = Code(
    "revisions-differ",
    "drift",
    "Members of one job have different profiles, or different revisions of one.",
    "restart the job; give a changed fabric a profile of a new name, so that jobs keep theirs",
)
_LONGEST = 64
"""Characters of a value of the status annotation, which the pod's owner may have written."""


def what_changed(_snapshot: JobSnapshot, job: ObservedJob) -> Iterator[Observation]:
    """Look at every injected pod that is live."""
    for pod in job.live:
        if pod.is_injected and (today := _today(pod)):
            yield warn(DRIFT, pod, f"would get another result today: {today}")


def _today(pod: ObservedPod) -> str:
    """Say what a pod would get by another profile, or another revision of its own."""
    verdict = pod.verdict
    if verdict is None or verdict.observed:
        return ""
    if not verdict.allowed:
        is_found = verdict.reason == Reason.NETWORK_ABSENT and bool(pod.node)
        return "" if is_found else f"denied: {said(verdict.decisions[0], pod)}"
    if not verdict.profile:
        return "nothing would be injected"
    name, revision = _profile_of(pod)
    if name in ("", verdict.profile) and revision in ("", verdict.revision):
        return ""
    now = f"profile {verdict.profile} in revision {verdict.revision}"
    return f"{now} in place of {name} in revision {revision or '?'}"


def who_differs(_snapshot: JobSnapshot, job: ObservedJob) -> Iterator[Observation]:
    """Name members that have another profile than their rank 0, or another revision of it."""
    injected = sorted((pod for pod in job.live if pod.is_injected), key=lambda pod: pod.created)
    rank_zero = {pod.job: pod for pod in injected if pod.job and pod.is_master}
    for pod in injected:
        zero = rank_zero.get(pod.job, pod)
        (name, revision), (name_of_zero, revision_of_zero) = _profile_of(pod), _profile_of(zero)
        if name != name_of_zero or (revision and revision_of_zero and revision != revision_of_zero):
            has = f"has profile {name} in revision {revision}"
            message = (
                f"{has}, and rank 0, pod {zero.name}, has profile {name_of_zero} in revision "
                f"{revision_of_zero}"
            )
            yield warn(REVISIONS_DIFFER, pod, message)


def _profile_of(pod: ObservedPod) -> tuple[str, str]:
    """Return the profile of the status annotation and its revision; empty where it does not say."""
    status = pod.status
    return str(status.get("profile") or "")[:_LONGEST], str(status.get("revision") or "")[:_LONGEST]
