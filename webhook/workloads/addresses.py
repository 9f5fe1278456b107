"""Find the rendezvous addresses in a pod's variables and arguments, and the launcher options that bear on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from webhook import names, podspec
from webhook.model import Object

_VARIABLES = frozenset(
    (
        "MASTER_ADDR",
        "PET_MASTER_ADDR",
        "PET_RDZV_ENDPOINT",
        "LWS_LEADER_ADDRESS",
        "MASTER_HOST",
        "DIST_URL",
        "INIT_METHOD",
    )
)
_SUFFIXES = ("_MASTER_ADDR", "RDZV_ENDPOINT", "_MASTER_ADDRESS", "RDZV_HOST", "_INIT_METHOD", "_DIST_URL")
_FLAG = re.compile(
    r"--(?P<name>rdzv[-_]endpoint|master[-_]addr|init[-_]method|dist[-_]url)(?:=|\s+)[\"']?(?P<value>[^\s\"';&|]+)"
)
_ENDPOINT = re.compile(r"(?P<scheme>[a-z]+://)?(?P<host>\[[^\]]*\]|[^:\[\]/]*)(?P<rest>(?::[^:]*)?)\Z")
_REFERENCE = re.compile(r"\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")
_FIELD = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]\Z")
_ONE_NODE = re.compile(r"--nnodes(?:=|\s+)[\"']?1(?::1)?(?![\d:])|--standalone\b")
_ETCD = re.compile(r"--rdzv[-_]backend(?:=|\s+)[\"']?etcd")
_LONGEST = 1024
"""Characters of a variable that could still be an address."""
_DEEPEST = 20
_LOCAL = frozenset(("localhost", "127.0.0.1", "::1", "[::1]"))
_PRIORITY = {"rdzv": 0, "PET_RDZV_ENDPOINT": 1, "master": 2, "PET_MASTER_ADDR": 3, "MASTER_ADDR": 4}


class Endpoint(NamedTuple):
    """Split an address as it is written: ``tcp://ddp-0.ddp:29500`` is ``("tcp://", "ddp-0.ddp", ":29500")``."""

    scheme: str
    host: str
    rest: str


class Address(NamedTuple):
    """Name one rendezvous address of a pod: *host* as written, *source* the variable or flag that holds it."""

    source: str
    host: str


def is_rendezvous_variable(name: str) -> bool:
    """Tell the variables that launchers and training scripts read the address of rank 0 from."""
    return name in _VARIABLES or name.endswith(_SUFFIXES)


def split_endpoint(value: str) -> Endpoint | None:
    """Split ``host``, ``host:port`` and ``tcp://host:port``; None for what is no address (a path, a bare IPv6 address)."""
    match = _ENDPOINT.match(value.strip()) if len(value) <= _LONGEST else None
    if match is None or not match["host"]:
        return None
    return Endpoint(match["scheme"] or "", match["host"], match["rest"])


def first_label(host: str) -> str:
    """Return the first DNS label of a host name: the pod's name in every system that sets a rendezvous address."""
    return host.partition(".")[0]


def is_local(host: str) -> bool:
    """Tell an address by which a pod means itself."""
    return host in _LOCAL


class Variables:
    """Tell what a container's variables will hold, as far as the pod itself says.

    Source: kubernetes pkg/kubelet/kubelet_pods.go makeEnvironmentVariables; of entries of one name the last counts.
    """

    __slots__ = ("_depth", "_entries", "_known", "_pod")

    def __init__(self, pod: Object, container: Object) -> None:
        self._pod = pod
        self._entries = {entry["name"]: entry for entry in podspec.env(container)}
        self._known: dict[str, str | None] = {}
        self._depth = 0

    def text(self, entry: Object) -> str | None:
        """Return what an entry will hold: literals, ``$(NAME)``, and fieldRefs to the pod's metadata.

        None where it is hidden (ConfigMap, Secret, a value known at run time only), published by fabric-injector, or no address.
        """
        source = entry.get("valueFrom")
        if source:
            return _field(self._pod, (source.get("fieldRef") or {}).get("fieldPath") or "")
        value: str = entry.get("value") or ""
        if "$(" not in value:
            return value
        for name in dict.fromkeys(references_in(value)):
            inner = self._referred(name)
            if inner is None or len(inner) > _LONGEST:
                return None
            value = value.replace(f"$({name})", inner)
            if len(value) > _LONGEST:
                return None
        return value if len(value) <= _LONGEST else None

    def refers_to_address(self, value: str) -> bool:
        """Tell whether a value is made of another rendezvous variable of the container, and so follows it."""
        return any(name in self._entries and is_rendezvous_variable(name) for name in references_in(value))

    def _referred(self, name: str) -> str | None:
        if name not in self._known:
            self._known[name] = None
            entry = self._entries.get(name)
            if entry is not None and self._depth < _DEEPEST:
                self._depth += 1
                self._known[name] = self.text(entry)
                self._depth -= 1
        return self._known[name]


