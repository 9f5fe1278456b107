"""Tell one of several nodes of a job by the marks that its containers show.

They count in general-purpose workloads, for pods with an accelerator of their own.
"""

import re
from collections.abc import Callable, Iterator

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads import words
from webhook.core.workloads.endpoint import first_label, is_local, split_endpoint
from webhook.core.workloads.launchers import assigned_variables, shows_launcher
from webhook.core.workloads.shell import is_short

_VARIABLE = words.word("of_several")
_HOST = re.compile(r"(?<![-.\w])([a-z0-9][-a-z0-9]{0,62})(?=[.:]\w)")


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
        endpoint = split_endpoint(value)
        is_own = endpoint is not None and is_local(endpoint.host)
        if not is_own and value not in ("0", "1", "1:1"):
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
        endpoint = split_endpoint(entry.get("value") or "")
        if endpoint is None or not (endpoint.rest or "." in endpoint.host):
            continue
        if belongs(first_label(endpoint.host)):
            return True
    argv = podspec.argv(container)
    return is_short(argv) and any(
        belongs(host) for text in argv for host in set(_HOST.findall(text))
    )
