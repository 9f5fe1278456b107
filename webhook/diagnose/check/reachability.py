"""Try whether the API servers reach the webhook, and look for others that change pods too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from webhook.core import names
from webhook.core.errors import MalformedReview
from webhook.core.model import Object
from webhook.core.pod_check import check_pod
from webhook.diagnose.check.configuration import NAME_LABEL, matches_pod_creation, reaches
from webhook.diagnose.check.needs import (
    LabelledNamespace,
    configuration,
    configurations,
    labelled,
    webhooks_of,
)
from webhook.diagnose.common import WEBHOOK_UNREACHABLE, read_refusal
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.jobs import is_injected
from webhook.diagnose.snapshot import PROBE_SECONDS, Snapshot, Unread
from webhook.kube.catalogue import PODS
from webhook.kube.connection import RequestFailed

WEBHOOK_UNTRIED = Code(
    "reachability/webhook-untried",
    "Whether the API servers reach the webhook could not be tried.",
    "run check as somebody who may create pods in a labelled namespace",
)
WEBHOOK_DENIES = Code(
    "reachability/webhook-denies",
    "The webhook is called, and denies a plain pod of the namespace.",
    "correct what the message names, in the namespace or its profile",
)
WEBHOOK_PASSED_OVER = Code(
    "reachability/webhook-passed-over",
    "A pod came back as it was: the webhook was not called, or its failure was ignored.",
    "look at the configuration's selectors; with failurePolicy Ignore, at the webhook's pods",
)
PROBE = "fabric-injector-check-"
MOST_ATTEMPTS = 3
"""Namespaces in which a dry run is tried until one tells."""
_MOST_TEXT = 600


def check_reachability(snapshot: Snapshot) -> Iterator[Finding]:
    """Try until an attempt tells: dry runs of a pod in labelled namespaces."""
    try:
        entries = webhooks_of(configuration(snapshot))
    except Unread:
        if snapshot.namespace:  # whoever asks for one namespace need not see the configuration
            return
        raise
    if not entries:
        return
    failures: list[str] = []
    for space in _suitable(snapshot, entries):
        found = _try_dry_run(snapshot, space, [str(each.get("name")) for each in entries])
        if isinstance(found, Finding):
            yield found
            return
        failures.append(found)
    if failures or not labelled(snapshot):
        why = "; ".join(failures) or "no namespace is labelled"
        yield WEBHOOK_UNTRIED.warn("the webhook", f"could not be tried: {why[:_MOST_TEXT]}")
    else:
        yield ok("reachability", "the webhook", "was not tried: no namespace can use a profile yet")


def _suitable(snapshot: Snapshot, entries: Sequence[Object]) -> list[LabelledNamespace]:
    """Choose where a pod may be injected; those that observe, or enforce PodSecurity, come last."""
    read = snapshot.profiles()
    known = {} if read.profiles is None else read.profiles.profiles
    found = []
    for space in labelled(snapshot).values():
        labels, pod = {**space.labels, NAME_LABEL: space.name}, {names.PROFILE: space.profile}
        is_called = any(reaches(entry, labels, pod) for entry in entries)
        profile = known.get(space.profile)
        if is_called and space.profile and profile is not None and profile.is_for(space.name):
            found.append(space)
    found.sort(key=lambda each: (each.observes, names.POD_SECURITY_ENFORCE in each.labels))
    return found[:MOST_ATTEMPTS]


def _try_dry_run(
    snapshot: Snapshot, space: LabelledNamespace, webhooks: Sequence[str]
) -> Finding | str:
    """Return what a dry run says of the webhook; a text where it says nothing of it."""
    subject = f"the webhook, by a dry run of a pod in namespace {space.name} (nothing was created)"
    try:
        path, body = PODS.path_in(space.name), probe_pod(space.profile)
        request = partial(snapshot.connection.request, timeout=PROBE_SECONDS)
        response = request("POST", path, query={"dryRun": "All"}, body=body)
        pod = response.json()
        if response.status != 201:
            return _refused(str(pod.get("message") or response.problem), subject, webhooks)
        check_pod(pod)
    except RequestFailed as error:
        return _refused(str(error), subject, webhooks)
    except MalformedReview as error:
        return f"{response.request} answered with no pod: {error}"
    if is_injected(pod):
        return ok("reachability", subject, "is called, and injects")
    if any(text.startswith("observe mode") for text in response.warnings):
        return ok("reachability", subject, "is called, and observes")
    message = "was not called, or its failure was ignored: the pod came back as it was"
    return WEBHOOK_PASSED_OVER.fail(subject, message)


def _refused(message: str, subject: str, webhooks: Sequence[str]) -> Finding | str:
    refusal = read_refusal(message)
    if refusal is None or refusal.webhook not in webhooks:
        return message
    if refusal.called:
        return WEBHOOK_DENIES.warn(subject, f"is called, and denies it: {refusal.message}")
    return WEBHOOK_UNREACHABLE.fail(subject, f"cannot be called: {refusal.message}")


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
    spec = {
        "containers": [container],
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
    }
    metadata = {"generateName": PROBE, "labels": {names.PROFILE: profile}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


# others

INSTALLED_TWICE = Code(
    "injectors/installed-twice",
    "Another configuration calls fabric-injector too, so every pod is sent twice.",
    "delete it, or name the right one by --webhook-configuration",
)
INJECTOR_COLLIDES = Code(
    "injectors/injector-collides",
    "Another webhook changes pods in ways that collide with this one.",
    "keep the labelled namespaces out of its namespaceSelector, or of this one",
)
_USE_ONE = "use one of the two in a namespace"
_COLLIDING: Mapping[str, tuple[str, str]] = {
    "network-resources-injector": (
        "is network-resources-injector: it requests the devices of a pod's networks too",
        INJECTOR_COLLIDES.action,
    ),
    "spiderpool|spidernet": ("is Spiderpool: it adds networks and devices of its own", _USE_ONE),
    "erdma": ("is Alibaba Cloud's eRDMA controller: it adds devices of its own", _USE_ONE),
    "kubemacpool": (
        "is KubeMacPool: it gives no addresses to networks that are added after it",
        "give no MAC range to the networks of the profiles",
    ),
}
"""What is known of a webhook, by a part of its configuration's, its own or its Service's name."""


def check_injectors(snapshot: Snapshot) -> Iterator[Finding]:
    """Look at every other MutatingWebhookConfiguration that pods are sent to."""
    if snapshot.namespace:
        return
    own = snapshot.configuration
    for other in configurations(snapshot):
        name = other["metadata"]["name"]
        entries = [each for each in webhooks_of(other) if matches_pod_creation(each)]
        if name == own or not entries:
            continue
        texts = " ".join([name, *(f"{each.get('name')} {_service(each)}" for each in entries)])
        subject = f"MutatingWebhookConfiguration {name}"
        known = next((each for key, each in _COLLIDING.items() if re.search(key, texts)), None)
        if "fabric-injector" in texts:
            message = "calls fabric-injector too: every pod is sent twice"
            action = f"delete it, or give --webhook-configuration in place of {own}"
            yield INSTALLED_TWICE.fail(subject, message, action)
        elif known is not None:
            yield INJECTOR_COLLIDES.warn(subject, *known)


def _service(entry: Object) -> str:
    service = (entry.get("clientConfig") or {}).get("service") or {}
    return f"{service.get('namespace')}/{service.get('name')}"
