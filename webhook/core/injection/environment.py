"""Point NCCL's and Gloo's sockets at the interface of the job, and judge variables beside it."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Reason
from webhook.core.plan import Plan
from webhook.core.workloads.launchers import script_of

STEP: Final = Row("environment")
RDMA_SWITCHES: Final = (names.ENV_NCCL_IB_DISABLE, names.ENV_NCCL_NET)
"""Variables by which a job, often one written for another cluster, gives up its devices."""
_READ_OF_TEXT: Final = (*RDMA_SWITCHES, names.ENV_NCCL_SOCKET_IFNAME, names.ENV_GLOO_SOCKET_IFNAME)
"""Variables that are judged too where a line of the command sets them."""
_NUMBER: Final = re.compile(r"\s*[+-]?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_OVER_RDMA: Final = ("^", "all", "ib", "rc", "ud", "dc", "srd", "gga", "ugni")
"""What names of UCX's transports over RDMA begin with; or what excludes."""
_INDEX: Final = re.compile(r"\s*\+?(0[xX][0-9a-fA-F]+|\d+)")


def inject(draft: Draft, plan: Plan) -> Iterator[Decision]:
    """Name the interface of the job to NCCL and Gloo, and judge the variables of the container.

    What the container or the profile says of interfaces stays.
    """
    container = plan.trainer(draft.pod)
    there = {entry["name"]: entry.get("value") or "" for entry in podspec.env(container)}
    in_text = script_of(container).literals
    holds = there | {name: in_text[name] for name in _READ_OF_TEXT if name in in_text}
    interface = plan.rendezvous_network.interface if plan.rendezvous_network else ""
    if interface:
        yield from _name_interface(draft, plan, there, interface)
    else:
        on_host = Reason.HOST_NETWORK, "the pod is on the host network"
        reason, why = on_host if plan.host_network else plan.source.words.no_interface
        yield STEP.skipped(reason, f"no interface is named to NCCL and Gloo: {why}")
    for name, why in _faults(plan, holds, interface):
        where = f"container {plan.container_name}"
        if name in in_text:
            where = f"the command of {where}"
        elif plan.profile.env.get(name) == holds[name]:
            where = f"profile {plan.profile.name}"
        yield STEP.warned(plan, Reason.DISAGREES, f"{name} of {where} {why}")


def _name_interface(
    draft: Draft, plan: Plan, there: Mapping[str, str], interface: str
) -> Iterator[Decision]:
    who = f"container {plan.container_name}"
    ours = {name: prefix + interface for name, prefix, _ in _SOCKETS}
    kept = [name for name in ours if name in there]
    if added := [{"name": name, "value": ours[name]} for name in ours if name not in there]:
        draft.extend(plan.in_trainer("env"), added)
        besides = ", which outweigh any values of theirs in envFrom"
        gets = f"{who} gets {', '.join([each['name'] for each in added])}"
        yield STEP.added(gets + besides if plan.trainer(draft.pod).get("envFrom") else gets)
    given = {name: (ours[name], plan.profile.env.get(name, ours[name])) for name in kept}
    if kept and all(there[name] in given[name] for name in kept):
        yield STEP.already_there(f"{who} has {', '.join(kept)}")
    elif kept:
        yield STEP.kept(Reason.USER_VALUE, f"{who} sets {', '.join(kept)} itself")


def _faults(plan: Plan, holds: Mapping[str, str], interface: str) -> Iterator[tuple[str, str]]:
    """Yield the variables that keep NCCL, Gloo or UCX off the fabric, and what to do."""
    for name, prefix, means in _SOCKETS if interface else ():
        if "$(" not in (value := holds.get(name, "")) and not means(value, interface):
            write = f"write {prefix}{interface} or remove it"
            yield name, f"rules out the rendezvous network's interface; {write}"
    fabric = ""
    if plan.profile.ipc_lock and not holds.keys().isdisjoint((*RDMA_SWITCHES, names.ENV_UCX_TLS)):
        fabric = ", ".join(plan.fabric_resources)
    would = f"from {fabric}: it would use sockets; remove it"
    for name in RDMA_SWITCHES if fabric else ():
        if disables_rdma(name, holds.get(name, "")):
            yield name, f"keeps NCCL {would}"
    if fabric and _rules_out_rdma(holds.get(names.ENV_UCX_TLS, "")):
        yield names.ENV_UCX_TLS, f"keeps UCX {would}"
    # Each address of an RDMA device has its own, and macvlan and SR-IOV give each pod others.
    # Source: NCCL issues 718, 890, 1573; src/transport/net_ib/connect.cc
    # NCCL_PARAM(IbGidIndex, "IB_GID_INDEX", -1), src/misc/ibvwrap.cc, which advises the same.
    if _INDEX.match(holds.get(names.ENV_NCCL_IB_GID_INDEX, "")):
        differs = "the index of a pod's address differs from pod to pod"
        advice = "and NCCL finds it itself since 2.21; remove it"
        yield names.ENV_NCCL_IB_GID_INDEX, f"is fixed: {differs}, {advice}"


def _rules_out_rdma(value: str) -> bool:
    """Tell whether ``UCX_TLS=value`` lets UCX use TCP, and no transport over RDMA.

    A comma list; a backslash before a name takes it for no alias. A list with ``^`` in front
    excludes. Source: UCX src/ucp/core/ucp_context.c ucp_config_table, ucp_tl_aliases;
    ome-projects/ome issue 837.
    """
    transports = [name.lstrip("\\") for name in value.split(",")]
    return "tcp" in transports and not any(name.startswith(_OVER_RDMA) for name in transports)


def nccl_may_use(value: str, interface: str) -> bool:
    """Tell whether ``NCCL_SOCKET_IFNAME=value`` lets NCCL use *interface*.

    A comma list of prefixes; a leading ``^`` excludes, ``=`` compares whole names, ``^=`` excludes
    whole names; up to one character chooses nothing. Source: NCCL src/misc/socket.cc
    ncclFindInterfaces.
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
    """Tell whether ``GLOO_SOCKET_IFNAME=value`` lets Gloo use *interface*: a list of whole names.

    Source: pytorch torch/csrc/distributed/c10d/init.cpp; up to one character chooses nothing.
    """
    return len(value) < 2 or interface in value.split(",")


_SOCKETS: Final[tuple[tuple[str, str, Callable[[str, str], bool]], ...]] = (
    (names.ENV_NCCL_SOCKET_IFNAME, "=", nccl_may_use),
    (names.ENV_GLOO_SOCKET_IFNAME, "", gloo_may_use),
)
"""Without ``=`` net1 is a prefix to NCCL, and takes net10 too."""


def disables_rdma(name: str, value: str) -> bool:
    """Tell whether NCCL leaves RDMA devices alone with this value of one of RDMA_SWITCHES.

    ``NCCL_IB_DISABLE``: a number other than 0, as strtoll reads it; ``NCCL_NET``: Socket, in any
    case. Source: NCCL src/misc/param.cc, src/plugin/net.cc.
    """
    if name == names.ENV_NCCL_NET:
        return value.lower() == "socket"
    number = _NUMBER.match(value)
    return number is not None and number[1].strip("0xX") != ""
