"""Set the profile's variables, and point NCCL's and Gloo's sockets at the interface on which the job meets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from webhook.core import names
from webhook.core.draft import Draft
from webhook.core.injection.fixed_settings import JUDGED, fixed_setting
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import argv, containers, env, names_devices
from webhook.core.workloads.endpoint import first_label, is_local, split_endpoint
from webhook.core.workloads.shell import literal_assignments

STEP: Final = "environment"


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Append the variables that the training container lacks; the user's own value wins, and is judged where it can be."""
    container = containers(draft.pod)[plan.container]
    there = {entry["name"]: entry for entry in env(container)}
    in_text = literal_assignments(argv(container))
    holds = {
        **there,
        **{name: {"value": in_text[name]} for name in _READ_OF_TEXT if name in in_text},
    }
    wanted = dict(plan.profile.env)
    for (
        variable
    ) in plan.profile.device_variables:  # the step of these has been here, and env gives way to it
        if variable in there and names_devices(there[variable]):
            wanted.pop(variable, None)
    judged = []
    told: set[str] = set()
    interface = plan.rendezvous_network.interface if plan.rendezvous_network else ""
    if interface:
        for name, prefix, means in _SOCKETS:
            ours = wanted.setdefault(name, prefix + interface)
            entry = holds.get(name) or {"value": ours}
            if not _may_mean(entry, interface, means):
                where = _where(plan, name, in_text, is_ours=entry.get("value") == ours)
                judged.append(_disagrees(plan, name, where, prefix + interface))
                told.add(name)
    elif plan.host_network:
        if plan.profile.rendezvous.address_source != "multus":
            judged += _leave_out_interfaces(plan, wanted, there)
        judged.append(
            _no_interface(plan, wanted, Reason.HOST_NETWORK, "the pod is on the host network")
        )
    else:
        judged.append(_no_interface(plan, wanted, *plan.source.WORDS.no_interface))
    switches = [
        name
        for name in RDMA_SWITCHES
        if name in holds and disables_rdma(name, holds[name].get("value") or "")
    ]
    if switches and plan.profile.ipc_lock and plan.fabric_resources:
        judged += [_turned_off(plan, name, _where(plan, name, in_text)) for name in switches]
    if not (JUDGED.isdisjoint(holds) and JUDGED.isdisjoint(plan.profile.env)):
        judged += _judge_fixed(draft, plan, holds, in_text, told)
    judged += _own_address(plan, in_text)
    added = [name for name in wanted if name not in there]
    found = []
    if added:
        path = ("spec", "containers", plan.container, "env")
        draft.extend(path, [{"name": name, "value": wanted[name]} for name in added])
        found = [_added(plan, container, added)]
    if len(added) < len(wanted):
        found.append(_kept(plan, there, wanted))
    return found + judged


def _leave_out_interfaces(
    plan: Plan, wanted: dict[str, str], there: Mapping[str, Object]
) -> Iterator[Decision]:
    """Take the profile's interfaces of the pod's own network, ``eth0``, out of *wanted*: on the node they are others, or absent.

    A list of those that are not to be used, ``^lo,docker``, holds there too.
    """
    for name, _, _ in _SOCKETS:
        value = wanted.get(name, "")
        if value and not value.startswith("^") and name not in there:
            del wanted[name]
            message = (
                f"pod {plan.pod_name}: {name}={value} of profile {plan.profile.name} is left out: it names an interface of the pod "
                "network, and the pod uses the node's; set it in the pod if the node has it too"
            )
            yield Decision(STEP, Outcome.WARNED, Reason.HOST_NETWORK, message)


def _judge_fixed(
    draft: Draft,
    plan: Plan,
    there: Mapping[str, Object],
    in_text: Mapping[str, str],
    told: set[str],
) -> list[Decision]:
    """Judge what the container has or the profile gives it, but for the variables that are *told* of already."""
    env = plan.profile.env
    found: list[tuple[str, str]] = []
    if not JUDGED.isdisjoint(there):
        found += [
            (name, entry.get("value") or "")
            for name, entry in there.items()
            if name in JUDGED and not entry.get("valueFrom")
        ]
    found += [(name, value) for name, value in env.items() if name in JUDGED and name not in there]
    judged = []
    for name, value in found:
        if (
            name not in told
            and "$(" not in value
            and (why := fixed_setting(plan, draft.pod, name, value))
        ):
            where = _where(plan, name, in_text, is_ours=env.get(name) == value)
            message = f"pod {plan.pod_name}: {name} of {where} {why}"
            judged.append(Decision(STEP, Outcome.WARNED, Reason.DISAGREES, message))
    return judged


def nccl_may_use(value: str, interface: str) -> bool:
    """Tell whether ``NCCL_SOCKET_IFNAME=value`` lets NCCL use *interface*.

    A comma list of prefixes; a leading ``^`` excludes, ``=`` compares whole names, ``^=`` excludes whole names; up to one
    character chooses nothing. Source: NCCL src/misc/socket.cc ncclFindInterfaces.
    """
    if len(value) < 2:
        return True
    excludes = value.startswith("^")
    rest = value[1:] if excludes else value
    exact = rest.startswith("=")
    listed = [part.partition(":")[0] for part in (rest[1:] if exact else rest).split(",") if part]
    matches = interface in listed if exact else interface.startswith(tuple(listed))
    return (matches or not listed) is not excludes


