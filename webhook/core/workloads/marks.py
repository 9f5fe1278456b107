"""Tell one of several nodes of a job by the marks that its containers show.

They count in general-purpose workloads, for pods with an accelerator of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.endpoint import is_local, is_torch_variable, split_endpoint
from webhook.core.workloads.launchers import assigned_variables, shows_launcher
from webhook.core.workloads.shell import is_short

_VARIABLE = re.compile(
    r"(?:\w*(?:COORDINATOR_ADDRESS|LEADER_ADDRESS|DIST_INIT_ADDR)|NNODES|NUM_NODES|N_NODES|NODE_RANK"
    r"|PET_NNODES|PET_NODE_RANK|WORLD_SIZE|MACHINE_RANK|POD_GROUP_SIZE|JAX_PROCESS_ID"
    r"|JAX_NUM_PROCESSES|TF_CONFIG)\Z"
)
"""Variables that say where nodes meet, how many there are, and which one this is."""
_HOST = re.compile(r"(?<![-.\w])([a-z0-9][-a-z0-9]{0,62})(?=[.:]\w)")


def find_mark(container: Object) -> str:
    """Say what shows a container to be one of several nodes: ``starts a launcher``, ``sets NNODES``.

    Marks: a launcher, and options and variables that say where nodes meet, how many there are or
    which one this is. The variables are the container's, or set in its text. Empty without a mark.
    """
    if shows_launcher(container):
        return "starts a launcher"
    found = next(_marks(container), None)
    return f"sets {found[0]}" if found else ""


def names_several(container: Object) -> bool:
    """Tell whether a variable says that there are several nodes: ``MASTER_ADDR=localhost`` does not."""
    return any(
        value not in ("0", "1", "1:1") and not _is_own(value) for _, value in _marks(container)
    )


def _is_own(value: str) -> bool:
    endpoint = split_endpoint(value)
    return endpoint is not None and is_local(endpoint.host)


def _marks(container: Object) -> Iterator[tuple[str, str]]:
    """Yield the variables that are marks, and what they hold, as far as the pod says it."""
    for entry in podspec.env(container):
        if _is_mark(entry["name"]):
            yield entry["name"], entry.get("value") or podspec.field_path(entry)
    for name, value in assigned_variables(container):
        if _is_mark(name):
            yield name, value


def _is_mark(variable: str) -> bool:
    return is_torch_variable(variable) or _VARIABLE.match(variable) is not None


def shows_member(container: Object, belongs: Callable[[str], bool]) -> bool:
    """Tell whether a variable or the command names a pod of the job by its host name, ``ddp-0.ddp``.

    *belongs* tells the names of the job's pods. Variables by reference do not count: they tell each
    pod its own name.
    """
    for entry in podspec.env(container):
        endpoint = split_endpoint(entry.get("value") or "")
        if endpoint is None or not (endpoint.rest or "." in endpoint.host):
            continue
        if belongs(endpoint.host.partition(".")[0]):
            return True
    argv = podspec.argv(container)
    return is_short(tuple(argv)) and any(
        belongs(host) for text in argv for host in set(_HOST.findall(text))
    )
