"""Tell a job on one node from one on several: what all its pods show outweighs every text.

Only a pod's own variables, labels and texts count: its owner is not read. In general-purpose
workloads a pod with an accelerator counts by the marks that its containers show.
"""

import re
from collections.abc import Callable, Iterator
from enum import Enum

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads import words
from webhook.core.workloads.endpoint import first_label, host_of, is_local
from webhook.core.workloads.launchers import (
    assigned_variables,
    names_several_nodes,
    run_on_one_node,
    shows_launcher,
)
from webhook.core.workloads.shell import is_short

_VARIABLE = words.word("of_several")
_HOST = re.compile(r"(?<![-.\w])([a-z0-9][-a-z0-9]{0,62})(?=[.:]\w)")
_ONE = ("1", "1:1")


class Nodes(Enum):
    """Say on how many nodes a job runs, by what all its pods show."""

    ONE = "one: its pods keep what they are"
    SEVERAL = "several: every pod with an accelerator counts"
    TEXT = "not shown: its text decides, which all its pods share"
    MARKS = "not shown: pods count by their text, which may also start one node"


def told(pod: Object, variable: str) -> list[str]:
    """Return the literals that containers hold in a variable: of one name the last counts."""
    found = [podspec.env_value(container, variable) for container in podspec.containers(pod)]
    return list(filter(None, found))


def as_told(pod: Object, *variables: str, otherwise: Nodes) -> Nodes:
    """Say what the first of *variables* says that is there."""
    for variable in variables:
        if values := told(pod, variable):
            return Nodes.ONE if all(value in _ONE for value in values) else Nodes.SEVERAL
    return otherwise


def of_number(number: str | None) -> Nodes:
    """Say what a label or annotation says that counts pods."""
    if number is None or not number.isdecimal():
        return Nodes.MARKS
    return Nodes.ONE if number == "1" else Nodes.SEVERAL


def is_single_node(pod: Object) -> bool:
    """Tell a job of one node by its variables: PET_NNODES, then WORLD_SIZE, then PET_STANDALONE."""
    nodes = as_told(pod, "PET_NNODES", "WORLD_SIZE", otherwise=Nodes.TEXT)
    if nodes is not Nodes.TEXT:
        return nodes is Nodes.ONE
    return any(value.lower() not in ("0", "false") for value in told(pod, "PET_STANDALONE"))


def stays_on_one_node(pod: Object) -> bool:
    """Tell whether all launchers in sight say one node, and nothing else says several."""
    containers = podspec.containers(pod)
    if is_single_node(pod):
        return not any(map(names_several_nodes, containers))
    return run_on_one_node(containers, by_default=True) and not any(map(names_several, containers))


def find_mark(container: Object) -> str:
    """Say what shows a container to be one of several nodes: ``sets NNODES``.

    Marks: a launcher, and options and variables that say where nodes meet, how many there are or
    which one this is. The variables are the container's, or set in its text. Empty without a mark.
    """
    if shows_launcher(container):
        return "starts a launcher"
    found = next(_marks(container), None)
    return f"sets {found[0]}" if found else ""


def names_several(container: Object) -> bool:
    """Tell whether a variable says several nodes: ``MASTER_ADDR=localhost`` does not."""
    for _, value in _marks(container):
        if not is_local(host_of(value)) and value not in ("0", "1", "1:1"):
            return True
    return False


def _marks(container: Object) -> Iterator[tuple[str, str]]:
    """Yield the variables that are marks, and what they hold, as far as the pod says it."""
    for entry in podspec.env(container):
        if _VARIABLE.match(entry["name"]):
            yield entry["name"], entry.get("value") or podspec.field_path(entry)
    for name, value in assigned_variables(container):
        if _VARIABLE.match(name):
            yield name, value


def shows_member(container: Object, belongs: Callable[[str], bool]) -> bool:
    """Tell whether a variable or the command names a pod of the job, ``ddp-0.ddp``.

    *belongs* tells the names of the job's pods. Variables by reference do not count: they tell each
    pod its own name.
    """
    for entry in podspec.env(container):
        host = host_of(value := entry.get("value"))
        if host and (host != value or "." in host) and belongs(first_label(host)):
            return True
    argv = podspec.argv(container)
    return is_short(argv) and any(
        belongs(host) for text in argv for host in set(_HOST.findall(text))
    )
