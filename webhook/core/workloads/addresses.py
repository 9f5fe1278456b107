"""Find the rendezvous addresses in a pod's variables."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final, NamedTuple

from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.workloads.endpoint import (
    LONGEST,
    OWN_ADDRESS,
    is_rendezvous_variable,
    split_endpoint,
)
from webhook.core.workloads.launchers import given_variables

_REFERENCE: Final = re.compile(r"\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")
_FIELD: Final = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]\Z")
_WRITTEN: Final = frozenset((names.NETWORKS, names.ISTIO_EXCLUDE_INTERFACES))
"""Annotations that a pass may write: a variable that takes one would hold another text in the next pass."""
_DEEPEST: Final = 20
_MOST_REFERENCES: Final = 16
_PRIORITY: Final = {
    "PET_RDZV_ENDPOINT": 0,
    names.ENV_MASTER_NAME: 1,
    "PET_MASTER_ADDR": 2,
    "MASTER_ADDR": 3,
}
_ORDINARY: Final = 4


class RendezvousAddress(NamedTuple):
    """Hold one rendezvous address of a pod: *host* as written, *source* the variable that holds it."""

    source: str
    host: str


class Variables:
    """Resolve a container's variables, as far as the pod itself says what they will hold.

    Source: kubernetes pkg/kubelet/kubelet_pods.go makeEnvironmentVariables; of entries of one name the last counts, but a reference
    reaches those alone that stand before it. So what is appended later changes no variable that was there.
    """

    __slots__ = ("_depth", "_entries", "_env", "_known", "_named", "_places", "_pod")

    def __init__(self, pod: Object, container: Object) -> None:
        self._pod = pod
        self._env = podspec.env(container)
        self._entries: dict[str, Object] = {}
        self._places: dict[int, int] = {}
        self._named: dict[str, list[int]] = {}
        self._known: dict[int, str | None] = {}
        self._depth = 0

    def text(self, entry: Object) -> str | None:
        """Return what an entry will hold: literals, ``$(NAME)``, and fieldRefs to the pod's metadata.

        None where it is hidden (ConfigMap, Secret, a value known at run time only), published by fabric-injector, or no address. A
        reference to what is hidden stays as it is written: it may be the domain or the port alone.
        """
        source = entry.get("valueFrom")
        if source:
            shown = _field(self._pod, (source.get("fieldRef") or {}).get("fieldPath") or "")
            return shown if shown is None or len(shown) <= LONGEST else None
        value: str = entry.get("value") or ""
        if len(value) > LONGEST:
            return None
        if "$(" not in value:
            return value
        references = dict.fromkeys(references_in(value))
        if len(references) > _MOST_REFERENCES:
            return None
        place = self._place(entry)
        for name in references:
            inner = self._referred(name, place)
            if inner is None:
                continue
            value = value.replace(f"$({name})", inner)
            if len(value) > LONGEST:
                return None
        return value

    def counts(self, entry: Object) -> bool:
        """Tell whether an entry is the one that decides what its variable holds: the last of its name."""
        if not self._entries:
            self._entries = {each["name"]: each for each in self._env}
        return self._entries.get(entry["name"]) is entry

    def _place(self, entry: Object) -> int:
        """Return where *entry* stands; what stands where is noted once there is a reference to follow."""
        if not self._places:
            for place, each in enumerate(self._env):
                self._places[id(each)] = place
                self._named.setdefault(each["name"], []).append(place)
        return self._places[id(entry)]

    def _referred(self, name: str, before: int) -> str | None:
        places = self._named.get(name, ())
        nearest = bisect_left(places, before) - 1
        if nearest < 0:
            return None
        place = places[nearest]
        if place not in self._known:
            if self._depth >= _DEEPEST:
                return None
            self._depth += 1
            self._known[place] = self.text(self._env[place])
            self._depth -= 1
        return self._known[place]


def references_in(value: str) -> list[str]:
    """Return the names in ``$(NAME)``; none for a text too long to be an address."""
    return _REFERENCE.findall(value) if len(value) <= LONGEST else []


def _field(pod: Object, path: str) -> str | None:
    if path.startswith(f"metadata.annotations['{names.PREFIX}"):
        return None
    match = _FIELD.match(path)
    if match and match[2] in _WRITTEN:
        return None
    if match:
        holder = podspec.labels(pod) if match[1] == "labels" else podspec.annotations(pod)
        return holder.get(match[2])
    if path in ("metadata.name", "metadata.namespace"):
        return (pod.get("metadata") or {}).get(path.partition(".")[2])
    return OWN_ADDRESS if path == "status.podIP" else None


def find_addresses(pod: Object) -> list[RendezvousAddress]:
    """List the rendezvous addresses that variables of the app containers hold, the one that decides first.

    Precedence: ``PET_RDZV_ENDPOINT``, ``PET_MASTER_ADDR``, ``MASTER_ADDR``, others. An address that an earlier pass moved away is
    read back from the variable that keeps it. Of entries of one name the last counts.
    """
    found: list[tuple[int, RendezvousAddress]] = []
    for container in podspec.containers(pod):
        variables: Variables | None = None
        given = given_variables(container)
        for entry in podspec.env(container):
            name = entry["name"]
            if name == names.ENV_MASTER_NAME:
                if value := podspec.env_value(container, name):
                    found.append((_PRIORITY[name], RendezvousAddress(name, value)))
            elif name in given or is_rendezvous_variable(name):
                variables = variables or Variables(pod, container)
                endpoint = (
                    split_endpoint(variables.text(entry) or "") if variables.counts(entry) else None
                )
                if endpoint is not None:
                    found.append(
                        (_PRIORITY.get(name, _ORDINARY), RendezvousAddress(name, endpoint.host))
                    )
    found.sort(key=lambda item: item[0])
    return [address for _, address in found]
