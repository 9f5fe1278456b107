"""Bound what is read of a pod, before it is read: its creator may send one of any shape.

Mutation comes before Kubernetes' own validation, so that none of its limits holds here. `pod_types`
bounds single lists, maps and names; here stands what the containers of a pod may hold together.
"""

from collections.abc import Iterable, Sized
from typing import Final

import msgspec

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.pod_types import CONTAINERS, LONGEST_NAME, Container, Pod, Spec
from webhook.core.value_types import explain, format_path

ITEMS: Final = 5_000
"""Variables, words of command and args, mounts, resources and claims of all containers together."""
COMMAND: Final = 32_768
"""Characters of a container's command and args that are read as a shell would. A longer one is a
program of its own, and not read."""
COMMANDS: Final = 65_536
"""The same of all app containers together: each may be read."""
SIGNS: Final = 8_192
"""Quotes, separators, expansions and the like among them: each takes as long as ten plain words.
Real scripts of 32 KB have 3,300."""
_SIGNS: Final = b"\n'\"\\$`#;&|()<>{}"
PATCH_BYTES: Final = 1 << 20
REVIEW_BYTES: Final = 512 << 10
"""Bytes of a review of a pod. Read, it takes at most 20 MB and some 30 ms, whatever it holds."""
UID_BYTES: Final = 1_024
"""Of a larger one, the bytes that ``request.uid`` is looked for in: no user writes before it."""


def excess(pod: Object) -> str:
    """Say what of a checked pod is more than is read, and the bound; else empty."""
    try:
        read = msgspec.convert(pod, Pod)
    except msgspec.ValidationError as error:
        location, problem = explain(error)
        return f"{format_path(location)}: {problem}"
    containers = (read.spec or Spec()).containers or []
    every = [*containers, *((read.spec or Spec()).init_containers or ())]
    if len(every) > CONTAINERS:
        where = "spec.containers and spec.initContainers"
        return _too_many(where, "containers", CONTAINERS)
    if sum(map(_items, every)) > ITEMS:
        what = "variables, words, mounts, resources and claims"
        return _too_many("its containers", what, ITEMS)
    return _excess_of_commands(containers)


def within(pod: Object) -> Object:
    """Return a pod with the short parts of its containers, by which one beyond a bound is known."""
    containers = podspec.containers(pod)[:CONTAINERS]
    share = max(1, len(containers))
    cut = [_cut(container, share) for container in containers]
    return {**pod, "spec": {**(pod.get("spec") or {}), "containers": cut}}


def _items(container: Container) -> int:
    lists: tuple[Sized | None, ...] = (
        container.env,
        container.command,
        container.args,
        container.volume_mounts,
        container.volume_devices,
    )
    if resources := container.resources:
        lists += (resources.limits, resources.requests, resources.claims)
    return sum(map(len, filter(None, lists)))


def _excess_of_commands(containers: Iterable[Container]) -> str:
    where, what = "its containers", "in command and args"
    found = 0
    read: list[str] = []
    for container in containers:
        words = [*(container.command or ()), *(container.args or ())]
        length = sum(map(len, words))
        if length <= COMMAND:
            found += length
            read += words
    if found > COMMANDS:
        return _too_many(where, f"characters {what}", COMMANDS)
    if found <= SIGNS:
        return ""
    text = "".join(read).encode(errors="replace")
    signs = len(text) - len(text.translate(None, _SIGNS))
    if signs <= SIGNS:
        return ""
    return _too_many(where, f"quotes, separators and expansions {what}", SIGNS)


def _cut(container: Object, share: int) -> Object:
    """Cut one of *share* containers."""
    words = min(LONGEST_NAME, COMMANDS // (2 * share))
    bounds = {"name": LONGEST_NAME, "resources": LONGEST_NAME, "command": words, "args": words}
    short = {key: container.get(key) for key in bounds}
    kept = {key: part for key, part in short.items() if len(str(part)) <= bounds[key]}
    env = podspec.env(container)[: ITEMS // share]
    return {**kept, "env": [each for each in env if len(str(each)) <= LONGEST_NAME]}


def _too_many(where: str, what: str, most: int) -> str:
    verb = "hold" if where == "its containers" else "holds"
    return f"{where} {verb} more than {most} {what}, and no more are read"