def references_in(value: str) -> list[str]:
    """Return the names in ``$(NAME)``; none for a text too long to be an address."""
    return _REFERENCE.findall(value) if len(value) <= _LONGEST else []


def _field(pod: Object, path: str) -> str | None:
    if path.startswith(f"metadata.annotations['{names.PREFIX}"):
        return None
    match = _FIELD.match(path)
    if match:
        holder = podspec.labels(pod) if match[1] == "labels" else podspec.annotations(pod)
        return holder.get(match[2])
    if path == "metadata.name":
        return (pod.get("metadata") or {}).get("name")
    return None


def find_addresses(pod: Object) -> list[Address]:
    """List the rendezvous addresses of the app containers, the one that decides first.

    Precedence: ``--rdzv_endpoint``, ``PET_RDZV_ENDPOINT``, ``--master_addr``, ``PET_MASTER_ADDR``, ``MASTER_ADDR``, others. An address
    that an earlier pass moved away is read back from the variable that keeps it.
    """
    found: list[tuple[int, Address]] = []
    for container in podspec.containers(pod):
        variables: Variables | None = None
        for entry in podspec.env(container):
            name = entry["name"]
            if name == names.ENV_MASTER_NAME:
                if value := entry.get("value"):
                    found.append((1, Address(name, value)))
            elif is_rendezvous_variable(name):
                variables = variables or Variables(pod, container)
                endpoint = split_endpoint(variables.text(entry) or "")
                if endpoint is not None:
                    found.append((_PRIORITY.get(name, 5), Address(name, endpoint.host)))
        for flag, value in _flags(container):
            endpoint = split_endpoint(value)
            if endpoint is not None:
                found.append((_PRIORITY.get(flag.partition("_")[0], 5), Address("--" + flag, endpoint.host)))
    found.sort(key=lambda item: item[0])
    return [address for _, address in found]


def _flags(container: Object) -> Iterator[tuple[str, str]]:
    arguments = podspec.argv(container)
    for text in arguments:
        if "--" in text:
            break
    else:
        return
    for match in _FLAG.finditer(" ".join(arguments)):
        if not match["value"].startswith(("$", "{")):
            yield match["name"].replace("-", "_"), match["value"]


def rewrite_flags(arguments: list[str], hosts: frozenset[str], replacement: str) -> dict[int, str]:
    """Put *replacement* for each of *hosts* where an argument gives it to a rendezvous option; the changed arguments by index.

    Both ``--rdzv_endpoint=HOST:29500`` and the option and its value as two arguments, also inside a shell's command text.
    """

    def replace(match: re.Match[str]) -> str:
        endpoint = split_endpoint(match["value"])
        if endpoint is None or endpoint.host not in hosts:
            return match[0]
        return match[0][: match.start("value") - match.start()] + endpoint.scheme + replacement + endpoint.rest

    changed: dict[int, str] = {}
    for index, text in enumerate(arguments):
        if not any(host in text for host in hosts):
            continue
        option = arguments[index - 1] + "=" if index and arguments[index - 1].startswith("--") else ""
        after = _FLAG.sub(replace, text)
        if after == text and option and _FLAG.match(option + text):
            after = _FLAG.sub(replace, option + text)[len(option) :]
        if after != text:
            changed[index] = after
    return changed


def command_text(pod: Object) -> str:
    """Return the commands and arguments of all app containers as one text, for look-ups of options."""
    return " ".join([" ".join(podspec.argv(container)) for container in podspec.containers(pod)])


def is_single_node(pod: Object, text: str) -> bool:
    """Tell a job whose launcher is told to run on one node: ``--standalone``, ``--nnodes=1``, ``localhost:0``, ``PET_NNODES=1``."""
    if "localhost:0" in text or ("--" in text and _ONE_NODE.search(text)):
        return True
    for container in podspec.containers(pod):
        for entry in podspec.env(container):
            name = entry.get("name")
            if name == "PET_NNODES" and entry.get("value") in ("1", "1:1"):
                return True
            if name == "PET_STANDALONE" and (entry.get("value") or "").lower() not in ("", "0", "false"):
                return True
    return False


def uses_etcd(pod: Object, text: str) -> bool:
    """Tell a job that meets at an etcd server, so that its endpoint names no rank."""
    if "etcd" in text and _ETCD.search(text):
        return True
    return any(
        entry.get("name") == "PET_RDZV_BACKEND" and (entry.get("value") or "").startswith("etcd")
        for container in podspec.containers(pod)
        for entry in podspec.env(container)
    )
