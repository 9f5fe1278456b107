"""Tell a pod of a general-purpose workload that is one of several nodes of a job by the marks that its containers show.

They count only for pods with an accelerator of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.endpoint import is_torch_variable, split_endpoint
from webhook.core.workloads.launchers import assigned_variables, shows_launcher
from webhook.core.workloads.shell import is_short

_VARIABLE = re.compile(
    r"(?:\w*(?:COORDINATOR_ADDRESS|LEADER_ADDRESS|DIST_INIT_ADDR)|NNODES|NUM_NODES|N_NODES|NODE_RANK|PET_NNODES|PET_NODE_RANK|WORLD_SIZE"
    r"|MACHINE_RANK|POD_GROUP_SIZE|JAX_PROCESS_ID|JAX_NUM_PROCESSES|TF_CONFIG)\Z"
)
"""Variables by which trainers and their scripts are told where to meet, how many nodes there are, and which one this is."""
_HOST = re.compile(r"(?<![-.\w])([a-z0-9][-a-z0-9]{0,62})(?=[.:]\w)")


def find_mark(container: Object) -> str:
    """Say what shows a container to be one of several nodes: ``starts a launcher``, ``sets NNODES``; empty where nothing does.

    Marks: a launcher, and options and variables that say where nodes meet, how many there are or which one this is. The variables are
    the container's, or set in its text.
    """
    if shows_launcher(container):
        return "starts a launcher"
    names = [*(entry["name"] for entry in podspec.env(container)), *assigned_variables(container)]
    found = next((name for name in names if is_torch_variable(name) or _VARIABLE.match(name)), "")
    return found and f"sets {found}"


def shows_member(container: Object, belongs: Callable[[str], bool]) -> bool:
    """Tell whether a variable or the command names a pod of the job by its host name, ``ddp-0.ddp``.

    *belongs* tells the names of the job's pods. Variables by reference do not count: they tell each pod its own name.
    """
    for entry in podspec.env(container):
        endpoint = split_endpoint(entry.get("value") or "")
        if (
            endpoint is not None
            and (endpoint.rest or "." in endpoint.host)
            and belongs(endpoint.host.partition(".")[0])
        ):
            return True
    argv = podspec.argv(container)
    return is_short(tuple(argv)) and any(
        belongs(host) for text in argv for host in set(_HOST.findall(text))
    )
