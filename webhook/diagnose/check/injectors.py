"""Look for other webhooks that change pods, and for those among them that do what this one does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from webhook.core.model import Object
from webhook.diagnose.check.configuration import matches_pod_creation
from webhook.diagnose.check.needs import configurations, webhooks_of
from webhook.diagnose.finding import Code, Finding
from webhook.diagnose.snapshot import Snapshot

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
    for configuration in configurations(snapshot):
        name = configuration["metadata"]["name"]
        entries = [each for each in webhooks_of(configuration) if matches_pod_creation(each)]
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
