"""Judge the attempts to have the webhook called: a dry run of a pod, or a request by way of the API server's proxy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding
from webhook.diagnose.jobs import is_injected
from webhook.diagnose.refusal import read_refusal

PROBE = "fabric-injector-check-"
_CHECK_DID = "a dry run of a pod in namespace {} (nothing was created)"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Hold the answer to one attempt: *where* is a namespace for ``dry-run``, a Service for ``proxy``; *status* 0: none came."""

    kind: Literal["dry-run", "proxy"]
    where: str
    status: int
    message: str = ""
    returned: Object | None = None
    warnings: tuple[str, ...] = ()


def probe_pod(profile: str) -> Object:
    """Return a pod that asks to be injected, and that PodSecurity ``restricted`` takes."""
    context = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    resources = {"cpu": "1m", "memory": "1Mi"}
    container = {
        "name": "probe",
        "image": "fabric-injector-check",
        "securityContext": context,
        "resources": {"requests": resources, "limits": resources},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": PROBE, "labels": {names.PROFILE: profile}},
        "spec": {
            "containers": [container],
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
        },
    }


def is_telling(attempt: Attempt, webhooks: Sequence[str]) -> bool:
    """Tell whether the attempt says that the webhook was called, or should have been."""
    return judge(attempt, webhooks) is not None


def check_reachability(
    attempts: Sequence[Attempt], webhooks: Sequence[str], *, namespaces_known: bool = True
) -> Iterator[Finding]:
    """Say whether API servers reach the webhook; *webhooks*: the names in our configuration."""
    for attempt in attempts:
        finding = judge(attempt, webhooks)
        if finding is not None:
            yield finding
            return
    subject = "the webhook"
    if not attempts and namespaces_known:
        message = "was not called: there is no labelled namespace that its configuration and a profile choose"
        yield Finding("ok", Code.WEBHOOK_UNTRIED, subject, message)
        return
    told = "; ".join(
        f"{attempt.kind} in {attempt.where}: {attempt.message or attempt.status}"
        for attempt in attempts
    )
    message = f"could not look whether API servers reach it: {told[:600] or 'no labelled namespace is known'}"
    yield Finding("warn", Code.WEBHOOK_UNKNOWN, subject, message)


def judge(attempt: Attempt, webhooks: Sequence[str]) -> Finding | None:
    """Say what an attempt tells; None where it tells nothing of the webhook."""
    return _judge_proxy(attempt) if attempt.kind == "proxy" else _judge_dry_run(attempt, webhooks)


def _judge_dry_run(attempt: Attempt, webhooks: Sequence[str]) -> Finding | None:
    subject = f"the webhook, by {_CHECK_DID.format(attempt.where)}"
    if attempt.status == 201:
        return _judge_returned(attempt, subject)
    refusal = read_refusal(attempt.message)
    if refusal is None or refusal.webhook not in webhooks:
        return None
    if refusal.called:
        return Finding(
            "warn", Code.WEBHOOK_DENIES, subject, f"is called, and denies it: {refusal.message}"
        )
    return Finding(
        "fail", Code.WEBHOOK_UNREACHABLE, subject, f"cannot be called: {refusal.message}"
    )


def _judge_returned(attempt: Attempt, subject: str) -> Finding:
    if is_injected(attempt.returned or {}):
        return Finding("ok", Code.WEBHOOK_INJECTS, subject, "is called, and injects")
    if any(text.startswith("observe mode") for text in attempt.warnings):
        return Finding("ok", Code.WEBHOOK_OBSERVES, subject, "is called, and observes")
    message = "was not called, or its failure was passed over: the pod came back as it was"
    return Finding("fail", Code.WEBHOOK_PASSED_OVER, subject, message)


def _judge_proxy(attempt: Attempt) -> Finding | None:
    subject = f"the webhook, by the API server's proxy to Service {attempt.where}"
    if attempt.status == 405:  # /mutate takes POST alone: whoever says so is the webhook
        message = "answers; whether API servers trust its certificate is told by caBundle alone"
        return Finding("ok", Code.WEBHOOK_ANSWERS, subject, message)
    if attempt.status in (500, 502, 503, 504):
        message, action = f"does not answer: {attempt.message}", "look at its pods and its Service"
        return Finding("fail", Code.WEBHOOK_UNREACHABLE, subject, message, action)
    return None
