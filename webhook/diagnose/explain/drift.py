"""Say whether a pod would get another result today, or differs from its rank 0."""

from __future__ import annotations

from collections.abc import Iterator

from webhook import __version__
from webhook.core.model import Outcome, Reason
from webhook.diagnose.explain.admission import said
from webhook.diagnose.explain.observation import Observation, common_form, warn
from webhook.diagnose.explain.snapshot import JobSnapshot, ObservedJob
from webhook.diagnose.finding import Code
from webhook.diagnose.jobs import ObservedPod

DRIFT = Code(
    "drift",
    "drift",
    "The pod would get another result today: the profile or a network has changed.",
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


def what_changed(snapshot: JobSnapshot, job: ObservedJob) -> Iterator[Observation]:
    """Look at every injected pod that is live."""
    for pod in job.live:
        if changes := list(changes_today(snapshot, pod)):
            told = "; ".join(common_form(each, pod.name) for each in changes)
            yield warn(DRIFT, pod, f"would get another result today: {told}")


def changes_today(snapshot: JobSnapshot, pod: ObservedPod) -> Iterator[str]:
    """Yield what a live pod would get otherwise today, as far as its networks may be read.

    A pod of an earlier version of the webhook lacks nothing for that.
    """
    verdict, status = pod.verdict, pod.status
    if snapshot.refused_networks or not pod.is_live or not pod.is_injected:
        return
    if verdict is None or verdict.observed:
        return
    stale = [one for one in verdict.decisions if one.reason is Reason.STALE_MANIFEST]
    if stale:
        yield f"no address would be published to it: {said(stale[0], pod)}"
    elif not verdict.allowed:
        if verdict.reason != Reason.NETWORK_ABSENT or not pod.node:  # else that is a finding
            yield f"denied: {said(verdict.decisions[0], pod)}"
    elif not verdict.profile:
        yield "nothing would be injected: " + "; ".join(said(one, pod) for one in verdict.decisions)
    else:
        name, revision = _profile_of(pod)
        is_same = (name or verdict.profile) == verdict.profile
        is_changed = bool(revision) and revision != verdict.revision
        if not is_same or is_changed:
            now = f"profile {verdict.profile} in revision {verdict.revision}"
            yield f"{now} in place of {name} in revision {revision or '?'}"
        if is_changed or status.get("version") == __version__:
            for one in verdict.decisions:
                if one.outcome is Outcome.INJECTED:
                    yield f"{one.step}: {said(one, pod)}"


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
