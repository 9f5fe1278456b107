"""Find pod templates by their shape, in objects of kinds that no other file knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import Found, Workload


def expand(workload: Workload) -> Found:
    """Complete one pod of each template in the object: ``{spec: {containers: […]}}``, or a list of containers in ``podSpec``.

    Whole objects inside it, as wrappers of other projects hold them, are completed by their own kind.
    """
    for node, replicas in _templates(workload.root, 1, is_root=True):
        if _is_object(node.value):
            yield from workload.expand(workload.part(node, copies=replicas))
        else:
            pod = workload.pod(node, generate_name=f"{workload.name}-", owner=workload.owner())
            yield workload.template(node, pod, replicas)


def _templates(
    node: Section, replicas: int, *, is_root: bool = False
) -> Iterator[tuple[Section, int]]:
    """Yield each template and object with the product of all ``replicas`` above it."""
    if not is_root and (_is_object(node.value) or _is_template(node.value)):
        yield node, replicas
        return
    own = node.value.get("replicas")
    replicas *= own if type(own) is int and own > 0 else 1
    for key, value in node.value.items():
        if (
            key == "podSpec"
            and isinstance(value, dict)
            and isinstance(value.get("containers"), list)
        ):
            yield Section({"metadata": _metadata(node.value), "spec": value}, node.path), replicas
        elif key not in ("status", "managedFields"):
            yield from _below(value, node.at(key), replicas)


def _below(value: Any, path: str, replicas: int) -> Iterator[tuple[Section, int]]:
    if isinstance(value, dict):
        yield from _templates(Section(value, path), replicas)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _below(item, f"{path}[{index}]", replicas)


def _is_object(value: Any) -> bool:
    return (
        isinstance(value.get("kind"), str)
        and isinstance(value.get("apiVersion"), str)
        and "metadata" in value
    )


def _is_template(value: Any) -> bool:
    spec = value.get("spec")
    return isinstance(spec, dict) and isinstance(spec.get("containers"), list)


def _metadata(holder: Any) -> Any:
    """Return labels and annotations that stand beside a ``podSpec``."""
    return {key: holder[key] for key in ("labels", "annotations") if holder.get(key) is not None}
