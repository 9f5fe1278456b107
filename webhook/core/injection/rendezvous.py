"""Move the rendezvous to the secondary network where that is certain.

Else the job meets as it would, and trains there all the same. What costs bandwidth follows the
devices and the variables that choose an interface. The meeting itself is a few kilobytes: it is
never worth a job that hangs. So a variable takes rank 0's address only where a launcher of torch,
or env://, reads it as an address. The container's own texts must do nothing more with it. Commands
and arguments are never changed. An endpoint of c10d keeps its name, since only the pod of that name
hosts the store. PET_LOCAL_ADDR on rank 0 then gives the training processes its address.

The addresses do not exist yet at admission: Multus attaches the networks once the pod is on a node.
A variable is therefore a fieldRef to an annotation, which the kubelet reads when the container
starts. The wait container holds that start back until the annotation is there. Source:
torch/distributed/run.py, torch/distributed/elastic/rendezvous/dynamic_rendezvous.py.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection import copies, pod_variables, wait
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan
from webhook.core.wording import listed
from webhook.core.workloads.addresses import Variables
from webhook.core.workloads.endpoint import is_local
from webhook.core.workloads.launchers import (
    Use,
    given_variables,
    is_in_sight,
    meets_at_static_endpoint,
    meets_by,
    script_of,
    shows_torch_launcher,
    use_of,
)
from webhook.core.workloads.training_pod import Rendezvous

STEP: Final = Row("rendezvous")
_MASTER: Final = "MASTER_ADDR"
_LOCAL: Final = "PET_LOCAL_ADDR"
_TORCHS_OWN = (_MASTER, "PET_MASTER_ADDR")
"""Variables that torch reads as an address, whatever a command says."""
_C10D: Final = "c10d"
_CONF: Final = "PET_RDZV_CONF"
_OF_TORCH: Final = frozenset(("pytorchjob", "kubedl", "torch-on-k8s"))
"""Systems whose jobs start nothing but torch, and give it MASTER_ADDR."""


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Point the address variables at rank 0's secondary address, and make the pod wait for it.

    Raises Denied for a copy of an injected pod that nobody will publish an address for and that
    cannot do without.
    """
    rendezvous, why_none = plan.rendezvous, plan.why_no_rendezvous
    if rendezvous is None or plan.rendezvous_network is None:
        if why_none is None:
            return copies.undo(draft, "no rendezvous")
        return (why_none, *copies.undo(draft, why_none.message))
    before = draft.edits
    is_master = rendezvous.role == "master"
    kept: list[str] = []
    uses_master = False
    if is_master and plan.profile.rendezvous.rank_zero == "name":
        kept.append(f"profile {plan.profile.name} says rankZero: name")
    else:
        for index in range(len(draft.pod["spec"]["containers"])):
            uses_master |= _move(draft, plan, index, rendezvous, kept)
    if not (uses_master or kept) and meets_by(plan.trainer(draft.pod)) == _C10D:
        kept.append(_hosts_the_store(plan.trainer(draft.pod)))
    if uses_master:
        _remember_name(draft, plan, rendezvous)
        if is_master and rendezvous.by_operator:
            _host_the_store(draft, plan)
    # A restarted sandbox has another address, while the annotation may still hold the former one:
    # an address of the pod's own counts once an interface has it. For a worker, master-addr is
    # another pod's.
    own = ":own" if is_master else ""
    needs: tuple[str, ...] = (f"master-addr{own}",) if uses_master else ()
    if _takes_local_address(draft, plan, rendezvous, uses_master=uses_master):
        needs += ("local-addr:own",)
    awaited = (*needs, *pod_variables.needs(draft, plan))
    if awaited:
        wait.ensure(draft, plan, tuple(dict.fromkeys(awaited)))
    told = [*_tell(draft, plan, rendezvous, needs, changed=draft.edits > before)]
    told += [
        STEP.kept(Reason.KEEPS_NAME, f"keeps the name of rank 0: {why}")
        for why in dict.fromkeys(kept)
    ]
    return told