def gloo_may_use(value: str, interface: str) -> bool:
    """Tell whether ``GLOO_SOCKET_IFNAME=value``, a comma list of whole names, lets Gloo use *interface*.

    Source: pytorch torch/csrc/distributed/c10d/init.cpp; up to one character chooses nothing.
    """
    return len(value) < 2 or interface in value.split(",")


def disables_rdma(name: str, value: str) -> bool:
    """Tell whether NCCL leaves RDMA devices alone with this value of one of RDMA_SWITCHES.

    ``NCCL_IB_DISABLE``: a number other than 0, as strtoll reads it; ``NCCL_NET``: Socket, in any case. Source: NCCL
    src/misc/param.cc, src/plugin/net.cc.
    """
    if name == names.ENV_NCCL_NET:
        return value.lower() == "socket"
    number = _NUMBER.match(value)
    return number is not None and number[1].strip("0xX") != ""


RDMA_SWITCHES = (names.ENV_NCCL_IB_DISABLE, names.ENV_NCCL_NET)
"""Variables by which a job, often one that was written for another cluster, gives up the devices that it is given."""
_ADDRESS: Final = "MASTER_ADDR"
_READ_OF_TEXT = (*RDMA_SWITCHES, names.ENV_NCCL_SOCKET_IFNAME, names.ENV_GLOO_SOCKET_IFNAME)
"""Variables that are judged too where a line of the command sets them."""
_NUMBER: Final = re.compile(r"\s*[+-]?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_SOCKETS: tuple[tuple[str, str, Callable[[str, str], bool]], ...] = (
    (
        names.ENV_NCCL_SOCKET_IFNAME,
        "=",
        nccl_may_use,
    ),  # without "=" net1 is a prefix, and takes net10 too
    (names.ENV_GLOO_SOCKET_IFNAME, "", gloo_may_use),
)


def _may_mean(entry: Object, interface: str, means: Callable[[str, str], bool]) -> bool:
    """Judge a literal value; none, as of a reference, which cannot be known here, chooses nothing."""
    value = entry.get("value") or ""
    return "$(" in value or means(value, interface)


def _where(plan: Plan, name: str, in_text: Mapping[str, str], *, is_ours: bool = False) -> str:
    """Say where a variable has its value from; what the command sets outweighs all others."""
    if name in in_text:
        return f"the command of container {plan.container_name}"
    return f"profile {plan.profile.name}" if is_ours else f"container {plan.container_name}"


def _own_address(plan: Plan, in_text: Mapping[str, str]) -> list[Decision]:
    """Say that an address which the command sets is kept, as one under env is; not rank 0's name."""
    endpoint = split_endpoint(in_text.get(_ADDRESS, ""))
    if endpoint is None or is_local(endpoint.host) or plan.training_pod is None:
        return []
    if plan.rendezvous and first_label(endpoint.host) == plan.rendezvous.rank_zero:
        return []
    where = _where(plan, _ADDRESS, in_text)
    message = f"{_ADDRESS} of {where} names {endpoint.host}: the user's own address is kept"
    return [Decision(STEP, Outcome.SKIPPED, Reason.USER_VALUE, message)]


def _disagrees(plan: Plan, name: str, where: str, wanted: str) -> Decision:
    message = f"pod {plan.pod_name}: {name} of {where} rules out the rendezvous network's interface; write {wanted} or remove it"
    return Decision(STEP, Outcome.WARNED, Reason.DISAGREES, message)


def _turned_off(plan: Plan, name: str, where: str) -> Decision:
    message = (
        f"pod {plan.pod_name}: {name} of {where} keeps NCCL from {', '.join(plan.fabric_resources)}: "
        "it would use sockets; remove it"
    )
    return Decision(STEP, Outcome.WARNED, Reason.DISAGREES, message)


def _no_interface(plan: Plan, wanted: Mapping[str, str], reason: Reason, why: str) -> Decision:
    named = [name for name, _, _ in _SOCKETS if name in wanted]
    besides = f" but by {' and '.join(named)} of profile {plan.profile.name}" if named else ""
    return Decision(
        STEP, Outcome.SKIPPED, reason, f"no interface is named to NCCL and Gloo{besides}: {why}"
    )


def _added(plan: Plan, container: Object, added: list[str]) -> Decision:
    message = f"container {plan.container_name} gets {', '.join(added)}"
    if container.get("envFrom"):
        message += ", which outweigh any values of theirs in envFrom"
    return Decision(STEP, Outcome.INJECTED, Reason.ADDED, message)


def _kept(plan: Plan, there: dict[str, Object], wanted: dict[str, str]) -> Decision:
    kept = [name for name in wanted if name in there]
    same = all(there[name].get("value") == wanted[name] for name in kept)
    message = f"container {plan.container_name} sets {', '.join(kept)} itself"
    return Decision(
        STEP, Outcome.KEPT, Reason.ALREADY_THERE if same else Reason.USER_VALUE, message
    )
