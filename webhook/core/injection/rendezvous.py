"""Move the rendezvous to the secondary network where that is certain; else the job meets as it would, and trains there all the same.

What costs bandwidth follows the devices and the variables that choose an interface. The meeting itself is a few kilobytes: it is never
worth a job that hangs. So a variable takes rank 0's address only where a launcher of torch, or env://, reads it as an address and the
container's own texts do nothing else with it; commands and arguments are never changed, and an endpoint of c10d keeps its name, since
only the pod of that name hosts the store. With c10d it is PET_LOCAL_ADDR on rank 0 that gives the training processes its address.

The addresses do not exist yet at admission: Multus attaches the networks once the pod is on a node. A variable is therefore a fieldRef
to an annotation, which the kubelet reads when the container starts, and the wait container holds that start back until the annotation
is there. Source: torch/distributed/run.py, torch/distributed/elastic/rendezvous/dynamic_rendezvous.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection import copies, device_variables, wait
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.workloads.addresses import Variables
from webhook.core.workloads.endpoint import is_local, split_endpoint
from webhook.core.workloads.launchers import (
    Use,
    given_variables,
    is_in_sight,
    meets_at_static_endpoint,
    meets_by,
    runs_again,
    runs_script,
    shows_torch_launcher,
    use_of,
)
from webhook.core.workloads.training_pod import Rendezvous

STEP: Final = "rendezvous"
_TORCHS_OWN = ("MASTER_ADDR", "PET_MASTER_ADDR")
"""Variables that torch reads as an address, whatever a command says."""
_C10D: Final = "c10d"
_CONF: Final = "PET_RDZV_CONF"
_OF_TORCH: Final = frozenset(("pytorchjob", "kubedl", "torch-on-k8s"))
"""Systems whose jobs start torch alone, and give it MASTER_ADDR."""
_NONE: frozenset[str] = frozenset()
_KEPT: Final = frozenset((names.ENV_MASTER_NAME,))
"""Never moved, whatever a command does with it: it holds rank 0's name for a later pass."""


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Point the pod's address variables at rank 0's secondary address, and make the pod wait for it.

    Raises Denied for a copy of an injected pod that nobody will publish an address for and that cannot do without.
    """
    rendezvous, why_none = plan.rendezvous, plan.why_no_rendezvous
    if rendezvous is None or plan.rendezvous_network is None:
        undone = copies.undo(draft, why_none.message if why_none is not None else "no rendezvous")
        return (*((why_none,) if why_none is not None else ()), *undone)
    before = draft.edits
    is_master = rendezvous.role == "master"
    kept: list[str] = []
    uses_master = False
    if is_master and plan.profile.rendezvous.rank_zero == "name":
        kept.append(f"profile {plan.profile.name} says rankZero: name")
    else:
        for index in range(len(draft.pod["spec"]["containers"])):
            uses_master |= _move(
                draft, index, rendezvous, kept, is_training=index == plan.container
            )
    training = draft.pod["spec"]["containers"][plan.container]
    if not (uses_master or kept) and meets_by(training) == _C10D:
        kept.append(_hosts_the_store(training))
    _remember_name(draft, plan, rendezvous, moved=uses_master)
    if uses_master and is_master and rendezvous.by_operator:
        _host_the_store(draft, plan)
    training = draft.pod["spec"]["containers"][plan.container]
    is_static = not uses_master and _is_overwritten(training, rendezvous)
    uses_local = (
        not is_static
        and _wants_local_address(draft, plan, rendezvous)
        and _set_local_address(draft, plan)
    )
    # A restarted sandbox has another address, while the annotation may still hold the former one: an address of the pod's own counts
    # once an interface has it. For a worker, master-addr is another pod's.
    own = ":own" if is_master else ""
    needs = ((f"master-addr{own}",) if uses_master else ()) + (
        ("local-addr:own",) if uses_local else ()
    )
    devices = device_variables.needs(draft, plan)
    if needs or devices:
        wait.ensure(draft, plan, rendezvous, needs + devices)
    return tuple(_decisions(plan, rendezvous, needs, kept, changed=draft.edits > before))


def _decisions(
    plan: Plan, rendezvous: Rendezvous, needs: tuple[str, ...], kept: list[str], *, changed: bool
) -> Iterator[Decision]:
    if plan.training_pod is not None and plan.training_pod.message:
        message = f"pod {plan.pod_name}: {plan.training_pod.message}"
        yield Decision(STEP, Outcome.WARNED, plan.training_pod.reason, message)
    is_master = rendezvous.role == "master"
    who = (
        "rank 0"
        if is_master and rendezvous.is_certain
        else "the first pod of its role"
        if is_master
        else "a worker"
    )
    network = plan.rendezvous_network
    where = network.place if network is not None else ""
    if needs:
        outcome, reason = (
            (Outcome.INJECTED, Reason.ADDED) if changed else (Outcome.KEPT, Reason.ALREADY_THERE)
        )
        message = f"{who} of job {rendezvous.job}: its addresses come from {where} once {plan.source.WORDS.writer} has given them"
        yield Decision(STEP, outcome, reason, message)
    else:
        message = f"{who} of job {rendezvous.job} meets on the pod network and trains on {where}: it waits for no address"
        yield Decision(STEP, Outcome.KEPT, Reason.KEEPS_NAME, message)
    for why in dict.fromkeys(kept):
        yield Decision(STEP, Outcome.KEPT, Reason.KEEPS_NAME, f"keeps the name of rank 0: {why}")


def _field_entry(variable: str, annotation: str) -> Object:
    """Write an environment entry that takes its value from one of the pod's annotations."""
    path = f"metadata.annotations['{annotation}']"
    return {"name": variable, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def _move(
    draft: Draft, index: int, rendezvous: Rendezvous, kept: list[str], *, is_training: bool
) -> bool:
    """Move the variables of one container; True where one holds rank 0's address then. *kept* takes why others stay.

    A variable that another one refers to stays, but for one that has moved itself: what is left is then asked again.
    """
    while True:
        why: list[str] = []
        before = draft.edits
        moved = _move_what_may(draft, index, rendezvous, why, is_training=is_training)
        if not why or draft.edits == before:
            kept += why
            return moved


def _move_what_may(
    draft: Draft, index: int, rendezvous: Rendezvous, kept: list[str], *, is_training: bool
) -> bool:
    path = ("spec", "containers", index, "env")
    container = draft.pod["spec"]["containers"][index]
    moved = False
    has_own = False
    wanted: list[tuple[int, Object]] = []
    # Without hosts no variable names rank 0.
    asked = (
        frozenset((*_TORCHS_OWN, *given_variables(container))) - _KEPT
        if rendezvous.hosts
        else _NONE
    )
    variables = Variables(draft.pod, container) if asked else None
    uses: dict[str, Use] = {}
    for position, entry in enumerate(podspec.env(container)):
        name = entry["name"]
        has_own = has_own or name == "MASTER_ADDR"
        if "valueFrom" in entry and podspec.is_published(entry):
            moved = moved or not (name == "PET_LOCAL_ADDR" or podspec.names_devices(entry))
        elif (
            variables is not None
            and name in asked
            and _names_rank_zero(variables, entry, rendezvous)
        ):
            use = uses.get(name) or uses.setdefault(name, use_of(container, name))
            if why := _why_it_stays(container, name, use, rendezvous):
                kept.append(why)
            elif why is not None:
                wanted.append((position, _address_entry(name, use)))
    for position, replacement in wanted:
        draft.replace(path, position, replacement)
    moved = moved or bool(wanted)
    if is_training and rendezvous.by_operator and not has_own:
        use = use_of(container, "MASTER_ADDR")
        if not moved and _is_overwritten(container, rendezvous):
            kept.append(
                f"torch meets at the static endpoint that the command of container {container.get('name')} names"
            )
        elif use is not Use.OTHER and runs_again(container):
            kept.append(_in_a_loop(container, "MASTER_ADDR"))
        elif (
            use is not Use.OTHER
        ):  # in front, since $(NAME) reaches only variables that stand before it
            draft.insert(path, 0, _address_entry("MASTER_ADDR", use))
            moved = True
    return moved


def _is_overwritten(container: Object, rendezvous: Rendezvous) -> bool:
    """Tell whether torch would overwrite a MASTER_ADDR that is added, by the host of the static endpoint in the command."""
    return (
        rendezvous.by_operator
        and not podspec.has_env(container, "MASTER_ADDR")
        and meets_at_static_endpoint(container)
    )


def _names_rank_zero(variables: Variables, entry: Object, rendezvous: Rendezvous) -> bool:
    text = variables.text(entry)
    endpoint = split_endpoint(text) if text else None
    return (
        endpoint is not None
        and endpoint.host in rendezvous.hosts
        and "$" not in endpoint.host
        and not endpoint.scheme
        and not endpoint.rest
    )


def _why_it_stays(container: Object, name: str, use: Use, rendezvous: Rendezvous) -> str | None:
    """Say why a variable that names rank 0 keeps the name; empty where it moves, None where nobody asked for it to move."""
    is_taken = use in (Use.LAUNCHER, Use.ENDPOINT)
    if is_taken and not rendezvous.by_operator and runs_script(container):
        return f"what else container {container.get('name')} runs, and does with {name}, is not written in the pod"
    if name not in _TORCHS_OWN and not is_taken:
        return None
    if use is not Use.OTHER and runs_again(container):
        return _in_a_loop(container, name)
    if name not in _TORCHS_OWN:
        return ""
    if use is Use.OTHER and meets_by(container) == _C10D:
        return _hosts_the_store(container)
    if use is Use.OTHER:
        return f"the command of container {container.get('name')} does more with {name} than to give it to a torch launcher"
    if use is Use.NONE and not rendezvous.by_operator and not is_in_sight(container):
        return f"what container {container.get('name')} runs, and does with {name}, is not written in the pod"
    return ""


def _hosts_the_store(container: Object) -> str:
    who = f"torchrun in container {container.get('name')}"
    return f"{who} meets by c10d, whose store lives in the pod of that name"


def _in_a_loop(container: Object, name: str) -> str:
    who = f"container {container.get('name')} starts its ranks in a loop"
    return f"{who}, where {name} would hold the address of a rank 0 that is gone"


def _address_entry(variable: str, use: Use) -> Object:
    return _field_entry(variable, names.MASTER_HOST if use is Use.ENDPOINT else names.MASTER_ADDR)


def _remember_name(draft: Draft, plan: Plan, rendezvous: Rendezvous, *, moved: bool) -> None:
    """Keep rank 0's name, which the rewritten variables no longer tell, for a later pass and for people; ``localhost`` names nobody.

    It stands last, behind every variable that it may refer to: ``ddp-0.ddp.$(DOMAIN)``.
    """
    container = draft.pod["spec"]["containers"][plan.container]
    if moved and rendezvous.hosts and not podspec.env_value(container, names.ENV_MASTER_NAME):
        entry = {
            "name": names.ENV_MASTER_NAME,
            "value": min(rendezvous.hosts, key=lambda host: (is_local(host), host)),
        }
        draft.append(("spec", "containers", plan.container, "env"), entry)


def _host_the_store(draft: Draft, plan: Plan) -> None:
    """Tell torchrun on rank 0 to host the store of c10d, since a script may make MASTER_ADDR its endpoint.

    torchrun knows its own host by names and by the address of eth0 alone, so that nobody would host it. Static rendezvous ignores this.
    A c10d endpoint in the command may be another pod's.
    Source: torch distributed/elastic/rendezvous/c10d_rendezvous_backend.py, _matches_machine_hostname.
    """
    container = draft.pod["spec"]["containers"][plan.container]
    system = plan.training_pod.system if plan.training_pod else ""
    if is_in_sight(container) and (system not in _OF_TORCH or meets_by(container) == "c10d"):
        return
    path = ("spec", "containers", plan.container, "env")
    for position, entry in enumerate(podspec.env(container)):
        if entry.get("name") == _CONF:
            value = entry.get("value") or ""
            if not entry.get("valueFrom") and "is_host" not in value:
                draft.replace(
                    path, position, {"name": _CONF, "value": f"{value},is_host=1".lstrip(",")}
                )
            return
    value = plan.profile.env.get(
        _CONF, ""
    )  # which the step of the environment would not add to what is there
    if "is_host" not in value:
        draft.append(path, {"name": _CONF, "value": f"{value},is_host=1".lstrip(",")})


def _wants_local_address(draft: Draft, plan: Plan, rendezvous: Rendezvous) -> bool:
    """Tell whether torchrun is to know the pod by its secondary address: on rank 0; elsewhere only to keep the order of the ranks."""
    if not (
        rendezvous.by_operator
        or shows_torch_launcher(draft.pod["spec"]["containers"][plan.container])
    ):
        return False
    return rendezvous.is_certain if rendezvous.role == "master" else plan.local_address_everywhere


def _set_local_address(draft: Draft, plan: Plan) -> bool:
    """Give torchrun the pod's own secondary address, unless the user has; True where the pod takes it from us."""
    container = draft.pod["spec"]["containers"][plan.container]
    for entry in podspec.env(container):
        if entry.get("name") == "PET_LOCAL_ADDR":
            return podspec.is_published(entry)
    if podspec.mentions(container, "--local-addr", "--local_addr"):
        return False
    draft.append(
        ("spec", "containers", plan.container, "env"),
        _field_entry("PET_LOCAL_ADDR", names.LOCAL_ADDR),
    )
    return True
