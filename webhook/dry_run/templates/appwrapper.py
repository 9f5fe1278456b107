"""Find the pods of the objects that an AppWrapper wraps: MCAD's v1beta1, TorchX's among them, and CodeFlare's v1beta2.

Source: project-codeflare/multi-cluster-app-dispatcher pkg/controller/queuejobresources/genericresource;
project-codeflare/appwrapper internal/controller/appwrapper/resource_management.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from webhook.core.model import Object
from webhook.core.workloads.torchx import ROLE_INDEX
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import Expand, Found, Workload


def expand(workload: Workload) -> Found:
    """Find the pods of every wrapped object; TorchX wraps each replica, of which the first two of each role are shown."""
    yield from _generic_items(workload)
    for component in workload.spec.nodes("components"):
        item = component.node("template")
        owned = _wrapped(workload, item.value, {})
        part = workload.part(
            Section(owned, item.path), {"workload.codeflare.dev/appwrapper": workload.name}
        )
        yield from workload.expand(part)


def _generic_items(workload: Workload) -> Found:
    items = [
        entry.node("generictemplate")
        for entry in workload.spec.node("resources").nodes("GenericItems")
    ]
    roles = [item.node("metadata").node("labels").text(ROLE_INDEX) for item in items]
    replicas_of, shown_replicas = Counter(roles), Counter[str]()
    for item, role in zip(items, roles, strict=True):
        metadata = item.node("metadata")
        shown_replicas[role] += 1
        if role and shown_replicas[role] > 2:
            continue
        copies = replicas_of[role] - 1 if role and shown_replicas[role] == 2 else 1
        labels = {"appwrapper.mcad.ibm.com": workload.name, "resourceName": metadata.text("name")}
        yield from workload.expand(
            workload.part(
                Section(_labelled(_wrapped(workload, item.value, labels), labels), item.path),
                copies=copies,
            )
        )


def _wrapped(workload: Workload, value: Object, labels: Mapping[str, str]) -> Object:
    """Return a wrapped object as the wrapper creates it: owned and labelled."""
    metadata = Section(value).node("metadata")
    merged = {**metadata.texts("labels"), **labels}
    owned: Object = {
        **metadata.value,
        "ownerReferences": [
            *(node.value for node in metadata.nodes("ownerReferences")),
            workload.owner(),
        ],
    }
    return {**value, "metadata": {**owned, "labels": merged} if merged else owned}


def _labelled(value: Object, labels: Mapping[str, str]) -> Object:
    """Add the labels to ``spec.template`` too, as MCAD does only where that has labels already."""
    spec = Section(value).node("spec")
    template = spec.node("template")
    own = template.node("metadata").texts("labels")
    if not own:
        return value
    metadata = {**template.node("metadata").value, "labels": {**own, **labels}}
    return {**value, "spec": {**spec.value, "template": {**template.value, "metadata": metadata}}}


KINDS: Mapping[tuple[str, str], Expand] = {
    ("workload.codeflare.dev", "AppWrapper"): expand,
    ("mcad.ibm.com", "AppWrapper"): expand,
}
