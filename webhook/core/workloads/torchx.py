"""Recognise TorchX apps, on Volcano and on MCAD.

Each replica is a Volcano task of its own, so that ``volcano.sh/task-index`` is always 0: the rank
comes from TorchX's own labels. Source: torchx schedulers/kubernetes_scheduler.py,
kubernetes_mcad_scheduler.py, components/dist.py (0.7.0 to 2026.10.26).
"""

import re
from collections.abc import Mapping
from typing import Final, Literal

from webhook.core import podspec
from webhook.core.job_key import job_key
from webhook.core.model import Object, Reason
from webhook.core.workloads.launchers import meets_at_etcd, names_several_nodes, run_on_one_node
from webhook.core.workloads.nodes import is_single_node
from webhook.core.workloads.training_pod import Rendezvous, TrainingPod

SYSTEM: Final = "torchx"
PREFIX: Final = "torchx.pytorch.org/"
VOLCANO: Final = "volcano.sh/"
APP_NAME: Final = PREFIX + "app-name"
ROLE_INDEX: Final = PREFIX + "role-index"
_RANK_ZERO: Final = "role 0 replica 0"
_VARIABLE: Final = re.compile(
    r"(?<!\w)(?:TORCHX_RANK0_HOST|(?:VC|TORCHX_MCAD)_[A-Z0-9_-]{1,100}_0_HOSTS)(?!\w)"
)


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | None:
    """Describe a TorchX replica; None for other pods."""
    if PREFIX + "version" not in labels and APP_NAME not in labels:
        return None
    role, role_name = labels.get(ROLE_INDEX), labels.get(PREFIX + "role-name", "")
    container = labels.get(VOLCANO + "task-spec") or podspec.display_name(pod)
    containers = podspec.containers(pod)
    # Variables are the user's own here: TorchX says the number of nodes by an option.
    if run_on_one_node(containers) or (
        is_single_node(pod) and not any(map(names_several_nodes, containers))
    ):
        message = "the app runs on one node: its ranks need no network to meet"
        return TrainingPod(SYSTEM, container, None, Reason.SINGLE_NODE, message)
    is_master = role == labels.get(PREFIX + "replica-id") == "0"
    meets = role == "0" and _names_rank_zero(pod)
    if not (meets or is_master):
        reason = Reason.NO_PROCESS_GROUP
        message = f"role {role_name!r} is not the first, or does not name the address of rank 0"
        if any(map(meets_at_etcd, containers)):
            reason = Reason.USER_VALUE
            message = f"role {role_name!r} meets at etcd: the user's own address is kept"
        return TrainingPod(SYSTEM, container, None, reason, message)
    app = labels.get("app.kubernetes.io/instance") or labels.get(VOLCANO + "job-name")
    app = app or labels.get(APP_NAME, "")
    attempt = podspec.annotations(pod).get(VOLCANO + "job-version", "")
    job_id = f"{app}/{podspec.controller(pod).get('uid', '')}"
    key = job_key(app, SYSTEM, job_id, attempt, _RANK_ZERO)
    part: Literal["master", "worker"] = "master" if is_master else "worker"
    rendezvous = Rendezvous(key, part, _RANK_ZERO, by_operator=meets, is_certain=meets)
    return TrainingPod(SYSTEM, container, rendezvous)


def _names_rank_zero(pod: Object) -> bool:
    """Tell whether the replicas of role 0 meet: each then names rank 0's variable."""
    return any(
        "0_HOST" in text and _VARIABLE.search(text)
        for container in podspec.containers(pod)
        for text in (
            *podspec.argv(container),
            *(entry.get("value") or "" for entry in podspec.env(container)),
        )
    )
