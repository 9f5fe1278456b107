"""Tell a job on one node from one on several: what all its pods show outweighs every text.

Only a pod's own variables, labels and texts count: its owner is not read.
"""

from enum import Enum

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.launchers import names_several_nodes, run_on_one_node
from webhook.core.workloads.marks import names_several

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
