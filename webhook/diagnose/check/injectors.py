"""Look for other webhooks that change pods, and for those among them that do what this one does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from webhook.core.model import Object
from webhook.diagnose.check.configuration import entries_of, matches_pod_creation
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding
from webhook.diagnose.wording import counted, listed


class _Known(NamedTuple):
    """Describe a webhook that is known by a part of its configuration's name, of a webhook's name or of its Service's."""

    pattern: re.Pattern[str]
    title: str
    does: str
    action: str


_COLLIDING = (
    _Known(
        re.compile("network-resources-injector"),
        "network-resources-injector (SR-IOV operator, OpenShift Virtualization, or by itself)",
        "asks for the devices of a pod's networks too: it counts what the pod itself names, and this webhook what is there then",
        Code.INJECTOR_COLLIDES.action,
    ),
    _Known(
        re.compile("spiderpool|spidernet"),
        "Spiderpool",
        "adds networks and RDMA devices to pods that carry its annotations: such a pod may get both kinds",
        "use one of the two in a namespace",
    ),
    _Known(
        re.compile("erdma"),
        "Alibaba Cloud's eRDMA controller",
        "adds eRDMA devices and settings to pods: such a pod may get both kinds",
        "use one of the two in a namespace",
    ),
    _Known(
        re.compile("kubemacpool"),
        "KubeMacPool",
        "gives addresses to the networks that a pod names itself, not to those that are added after it",
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
"""Beginnings of the names of training systems' configurations: what they write on pods, this webhook reads."""


def check_injectors(configurations: Iterable[Object], own: str) -> Iterator[Finding]:
    """Look at every MutatingWebhookConfiguration that pods are sent to, but the one named *own*."""
    others = []
    for configuration in configurations:
        name = (configuration.get("metadata") or {}).get("name") or ""
        entries = [entry for entry in entries_of(configuration) if matches_pod_creation(entry)]
        if name == own or not entries:
            continue
        texts = " ".join([name, *(f"{entry.get('name')} {_service(entry)}" for entry in entries)])
        subject = f"MutatingWebhookConfiguration {name}"
        known = next((each for each in _COLLIDING if each.pattern.search(texts)), None)
        if "fabric-injector" in texts:
            message = "calls fabric-injector too: every pod is sent twice"
            action = f"delete it, or give --webhook-configuration in place of {own}"
            yield Finding("fail", Code.INSTALLED_TWICE, subject, message, action)
        elif known is not None:
            yield Finding(
                "warn",
                Code.INJECTOR_COLLIDES,
                subject,
                f"is {known.title}: it {known.does}",
                known.action,
            )
        elif name.startswith(_BEFORE) and name > own:
            message = f"is called after {own}, which reads what it writes on pods"
            yield Finding("warn", Code.INJECTOR_CALLED_LATER, subject, message)
        else:
            others.append(name)
    if others:
        message = f"{listed(others)} {'changes' if len(others) == 1 else 'change'} pods too; no collision is known"
        yield Finding(
            "ok", Code.INJECTORS_HARMLESS, counted(len(others), "other configuration"), message
        )
    else:
        message = "no other changes pods without a collision being told above"
        yield Finding("ok", Code.INJECTORS_HARMLESS, "other webhooks", message)


def _service(entry: Object) -> str:
    service = (entry.get("clientConfig") or {}).get("service") or {}
    return f"{service.get('namespace')}/{service.get('name')}"
