"""Undo in a copy of an injected pod what would wait in vain.

It is a saved manifest, or what ``kubectl debug --copy-to`` makes. It has the wait container and
variables that take published addresses. Where no rendezvous is planned for it, for instance
because its labels are gone, nobody would publish them, and it would never start. A pod that is
larger than what is read is not looked at: no injected one is.
"""

import re
from typing import Final

from webhook.core import bounds, names, podspec
from webhook.core.draft import Draft
from webhook.core.errors import Denied
from webhook.core.injection import nccl_conf, wait
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.pod_types import CONTAINERS
from webhook.core.workloads.addresses import Variables

_REFERENCE: Final = re.compile(r"\$\(([^()$]+)\)")
STEP: Final = "rendezvous"


def undo(draft: Draft, why: str) -> tuple[Decision, ...]:
    """Remove what waits in a pod for which no rendezvous is planned; *why* says the reason.

    A variable of an address gets rank 0's name back where the pod still holds that. Returns a
    warning, nothing for a pod that is not a copy. Raises Denied where another text of the container
    refers to a variable that cannot be given a value.
    """
    if len(podspec.containers(draft.pod)) > CONTAINERS:  # each would be looked at
        return ()
    restored, removed = [], []
    waits = bool(wait.needs(draft.pod))
    found = [_published(container) for container in podspec.containers(draft.pod)]
    if not (waits or any(found)) or bounds.excess(draft.pod):
        return ()
    for index, published in enumerate(found):
        container = podspec.containers(draft.pod)[index]
        name = rank_zero_name(draft.pod, container) if published else ""
        referred = _referred_to(container) if published else frozenset()
        path = ("spec", "containers", index, "env")
        for position, entry in reversed(published):
            if name and entry["name"] != "PET_LOCAL_ADDR" and not podspec.names_devices(entry):
                draft.replace(path, position, {"name": entry["name"], "value": name})
                restored.append(entry["name"])
            elif entry["name"] in referred:
                message = _refused(draft.pod, container, entry["name"], why)
                raise Denied(STEP, Reason.STALE_MANIFEST, message)
            else:
                draft.remove(path, position)
                removed.append(entry["name"])
    if waits:
        nccl_conf.remove(draft)
        wait.remove(draft)
    told = ["its wait step is removed"] if waits else []
    for listed, what in ((restored, "again holds rank 0's name"), (removed, "is removed")):
        told += [f"{variable} {what}" for variable in sorted(set(listed))]
    message = (
        f"pod {podspec.display_name(draft.pod)} is a copy of an injected pod, for which no address "
        f"is published here ({why}): {', '.join(told)}"
    )
    return (Decision(STEP, Outcome.WARNED, Reason.STALE_MANIFEST, message),)


def _published(container: Object) -> list[tuple[int, Object]]:
    """Return the variables that take a published address, each with its place."""
    return [
        each
        for each in enumerate(podspec.env(container))
        if each[1].get("valueFrom") and podspec.is_published(each[1])
    ]


def rank_zero_name(pod: Object, container: Object) -> str:
    """Return the name that the injection remembered; empty where it knew none."""
    remembered = [
        entry for entry in podspec.env(container) if entry["name"] == names.ENV_MASTER_NAME
    ]
    return Variables(pod, container).text(remembered[-1]) or "" if remembered else ""


def _referred_to(container: Object) -> frozenset[str]:
    values = [entry.get("value") or "" for entry in podspec.env(container)]
    texts = [*values, *podspec.argv(container)]
    return frozenset(name for text in texts for name in _REFERENCE.findall(text))


def _refused(pod: Object, container: Object, variable: str, why: str) -> str:
    return (
        f"pod {podspec.display_name(pod)}: container {container.get('name')}: variable {variable} "
        f"waits for what is not published here ({why}): the manifest was saved from a running pod; "
        "apply the manifest that it was made from"
    )