def _tell(
    draft: Draft, plan: Plan, rendezvous: Rendezvous, needs: tuple[str, ...], *, changed: bool
) -> Iterator[Decision]:
    """Say what the pod needs: ``waits for rank 0's address on net1 of default/a: MASTER_ADDR``."""
    if plan.training_pod is not None and plan.training_pod.message:
        yield STEP.skipped(plan.training_pod.reason, plan.training_pod.message)
    who = "a worker"
    if rendezvous.role == "master":
        who = "rank 0" if rendezvous.is_certain else "the first pod of its role"
    member = f"{who} of job {rendezvous.job}"
    place = plan.rendezvous_network.place if plan.rendezvous_network is not None else ""
    if not needs:
        message = f"{member} meets on the pod network and trains on {place}"
        if not plan.profile.address_variables:
            message += ": it waits for no address"
        yield STEP.kept(Reason.KEEPS_NAME, message)
        return
    verb, holds = "publishes its address", podspec.is_published
    if "master-addr" in needs:
        verb, holds = "waits for rank 0's address", podspec.takes_rank_zero
    entries = [each for one in podspec.containers(draft.pod) for each in podspec.references(one)]
    held = [each for each in entries if holds(each) and not podspec.names_devices(each)]
    variables = listed(dict.fromkeys(each["name"] for each in held))
    message = f"{member} {verb} on {place}: {variables}"
    yield STEP.added(message) if changed else STEP.already_there(message)


def _move(draft: Draft, plan: Plan, index: int, rendezvous: Rendezvous, kept: list[str]) -> bool:
    """Move the variables of a container; True where one holds rank 0's address then.

    *kept* takes why others stay. A variable that another one refers to stays until that one has
    moved: what is left is then asked again.
    """
    while True:
        why: list[str] = []
        before = draft.edits
        moved = _move_what_may(draft, index, rendezvous, why)
        if index == plan.container and rendezvous.by_operator:
            moved = _add_master(draft, plan, why, moved=moved) or moved
        if not why or draft.edits == before:
            kept += why
            return moved


def _move_what_may(draft: Draft, index: int, rendezvous: Rendezvous, kept: list[str]) -> bool:
    path = ("spec", "containers", index, "env")
    container = draft.pod["spec"]["containers"][index]
    moved = False
    asked: set[str] = set()
    if rendezvous.hosts:  # else no variable names rank 0
        # It holds rank 0's name for a later pass, and is never moved.
        asked = {*_TORCHS_OWN, *given_variables(container)} - {names.ENV_MASTER_NAME}
    variables = Variables(draft.pod, container) if asked else None
    uses: dict[str, Use] = {}
    wanted: list[tuple[int, Object]] = []
    for position, entry in enumerate(podspec.env(container)):
        name = entry["name"]
        if "valueFrom" in entry and podspec.is_published(entry):
            moved = moved or podspec.takes_rank_zero(entry)
        elif variables and name in asked and _is_rank_zero(variables.text(entry), rendezvous):
            use = uses.get(name) or uses.setdefault(name, use_of(container, name))
            if why := _why_it_stays(container, name, use, rendezvous):
                kept.append(why)
            elif why is not None:
                wanted.append((position, _address_entry(name, use)))
    for position, replacement in wanted:
        draft.replace(path, position, replacement)
    return moved or bool(wanted)


def _add_master(draft: Draft, plan: Plan, kept: list[str], *, moved: bool) -> bool:
    """Give the training container the MASTER_ADDR that it lacks; False where it gets none."""
    container = plan.trainer(draft.pod)
    if podspec.has_env(container, _MASTER):
        return False
    use = use_of(container, _MASTER)
    if not moved and meets_at_static_endpoint(container):
        who = f"the command of container {container.get('name')}"
        kept.append(f"torch meets at the static endpoint that {who} names")
    elif use is not Use.OTHER and script_of(container).runs_again:
        kept.append(_in_a_loop(container, _MASTER))
    elif use is not Use.OTHER:
        # In front, since $(NAME) reaches only variables that stand before it.
        draft.insert(plan.in_trainer("env"), 0, _address_entry(_MASTER, use))
        return True
    return False


def _is_rank_zero(text: str | None, rendezvous: Rendezvous) -> bool:
    """Tell whether a text is only the name of rank 0, without scheme, port or reference."""
    return text is not None and text.strip() in rendezvous.hosts and "$" not in text


