"""Keep c10d working where an address is moved: rank 0 must know that it hosts the store, and by which address it is reached.

Source: torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py, utils.py _matches_machine_hostname, dynamic_rendezvous.py.
"""

from __future__ import annotations

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection.plan import Plan
from webhook.core.injection.published import field_entry, is_published
from webhook.core.workloads.arguments import why_own_name_is_needed
from webhook.core.workloads.training_pod import Rendezvous


def why_name_stays(draft: Draft, plan: Plan, meets: Rendezvous) -> str:
    """Say why rank 0 keeps its address variables as the operator wrote them; empty where it does not."""
    if meets.role != "master":
        return ""
    if plan.profile.rendezvous.rank_zero == "name":
        return f"profile {plan.profile.name} says rankZero: name"
    container = draft.pod["spec"]["containers"][plan.container]
    entries = podspec.env(container)
    if any(entry["name"] != "PET_LOCAL_ADDR" and is_published(entry) for entry in entries):
        return ""  # an earlier pass has moved them
    if reason := why_own_name_is_needed(container):
        return reason
    for entry in entries:
        if entry["name"] != "PET_RDZV_CONF":
            continue
        if entry.get("valueFrom"):
            return "its PET_RDZV_CONF is not known here"
        if "is_host" in (entry.get("value") or ""):
            return "its PET_RDZV_CONF says is_host"
    return ""


def host_the_store(draft: Draft, plan: Plan) -> None:
    """Tell torchrun on rank 0 to host the store: it does not know a secondary address for its own.

    Source: torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py, utils.py _matches_machine_hostname.
    """
    path = ("spec", "containers", plan.container, "env")
    found = False
    for position, entry in enumerate(podspec.env(draft.pod["spec"]["containers"][plan.container])):
        if entry.get("name") != "PET_RDZV_CONF":
            continue
        found = True
        value = entry.get("value") or ""
        if "is_host" not in value:
            draft.replace(path, position, {"name": "PET_RDZV_CONF", "value": f"{value},is_host=1".lstrip(",")})
    if not found:
        draft.append(path, {"name": "PET_RDZV_CONF", "value": "is_host=1"})


def set_local_address(draft: Draft, plan: Plan) -> bool:
    """Give torchrun the pod's own secondary address, unless the user has; True where the pod takes it from us."""
    container = draft.pod["spec"]["containers"][plan.container]
    for entry in podspec.env(container):
        if entry.get("name") == "PET_LOCAL_ADDR":
            return is_published(entry)
    if podspec.mentions(container, "--local-addr", "--local_addr"):
        return False
    draft.append(("spec", "containers", plan.container, "env"), field_entry("PET_LOCAL_ADDR", names.LOCAL_ADDR))
    return True
