"""Say whether NCCL and Gloo are given the interface on which the ranks meet, all members the same, and NCCL its devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from webhook.core import names
from webhook.core.accelerators import is_accelerator
from webhook.core.injection.environment import (
    RDMA_SWITCHES,
    disables_rdma,
    gloo_may_use,
    nccl_may_use,
)
from webhook.core.injection.fixed_settings import (
    GID_INDEX,
    INTERFACE_LISTS,
    INTERFACES,
    absent_interfaces,
    fixes_gid_index,
    may_have_more,
    rules_out_rdma,
)
from webhook.core.injection.ipc_lock import may_lock
from webhook.core.profiles import Profiles
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.observation import Observation, Stage, named
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading

_VARIABLES: tuple[tuple[str, Callable[[str, str], bool]], ...] = (
    (names.ENV_NCCL_SOCKET_IFNAME, nccl_may_use),
    (names.ENV_GLOO_SOCKET_IFNAME, gloo_may_use),
)


def observe(reading: Reading, parts: Iterable[Part]) -> Iterator[Observation]:
    """Look at literal values: those of the training container, over them those that its command exports."""
    for part in parts:
        if part.is_live and part.is_injected:
            yield from _without_devices(reading, part)
            yield from _fixed(part)


def _without_devices(reading: Reading, part: Part) -> Iterator[Observation]:
    for variable in RDMA_SWITCHES:
        value, where = value_that_counts(part, variable)
        if not value or not disables_rdma(variable, value):
            continue
        fabric = _fabric(part)
        is_rdma = may_lock(
            part.training.get("securityContext") or {}
        )  # of another fabric, sockets are the way to use it
        profile = (reading.profiles or Profiles()).profiles.get(str(part.status.get("profile")))
        if fabric and is_rdma and (profile is None or profile.env.get(variable) != value):
            message = f"{variable}={value} keeps NCCL from {', '.join(fabric)}: it uses sockets"
            action = f"remove the variable from {where}, then restart the job"
            yield Observation(
                Stage.SPEED, "warn", Code.RDMA_DISABLED, message, action, (part.name,)
            )


def _fixed(part: Part) -> Iterator[Observation]:
    """Look at settings that were right elsewhere, whether the job or the profile gives them."""
    pods = (part.name,)
    value, where = value_that_counts(part, names.ENV_NCCL_IB_GID_INDEX)
    if value and fixes_gid_index(value):
        message, action = f"NCCL_IB_GID_INDEX={value} is fixed: {GID_INDEX}", _removed(where)
        yield Observation(Stage.SPEED, "warn", Code.GID_INDEX_FIXED, message, action, pods)
    value, where = value_that_counts(part, names.ENV_UCX_TLS)
    if value and rules_out_rdma(value) and (fabric := _fabric(part)):
        message = f"UCX_TLS={value} keeps UCX from {', '.join(fabric)}: it uses sockets"
        yield Observation(Stage.SPEED, "warn", Code.RDMA_DISABLED, message, _removed(where), pods)
    attached = part.attached
    if not attached or may_have_more(part.pod):
        return
    if (
        part.member and part.member.secondary.interface
    ):  # the one that is absent is told to be elsewhere
        return
    there = [
        *INTERFACES,
        *(name for entry in attached if isinstance(name := entry.get("interface"), str) and name),
    ]
    if len(there) < len(INTERFACES) + len(attached):  # an entry that names none may be any
        return
    meets_on = part.member.wanted.rpartition("@")[2] if part.member else ""
    judged_as_a_whole = dict(_VARIABLES)
    for variable in INTERFACE_LISTS:
        value, where = value_that_counts(part, variable)
        may_use = judged_as_a_whole.get(variable)
        if not value or "$" in value or (meets_on and may_use and not may_use(value, meets_on)):
            continue
        if absent := absent_interfaces(variable, value, there):
            message = f"{variable}={value} names {', '.join(absent)}, and it has no such interface"
            yield Observation(
                Stage.SPEED, "warn", Code.INTERFACE_ABSENT, message, _removed(where), pods
            )


def _fabric(part: Part) -> list[str]:
    return [resource for resource in part.devices if not is_accelerator(resource)]


def _removed(where: str) -> str:
    return f"remove the variable from {where}, then restart the job"


def value_that_counts(part: Part, variable: str) -> tuple[str | None, str]:
    """Return the value that counts, and where it is from."""
    if exported := _exported(part, variable):
        return exported, "its command"
    return part.literals.get(variable), "the job or the profile"


def observe_together(parts: Iterable[Part]) -> Iterator[Observation]:
    """Look at whether the members agree on the interface on which they meet."""
    jobs: dict[str, list[Part]] = {}
    for part in parts:
        if part.member is not None and part.member.wanted:
            jobs.setdefault(part.member.job, []).append(part)
    for key, members in jobs.items():
        for variable, may_use in _VARIABLES:
            values: dict[str, list[str]] = {}
            for part in members:
                value, where = value_that_counts(part, variable)
                if value is None:
                    continue
                values.setdefault(value, []).append(part.name)
                interface = part.member.wanted.rpartition("@")[2] if part.member else ""
                if not may_use(value, interface):
                    message = f"{variable}={value} rules out {interface}, on which the ranks meet"
                    action = f"remove the variable from {where}, then restart the job"
                    yield Observation(
                        Stage.SPEED, "warn", Code.INTERFACE_EXCLUDED, message, action, (part.name,)
                    )
            if len(values) > 1:
                told = "; ".join(
                    f"{value or 'nothing'} in {len(pods):,} ({named(pods)})"
                    for value, pods in values.items()
                )
                message = f"its members disagree on {variable}: {told}"
                yield Observation(
                    Stage.SPEED, "warn", Code.INTERFACES_DISAGREE, message, subject=f"job {key}"
                )


def _exported(part: Part, variable: str) -> str:
    """Return the last literal value that the command's shell text gives the variable; empty where there is none."""
    if variable not in part.command:  # nearly always, and cheaper to know
        return ""
    found = re.findall(rf"\b{variable}=[\"']?([^\s\"';&|$`]+)", part.command)
    return str(found[-1]) if found else ""
