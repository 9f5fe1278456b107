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
from webhook.core.workloads.addresses import Variables

_REFERENCE: Final = re.compile(r"\$\(([^()$]+)\)")
STEP: Final = "rendezvous"


def undo(draft: Draft, why: str) -> tuple[Decision, ...]:
    """Remove what waits in a pod for which no rendezvous is planned; *why* says the reason.

    A variable of an address gets rank 0's name back where the pod still holds that. Returns a
    warning, nothing for a pod that is not a copy. Raises Denied where another text of the container
    refers to a variable that cannot be given a value.
    """
    pod = draft.pod
    waits = bool(wait.needs(pod))
    published = [
        [each for each in enumerate(podspec.env(container)) if podspec.is_published(each[1])]
        for container in podspec.containers(pod)
    ]
    if not (waits or any(published)) or bounds.excess(pod):
        return ()
    told = ["its wait step is removed"] if waits else []
    restored, removed = set(), set()
    for index, entries in enumerate(published):
        if not entries:
            continue
        container = podspec.containers(draft.pod)[index]
        name = rank_zero_name(draft.pod, container)
        values = [each.get("value") or "" for each in podspec.env(container)]
        texts = [*values, *podspec.argv(container)]
        referred = {each for text in texts for each in _REFERENCE.findall(text)}
        path = ("spec", "containers", index, "env")
        for position, entry in reversed(entries):
            variable = entry["name"]
            if name and podspec.takes_rank_zero(entry):
                draft.replace(path, position, {"name": variable, "value": name})
                restored.add(variable)
                continue
            if variable in referred:
                message = (
                    f"pod {podspec.display_name(pod)}: container {container.get('name')}: variable "
                    f"{variable} waits for what is not published here ({why}): the manifest was "
                    "saved from a running pod; apply the manifest that it was made from"
                )
                raise Denied(STEP, Reason.STALE_MANIFEST, message)
            draft.remove(path, position)
            removed.add(variable)
    if waits:
        nccl_conf.remove(draft)
        wait.remove(draft)
    told += [f"{each} again holds rank 0's name" for each in sorted(restored)]
    told += [f"{each} is removed" for each in sorted(removed)]
    message = (
        f"pod {podspec.display_name(pod)} is a copy of an injected pod, for which no address "
        f"is published here ({why}): {', '.join(told)}"
    )
    return (Decision(STEP, Outcome.WARNED, Reason.STALE_MANIFEST, message),)


def rank_zero_name(pod: Object, container: Object) -> str:
    """Return the name that the injection remembered; empty where it knew none."""
    for entry in reversed(podspec.env(container)):
        if entry["name"] == names.ENV_MASTER_NAME:
            return Variables(pod, container).text(entry) or ""
    return ""
