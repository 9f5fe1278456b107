"""Recognise TorchX apps, on Volcano and on MCAD.

Each replica is a Volcano task of its own, so that ``volcano.sh/task-index`` is always 0: the rank comes from TorchX's own labels.
Source: torchx schedulers/kubernetes_scheduler.py, kubernetes_mcad_scheduler.py, components/dist.py (0.7.0 to 2026.10.26).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.job_key import job_key
from webhook.core.model import Object, Reason
from webhook.core.workloads import volcano
from webhook.core.workloads.arguments import command_text, is_single_node, referred_variable, written_addresses
from webhook.core.workloads.training_pod import Rendezvous, TrainingPod

SYSTEM = "torchx"
PREFIX = "torchx.pytorch.org/"
APP_NAME = PREFIX + "app-name"
ROLE_INDEX = PREFIX + "role-index"
_RANK_ZERO_VARIABLE = "TORCHX_RANK0_HOST"
_RANK_ZERO = "role 0 replica 0"
_DEFAULTED = re.compile(r"\$\{(TORCHX_RANK0_HOST|(?:VC|TORCHX_MCAD)_[A-Z0-9_-]+_0_HOSTS):=localhost\}")
_NAMED = re.compile(r"(?<!\w)(TORCHX_RANK0_HOST|(?:VC|TORCHX_MCAD)_[A-Z0-9_]+_0_HOSTS)(?!\w)")
_UNFIT = re.compile(r"[^A-Z0-9]")


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | None:
    """Describe a TorchX replica; None for other pods."""
    if PREFIX + "version" not in labels and APP_NAME not in labels:
        return None
    role, role_name = labels.get(ROLE_INDEX), labels.get(PREFIX + "role-name", "")
    text = command_text(pod)
    container = labels.get(volcano.TASK_SPEC) or podspec.display_name(pod)
    if is_single_node(pod, text):
        message = "the app runs on one node: its ranks need no network to meet"
        return TrainingPod(SYSTEM, container, None, Reason.SINGLE_NODE, message)
    variables = _variables(pod, text, role, role_name)
    if not variables:
        message = f"the command of role {role_name!r} does not name the address of rank 0"
        return TrainingPod(SYSTEM, container, None, Reason.NO_PROCESS_GROUP, message)
    is_master = role == labels.get(PREFIX + "replica-id") == "0"
    app = labels.get("app.kubernetes.io/instance") or labels.get(volcano.JOB_NAME) or labels.get(APP_NAME, "")
    attempt = podspec.annotations(pod).get(volcano.JOB_VERSION, "")
    job_id = f"{app}/{podspec.controller(pod).get('uid', '')}"
    return TrainingPod(
        SYSTEM,
        container,
        Rendezvous(
            job=job_key(app, SYSTEM, job_id, attempt, _RANK_ZERO),
            role="master" if is_master else "worker",
            rank_zero=_RANK_ZERO,
            variables=() if is_master else tuple(dict.fromkeys(_settable(name) for name in variables)),
            kept_on_master=frozenset((_RANK_ZERO_VARIABLE,)),
        ),
    )


def _variables(pod: Object, text: str, role: str | None, role_name: str) -> tuple[str, ...]:
    """Return the variables by which the replica meets rank 0, as its command writes them.

    Role 0 may also name its own variable in another spelling, or hand the name to a program. Another role may connect to rank 0 for
    its own purposes, while rank 0 waits for nobody: it is a member only where a rendezvous option or variable takes the address.
    """
    found = dict.fromkeys(_DEFAULTED.findall(text))
    if role != "0":
        met = {
            referred_variable(one.value)
            for container in podspec.containers(pod)
            for one in written_addresses(container)
        }
        return tuple(name for name in found if _settable(name) in met)
    if not found:
        values = (entry.get("value") or "" for container in podspec.containers(pod) for entry in podspec.env(container))
        handed = [match[0] for value in values if (match := _NAMED.fullmatch(value))]
        own = _UNFIT.sub("", role_name.upper())
        found = dict.fromkeys(name for name in (*_NAMED.findall(text), *handed) if _is_of_role(name, own))
    return tuple(found)


def _is_of_role(variable: str, role: str) -> bool:
    """Tell whether *variable* is the role's own; TorchX leaves out of its name what a variable cannot hold, at times leading digits."""
    name = variable.removeprefix("VC_").removeprefix("TORCHX_MCAD_").removesuffix("_0_HOSTS")
    return variable == _RANK_ZERO_VARIABLE or role.endswith(_UNFIT.sub("", name))


def _settable(name: str) -> str:
    """Return the variable that decides what ``${NAME:=localhost}`` yields.

    TorchX writes a role's hyphen into NAME; a shell then reads ``${VC_TRAIN-LLM_0_HOSTS:=localhost}`` as "VC_TRAIN, or else the word",
    so that setting VC_TRAIN cures it.
    """
    return name.partition("-")[0]
