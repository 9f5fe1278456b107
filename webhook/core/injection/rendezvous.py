"""Move the rendezvous to the secondary network: variables that take the addresses which the controller will publish.

The addresses do not exist yet at admission: Multus attaches the networks once the pod is on a node. A variable is therefore a fieldRef
to an annotation, which the kubelet reads when the container starts, and the wait container holds that start back until the annotation
is there. Source: torch/distributed/run.py, for the variables that torchrun reads.

torchrun's c10d needs more than the address. Rank 0 hosts the store only where it knows the address for its own, which it does not of a
secondary one, and the nodes are ordered by the address that each gives. Source: torch/distributed/elastic/rendezvous/
c10d_rendezvous_backend.py, dynamic_rendezvous.py, utils.py _matches_machine_hostname.
"""

from __future__ import annotations

from collections.abc import Iterable

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection import copies, wait
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.workloads.addresses import Variables
from webhook.core.workloads.arguments import Rewriting, flag_variables, rewrite_arguments, why_own_name_is_needed
from webhook.core.workloads.consumption import consumed_before_port
from webhook.core.workloads.endpoint import is_local, is_rendezvous_variable, split_endpoint
from webhook.core.workloads.training_pod import Rendezvous

STEP = "rendezvous"
_HELPER = f"$({names.ENV_MASTER_HOST})"
"""Stands for the address inside a longer value, ``tcp://ADDRESS:29500``: a fieldRef can only be a whole value."""


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Point the pod's address variables at rank 0's secondary address, and make the pod wait for it.

    Raises Denied for a copy of an injected pod that nobody will publish an address for and that cannot do without.
    """
    rendezvous, why_none = plan.rendezvous, plan.why_no_rendezvous
    if rendezvous is None or plan.rendezvous_network is None:
        undone = copies.undo(draft, why_none.message if why_none is not None else "no rendezvous")
        return (*((why_none,) if why_none is not None else ()), *undone)
    before = len(draft.operations)
    is_master = rendezvous.role == "master"
    keeps_name = _why_name_stays(draft, plan) if is_master else ""
    uses_master = False
    if not keeps_name:
        for index in range(len(draft.pod["spec"]["containers"])):
            uses_master |= _rewrite(draft, index, rendezvous, is_training=index == plan.container)
    _remember_name(draft, plan, rendezvous, moved=uses_master)
    if is_master and not keeps_name:
        _host_the_store(draft, plan)
    uses_local = (is_master or plan.local_address_everywhere) and _set_local_address(draft, plan)
    # A restarted sandbox has another address, while the annotation may still hold the former one: an address of the pod's own counts
    # once an interface has it. For a worker, master-addr is another pod's.
    own = ":own" if is_master else ""
    needs = ((f"master-addr{own}",) if uses_master else ()) + (("local-addr:own",) if uses_local else ())
    if needs:
        wait.ensure(draft, plan, rendezvous, needs)
    who = "rank 0" if is_master else "a worker"
    where = f"{plan.rendezvous_network.interface} of {plan.rendezvous_network.key}"
    outcome, reason = (Outcome.INJECTED, Reason.ADDED)
    if len(draft.operations) == before:
        outcome, reason = (Outcome.KEPT, Reason.ALREADY_THERE)
    message = f"{who} of job {rendezvous.job}: its addresses come from {where} once Multus has given them"
    decisions = [Decision(STEP, outcome, reason, message)]
    if keeps_name:
        decisions.append(
            Decision(STEP, Outcome.KEPT, Reason.KEEPS_NAME, f"rank 0 keeps its address variables: {keeps_name}")
        )
    return decisions


def _field_entry(variable: str, annotation: str) -> Object:
    """Write an environment entry that takes its value from one of the pod's annotations."""
    path = f"metadata.annotations['{annotation}']"
    return {"name": variable, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def _rewrite(draft: Draft, index: int, rendezvous: Rendezvous, *, is_training: bool) -> bool:
    """Rewrite one container; True where it takes the master's address in any form."""
    path = ("spec", "containers", index)
    container = draft.pod["spec"]["containers"][index]
    kept = rendezvous.kept_on_master if rendezvous.role == "master" else frozenset()
    before_port = consumed_before_port(container)
    variables: Variables | None = None
    wanted: list[tuple[int, Object]] = []
    needs_helper = uses = False
    present, moved = set(), set()
    by_flags = flag_variables(container) if rendezvous.hosts else frozenset()
    for position, entry in enumerate(podspec.env(container)):
        name = entry["name"]
        present.add(name)
        is_address = name in rendezvous.variables or is_rendezvous_variable(name) or _is_given(entry, by_flags)
        if name in kept or not is_address:
            continue
        variables = variables or Variables(draft.pod, container)
        form = _form(variables, entry, rendezvous)
        if form is None:
            continue
        uses = True
        if form == "":
            moved.add(name)
            wanted.append((position, _address_entry(name, before_port)))
        else:
            wanted.append((position, {"name": name, "value": form}))
            needs_helper = True
    for position, replacement in wanted:
        draft.replace((*path, "env"), position, replacement)
    first = []  # in front, since $(NAME) reaches only variables that stand before it
    if is_training:
        first = [
            _address_entry(name, before_port) for name in ("MASTER_ADDR", *rendezvous.variables) if name not in present
        ]
        moved.update(entry["name"] for entry in first)
        uses = uses or bool(first)
    if rendezvous.hosts:
        bare = "$(MASTER_ADDR)" if "MASTER_ADDR" in moved - before_port else _HELPER
        rewriting = Rewriting(rendezvous.hosts, _HELPER, bare, before_port, frozenset(moved if is_training else ()))
        for key in ("command", "args"):
            for position, text in rewrite_arguments(container.get(key) or [], rewriting).items():
                draft.replace((*path, key), position, text)
                needs_helper |= _HELPER in text
                uses = True
    needs_helper |= any(_HELPER in text for text in podspec.argv(container))
    if needs_helper and names.ENV_MASTER_HOST not in present:
        first.insert(0, _field_entry(names.ENV_MASTER_HOST, names.MASTER_HOST))
    for position, entry in enumerate(first):
        draft.insert((*path, "env"), position, entry)
    return uses or needs_helper


def _is_given(entry: Object, by_flags: frozenset[str]) -> bool:
    """Tell whether a rendezvous option takes the variable; not the pod's own name or address, which serve other ends too."""
    return entry["name"] in by_flags and (not entry.get("valueFrom") or wait.is_published(entry))


def _form(variables: Variables, entry: Object, rendezvous: Rendezvous) -> str | None:
    """Return what the entry becomes: ``""`` for the address itself, a value around the helper, None where it stays."""
    if entry["name"] in rendezvous.variables or wait.is_published(entry):
        return ""
    value = entry.get("value") or ""
    if _HELPER in value:
        return value
    if "$(" in value and variables.refers_to_address(value):
        return None
    endpoint = split_endpoint(variables.text(entry) or "")
    if endpoint is None or endpoint.host not in rendezvous.hosts:
        return None
    if not endpoint.scheme and not endpoint.rest:
        return ""
    return f"{endpoint.scheme}{_HELPER}{endpoint.rest}"


def _address_entry(variable: str, before_port: frozenset[str]) -> Object:
    return _field_entry(variable, names.MASTER_HOST if variable in before_port else names.MASTER_ADDR)


def _remember_name(draft: Draft, plan: Plan, rendezvous: Rendezvous, *, moved: bool) -> None:
    """Keep rank 0's name, which the rewritten variables no longer hold, in a variable of its own: a later pass must find the same job.

    A name goes before ``localhost``, which tells no pod from another. The variable stands last, behind all that it may refer to:
    ``ddp-0.ddp.$(DOMAIN)``.
    """
    container = draft.pod["spec"]["containers"][plan.container]
    if moved and rendezvous.hosts and not podspec.has_env(container, names.ENV_MASTER_NAME):
        entry = {"name": names.ENV_MASTER_NAME, "value": min(rendezvous.hosts, key=lambda host: (is_local(host), host))}
        draft.append(("spec", "containers", plan.container, "env"), entry)


def _why_name_stays(draft: Draft, plan: Plan) -> str:
    """Say why rank 0 keeps its address variables as the operator wrote them; empty where it does not."""
    if plan.profile.rendezvous.rank_zero == "name":
        return f"profile {plan.profile.name} says rankZero: name"
    container = draft.pod["spec"]["containers"][plan.container]
    entries = podspec.env(container)
    if any(entry["name"] != "PET_LOCAL_ADDR" and wait.is_published(entry) for entry in entries):
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


def _host_the_store(draft: Draft, plan: Plan) -> None:
    """Tell torchrun on rank 0 to host the store: it does not know a secondary address for its own."""
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


def _set_local_address(draft: Draft, plan: Plan) -> bool:
    """Give torchrun the pod's own secondary address, unless the user has; True where the pod takes it from us."""
    container = draft.pod["spec"]["containers"][plan.container]
    for entry in podspec.env(container):
        if entry.get("name") == "PET_LOCAL_ADDR":
            return wait.is_published(entry)
    if podspec.mentions(container, "--local-addr", "--local_addr"):
        return False
    draft.append(("spec", "containers", plan.container, "env"), _field_entry("PET_LOCAL_ADDR", names.LOCAL_ADDR))
    return True
