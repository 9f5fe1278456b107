"""Move the rendezvous to the secondary network: variables that take the addresses which the controller will publish.

The addresses do not exist yet at admission. A fieldRef to an annotation is read when the container starts, and the wait container holds
that back until the annotation is there. Source: reference of torchrun's variables, ``torch/distributed/run.py``.
"""

from __future__ import annotations

from collections.abc import Iterable

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.errors import Denied
from webhook.core.injection import wait
from webhook.core.injection.plan import Plan
from webhook.core.injection.published import field_entry, is_published
from webhook.core.injection.rank_zero import host_the_store, set_local_address, why_name_stays
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.workloads.addresses import Variables
from webhook.core.workloads.arguments import Rewriting, flag_variables, rewrite_arguments
from webhook.core.workloads.consumption import consumed_before_port
from webhook.core.workloads.endpoint import is_local, is_rendezvous_variable, split_endpoint
from webhook.core.workloads.training_pod import Rendezvous

STEP = "rendezvous"
_HELPER = f"$({names.ENV_MASTER_HOST})"


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Point the pod's address variables at rank 0's secondary address, and make the pod wait for it.

    Raises Denied for a pod whose variables an earlier injection bound to addresses that nobody will publish now.
    """
    meets, stays = plan.meets, plan.stays
    if meets is None or plan.rendezvous is None:
        _refuse_stale(draft, plan)
        return (stays,) if stays is not None else ()
    before = len(draft.operations)
    keeps_name = why_name_stays(draft, plan, meets)
    uses_master = False
    if not keeps_name:
        for index in range(len(draft.pod["spec"]["containers"])):
            uses_master |= _rewrite(draft, index, meets, is_training=index == plan.container)
    _remember_name(draft, plan, meets, moved=uses_master)
    if meets.role == "master" and not keeps_name:
        host_the_store(draft, plan)
    uses_local = (meets.role == "master" or plan.local_address_everywhere) and set_local_address(draft, plan)
    own = ":own" if meets.role == "master" else ""
    needs = ((f"master-addr{own}",) if uses_master else ()) + (("local-addr:own",) if uses_local else ())
    if needs:
        wait.ensure(draft, plan, meets, needs)
    who = "rank 0" if meets.role == "master" else "a worker"
    where = f"{plan.rendezvous.interface} of {plan.rendezvous.key}"
    outcome, reason = (Outcome.INJECTED, Reason.ADDED)
    if len(draft.operations) == before:
        outcome, reason = (Outcome.KEPT, Reason.ALREADY_THERE)
    message = f"{who} of job {meets.job}: its addresses come from {where} once Multus has given them"
    decisions = [Decision(STEP, outcome, reason, message)]
    if keeps_name:
        decisions.append(
            Decision(STEP, Outcome.KEPT, Reason.KEEPS_NAME, f"rank 0 keeps its address variables: {keeps_name}")
        )
    return decisions


def _refuse_stale(draft: Draft, plan: Plan) -> None:
    for container in podspec.containers(draft.pod):
        for entry in podspec.env(container):
            if is_published(entry):
                raise Denied(
                    STEP,
                    Reason.STALE_MANIFEST,
                    f"pod {plan.pod_name}: container {container.get('name')}: variable {entry.get('name')} waits for an address that "
                    f"is not published here ({plan.stays.message if plan.stays else 'no rendezvous'}): the manifest was saved from a "
                    "running pod; apply the manifest that it was made from",
                )


def _rewrite(draft: Draft, index: int, meets: Rendezvous, *, is_training: bool) -> bool:
    """Rewrite one container; True where it takes the master's address in any form."""
    path = ("spec", "containers", index)
    container = draft.pod["spec"]["containers"][index]
    kept = meets.kept_on_master if meets.role == "master" else frozenset()
    before_port = consumed_before_port(container)
    variables: Variables | None = None
    wanted: list[tuple[int, Object]] = []
    needs_helper = uses = False
    present, moved = set(), set()
    by_flags = flag_variables(container) if meets.hosts else frozenset()
    for position, entry in enumerate(podspec.env(container)):
        name = entry["name"]
        present.add(name)
        if name in kept or not (name in meets.variables or is_rendezvous_variable(name) or _is_given(entry, by_flags)):
            continue
        variables = variables or Variables(draft.pod, container)
        form = _form(variables, entry, meets)
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
    first = []
    if is_training:
        first = [_address_entry(name, before_port) for name in ("MASTER_ADDR", *meets.variables) if name not in present]
        moved.update(entry["name"] for entry in first)
        uses = uses or bool(first)
    if meets.hosts:
        bare = "$(MASTER_ADDR)" if "MASTER_ADDR" in moved - before_port else _HELPER
        rewriting = Rewriting(meets.hosts, _HELPER, bare, before_port, frozenset(moved if is_training else ()))
        for key in ("command", "args"):
            for position, text in rewrite_arguments(container.get(key) or [], rewriting).items():
                draft.replace((*path, key), position, text)
                needs_helper |= _HELPER in text
                uses = True
    needs_helper |= any(_HELPER in text for text in podspec.argv(container))
    if needs_helper and names.ENV_MASTER_HOST not in present:
        first.insert(0, field_entry(names.ENV_MASTER_HOST, names.MASTER_HOST))
    for position, entry in enumerate(first):
        draft.insert((*path, "env"), position, entry)
    return uses or needs_helper


def _is_given(entry: Object, by_flags: frozenset[str]) -> bool:
    """Tell a variable of any name that a rendezvous option takes; the pod's own name and address serve other ends too."""
    return entry["name"] in by_flags and (not entry.get("valueFrom") or is_published(entry))


def _form(variables: Variables, entry: Object, meets: Rendezvous) -> str | None:
    """Return what the entry becomes: ``""`` for the address itself, a value around the helper, None where it stays."""
    if entry["name"] in meets.variables or is_published(entry):
        return ""
    value = entry.get("value") or ""
    if _HELPER in value:
        return value
    if "$(" in value and variables.refers_to_address(value):
        return None
    endpoint = split_endpoint(variables.text(entry) or "")
    if endpoint is None or endpoint.host not in meets.hosts:
        return None
    if not endpoint.scheme and not endpoint.rest:
        return ""
    return f"{endpoint.scheme}{_HELPER}{endpoint.rest}"


def _address_entry(variable: str, before_port: frozenset[str]) -> Object:
    return field_entry(variable, names.MASTER_HOST if variable in before_port else names.MASTER_ADDR)


def _remember_name(draft: Draft, plan: Plan, meets: Rendezvous, *, moved: bool) -> None:
    """Keep rank 0's name, which the rewritten variables no longer tell, for a later pass and for people; ``localhost`` names nobody.

    It stands last, behind every variable that it may refer to: ``ddp-0.ddp.$(DOMAIN)``.
    """
    container = draft.pod["spec"]["containers"][plan.container]
    if moved and meets.hosts and not podspec.has_env(container, names.ENV_MASTER_NAME):
        entry = {"name": names.ENV_MASTER_NAME, "value": min(meets.hosts, key=lambda host: (is_local(host), host))}
        draft.append(("spec", "containers", plan.container, "env"), entry)
