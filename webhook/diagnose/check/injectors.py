"""Look for other webhooks that change pods, and for those among them that do what this one does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from webhook.core.model import Object
from webhook.diagnose.check.configuration import matches_pod_creation
from webhook.diagnose.check.needs import configurations, webhooks_of
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.snapshot import Snapshot
from webhook.diagnose.wording import counted, listed

INSTALLED_TWICE = Code(
    "installed-twice",
    "injectors",
    "Another configuration calls fabric-injector too, so every pod is sent twice.",
    "delete it, or name the right one by --webhook-configuration",
)
INJECTOR_COLLIDES = Code(
    "injector-collides",
    "injectors",
    "Another webhook changes pods in ways that collide with this one.",
    "keep the labelled namespaces out of its namespaceSelector, or of this one",
)
INJECTOR_CALLED_LATER = Code(
    "injector-called-later",
    "injectors",
    "A training system's webhook is called after this one, which reads what it writes.",
    "rename the configuration of fabric-injector, so that its name comes last",
)


class _Known(NamedTuple):
    """Describe a webhook by a part of its configuration's, its own or its Service's name."""

    pattern: re.Pattern[str]
    message: str
    action: str


_USE_ONE = "use one of the two in a namespace"
_COLLIDING = (
    _Known(
        re.compile("network-resources-injector"),
        "is network-resources-injector: it requests the devices of a pod's networks too",
        INJECTOR_COLLIDES.action,
    ),
    _Known(
        re.compile("spiderpool|spidernet"),
        "is Spiderpool: pods with its annotations may get its networks and devices besides ours",
        _USE_ONE,
    ),
    _Known(
        re.compile("erdma"),
        "is Alibaba Cloud's eRDMA controller: pods may get its devices besides ours",
        _USE_ONE,
    ),
    _Known(
        re.compile("kubemacpool"),
        "is KubeMacPool: it gives no addresses to networks that are added after it",
        "give no MAC range to the networks of the profiles",
    ),
)
_BEFORE = (
    "lws-",
    "jobset-",
    "kueue-",
    "volcano-",
    "trainer",
    "training-operator",
    "kubeflow",
    "kubedl",
    "kuberay",
)
"""Beginnings of the names of training systems' configurations."""


def check_injectors(snapshot: Snapshot) -> Iterator[Finding]:
    """Look at every other MutatingWebhookConfiguration that pods are sent to."""
    if snapshot.namespace:
        return
    own = snapshot.configuration
    others = []
    for configuration in configurations(snapshot):
        name = configuration["metadata"]["name"]
        entries = [each for each in webhooks_of(configuration) if matches_pod_creation(each)]
        if name == own or not entries:
            continue
        texts = " ".join([name, *(f"{each.get('name')} {_service(each)}" for each in entries)])
        subject = f"MutatingWebhookConfiguration {name}"
        known = next((each for each in _COLLIDING if each.pattern.search(texts)), None)
        if "fabric-injector" in texts:
            message = "calls fabric-injector too: every pod is sent twice"
            action = f"delete it, or give --webhook-configuration in place of {own}"
            yield INSTALLED_TWICE.fail(subject, message, action)
        elif known is not None:
            yield INJECTOR_COLLIDES.warn(subject, known.message, known.action)
        elif name.startswith(_BEFORE) and name > own:
            message = f"is called after {own}, which reads what it writes on pods"
            yield INJECTOR_CALLED_LATER.warn(subject, message)
        else:
            others.append(name)
    if others:
        subject = counted(len(others), "other configuration")
        yield ok("injectors", subject, f"{listed(others)}: no conflict is known")


def _service(entry: Object) -> str:
    service = (entry.get("clientConfig") or {}).get("service") or {}
    return f"{service.get('namespace')}/{service.get('name')}"