def _why_it_stays(container: Object, name: str, use: Use, rendezvous: Rendezvous) -> str | None:
    """Say why a variable that names rank 0 keeps the name.

    Empty where it moves, None where nobody asked for it to move.
    """
    who, what = f"container {container.get('name')}", f"and does with {name}, is not written in"
    is_taken = use in (Use.LAUNCHER, Use.ENDPOINT)
    if is_taken and not rendezvous.by_operator and script_of(container).runs_file:
        return f"what else {who} runs, {what} the pod"
    if name not in _TORCHS_OWN and not is_taken:
        return None
    if use is not Use.OTHER and script_of(container).runs_again:
        return _in_a_loop(container, name)
    if name not in _TORCHS_OWN:
        return ""
    if use is Use.OTHER and meets_by(container) == _C10D:
        return _hosts_the_store(container)
    if use is Use.OTHER:
        return f"the command of {who} does more with {name} than to give it to a torch launcher"
    if use is Use.NONE and not rendezvous.by_operator and not is_in_sight(container):
        return f"what {who} runs, {what} the pod"
    return ""


def _hosts_the_store(container: Object) -> str:
    who = f"torchrun in container {container.get('name')}"
    return f"{who} meets by c10d, whose store lives in the pod of that name"


def _in_a_loop(container: Object, name: str) -> str:
    who = f"container {container.get('name')} starts its ranks in a loop"
    return f"{who}, where {name} would hold the address of a rank 0 that is gone"


def _address_entry(variable: str, use: Use) -> Object:
    return wait.field_entry(variable, "master-host" if use is Use.ENDPOINT else "master-addr")


def _remember_name(draft: Draft, plan: Plan, rendezvous: Rendezvous) -> None:
    """Keep rank 0's name, which moved variables no longer tell, for a later pass and for people.

    ``localhost`` names nobody. It stands last, behind every variable that it may refer to:
    ``ddp-0.ddp.$(DOMAIN)``.
    """
    name = names.ENV_MASTER_NAME
    if rendezvous.hosts and not podspec.env_value(plan.trainer(draft.pod), name):
        host = min(rendezvous.hosts, key=lambda host: (is_local(host), host))
        draft.append(plan.in_trainer("env"), {"name": name, "value": host})


def _host_the_store(draft: Draft, plan: Plan) -> None:
    """Make torchrun on rank 0 host c10d's store: a script may make MASTER_ADDR its endpoint.

    torchrun knows its own host only by names and by the address of eth0, so that nobody would host
    it. Static rendezvous ignores this. A c10d endpoint in the command may be another pod's. Source:
    torch distributed/elastic/rendezvous/c10d_rendezvous_backend.py, _matches_machine_hostname.
    """
    container = plan.trainer(draft.pod)
    is_of_torch = plan.system in _OF_TORCH
    if is_in_sight(container) and (not is_of_torch or meets_by(container) == _C10D):
        return
    path, env = plan.in_trainer("env"), podspec.env(container)
    position = next((at for at, entry in enumerate(env) if entry["name"] == _CONF), None)
    # What is there outweighs the profile's, which the step of the profile adds later.
    entry = {"value": plan.profile.env.get(_CONF)} if position is None else env[position]
    value = entry.get("value") or ""
    if entry.get("valueFrom") or "is_host" in value:
        return
    told = {"name": _CONF, "value": f"{value},is_host=1".lstrip(",")}
    if position is None:
        draft.append(path, told)
    else:
        draft.replace(path, position, told)


def _takes_local_address(
    draft: Draft, plan: Plan, rendezvous: Rendezvous, *, uses_master: bool
) -> bool:
    """Give torchrun the pod's own secondary address, unless the user has; True where it takes ours.

    On rank 0; elsewhere only to keep the order of the ranks. Never where torch meets at the static
    endpoint of its command.
    """
    container = plan.trainer(draft.pod)
    is_master, by_operator = rendezvous.role == "master", rendezvous.by_operator
    if not (rendezvous.is_certain if is_master else plan.local_address_everywhere):
        return False
    if not (by_operator or shows_torch_launcher(container)):
        return False
    has_no_address = by_operator and not uses_master and not podspec.has_env(container, _MASTER)
    if has_no_address and meets_at_static_endpoint(container):
        return False
    for entry in podspec.env(container):
        if entry.get("name") == _LOCAL:
            return podspec.is_published(entry)
    if podspec.mentions(container, "--local-addr", "--local_addr"):
        return False
    draft.append(plan.in_trainer("env"), wait.field_entry(_LOCAL, "local-addr"))
    return True
