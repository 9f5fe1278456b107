"""Find the rendezvous addresses in a pod's variables."""

import re
from typing import Final, NamedTuple

from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.workloads import words
from webhook.core.workloads.endpoint import LONGEST, host_of
from webhook.core.workloads.launchers import given_variables

_VARIABLE: Final = words.word("addresses")
_REFERENCE: Final = re.compile(r"\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")
_FIELD: Final = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]\Z")
_WRITTEN: Final = (names.PREFIX, names.NETWORKS, names.ISTIO_EXCLUDE_INTERFACES)
"""Annotations that a pass may write: what takes one would hold another text in the next pass."""
_MOST_REFERENCES: Final = 16
_FIRST: Final = ("PET_RDZV_ENDPOINT", names.ENV_MASTER_NAME, "PET_MASTER_ADDR", "MASTER_ADDR")
_ORDER: Final = {name: place for place, name in enumerate(_FIRST)}
"""Variables that decide before all others, in this order."""


class RendezvousAddress(NamedTuple):
    """Hold a rendezvous address: *host* as written, *source* the variable that holds it."""

    source: str
    host: str


class Variables:
    """Resolve a container's variables, as far as the pod itself says what they will hold.

    Of entries of one name the last counts. A reference reaches only what stands before it: what is
    appended later changes no variable that was there. Source: kubernetes
    pkg/kubelet/kubelet_pods.go makeEnvironmentVariables.
    """

    __slots__ = ("_env", "_pod", "_texts")

    def __init__(self, pod: Object, container: Object) -> None:
        self._pod = pod
        self._env = podspec.env(container)
        self._texts: dict[int, str | None] = {}

    def text(self, entry: Object) -> str | None:
        """Return what an entry will hold: literals, ``$(NAME)``, and the pod's metadata.

        None where it is hidden (ConfigMap, Secret, a value known at run time only), published by
        fabric-injector, or no address. A reference to what is hidden stays as it is written: it may
        be just the domain or the port.
        """
        if entry.get("valueFrom") or "$(" not in (entry.get("value") or ""):
            return self._read(entry, {})
        if not self._texts:
            before: dict[str, str | None] = {}
            for each in self._env:
                before[each["name"]] = self._texts[id(each)] = self._read(each, before)
        return self._texts[id(entry)]

    def _read(self, entry: Object, before: dict[str, str | None]) -> str | None:
        value: str | None = entry.get("value") or ""
        if source := entry.get("valueFrom"):
            value = _field(self._pod, (source.get("fieldRef") or {}).get("fieldPath") or "")
        if value is None or len(value) > LONGEST:
            return None
        references = dict.fromkeys(_REFERENCE.findall(value)) if not source else {}
        if len(references) > _MOST_REFERENCES:
            return None
        for name in references:
            if (text := before.get(name)) is not None:
                value = value.replace(f"$({name})", text)
                if len(value) > LONGEST:
                    return None
        return value


def _field(pod: Object, path: str) -> str | None:
    if match := _FIELD.match(path):
        holder = podspec.labels(pod) if match[1] == "labels" else podspec.annotations(pod)
        return None if match[2].startswith(_WRITTEN) else holder.get(match[2])
    if path in ("metadata.name", "metadata.namespace"):
        return (pod.get("metadata") or {}).get(path.partition(".")[2])
    return "localhost" if path == "status.podIP" else None  # not known yet, and means the pod too


def find_addresses(pod: Object) -> list[RendezvousAddress]:
    """List the rendezvous addresses in the containers' variables, the one that decides first.

    Precedence: ``PET_RDZV_ENDPOINT``, ``PET_MASTER_ADDR``, ``MASTER_ADDR``, others. An address that
    an earlier pass moved away is read back from the variable that keeps it.
    """
    found: list[RendezvousAddress] = []
    for container in podspec.containers(pod):
        given = given_variables(container)
        variables = Variables(pod, container)
        last = {entry["name"]: entry for entry in podspec.env(container)}
        for entry in podspec.env(container):
            name, host = entry["name"], ""
            if last[name] is entry:
                if name == names.ENV_MASTER_NAME:
                    host = podspec.literal(entry) or ""
                elif name in given or _VARIABLE.match(name):
                    host = host_of(variables.text(entry))
            if host:
                found.append(RendezvousAddress(name, host))
    return sorted(found, key=lambda address: _ORDER.get(address.source, len(_ORDER)))
