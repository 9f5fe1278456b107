"""Read commands and arguments, also a shell's command text: the addresses they hold, and the launcher options that bear on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import NamedTuple

from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.workloads.endpoint import is_rendezvous_variable, split_endpoint

_OPTION = re.compile(r"--(?P<name>rdzv[-_]endpoint|master[-_]addr|main[-_]process[-_]ip|init[-_]method|dist[-_]url)")
_FLAG = re.compile(_OPTION.pattern + r"(?:=|\s+)[\"']?(?P<value>[^\s\"';&|]+)")
_ASSIGNMENT = re.compile(r"(?:^|(?<=[\s;&|(]))(?P<name>[A-Z][A-Z0-9_]{2,60})=[\"']?(?P<value>[^\s\"'`;&|)]+)")
_ASSIGNED = ("ADDR=", "ADDRESS=", "ENDPOINT=", "HOST=", "METHOD=", "DIST_URL=")
_LOOK_UP = re.compile(
    r"(?<![\w-])(?:nslookup|host|dig|getent\s+(?:ahosts\w*|hosts))(?:\s+[-+]\S{1,60}){0,8}\s+[\"']?\$[({]?(?P<name>[A-Z][A-Z0-9_]*)(?=[)}\"'\s;&|]|\Z)"
)
_NOT_THEIRS = frozenset(("", names.ENV_MASTER_HOST))
_REFERENCE = re.compile(r"\$[({]?([A-Za-z_][A-Za-z0-9_]*)")
_MASTER = re.compile(r"MASTER_(?:ADDR|HOST)")
_NEAR = 200
"""Characters of a test in a shell's text, ``[ … ]``."""
_ONE_NODE = re.compile(r"--nnodes(?:=|\s+)[\"']?1(?::1)?(?![\d:])|--standalone\b")
_ETCD = re.compile(r"--rdzv[-_]backend(?:=|\s+)[\"']?etcd")


class Written(NamedTuple):
    """Name one address in the arguments: *source* as ``rdzv_endpoint`` or the variable that a shell's text sets."""

    source: str
    value: str
    is_flag: bool


def written_addresses(container: Object) -> Iterator[Written]:
    """Yield the values that a container's command gives to rendezvous options, and to rendezvous variables in a shell's text."""
    arguments = podspec.argv(container)
    if _may_hold(arguments, ("--",)):
        for match in _FLAG.finditer(" ".join(arguments)):
            yield Written(match["name"].replace("-", "_"), match["value"], is_flag=True)
    for text in arguments:
        if _may_hold((text,), _ASSIGNED):
            for match in _ASSIGNMENT.finditer(text):
                if is_rendezvous_variable(match["name"]):
                    yield Written(match["name"], match["value"], is_flag=False)


def referred_variable(value: str) -> str:
    """Return NAME of a value that starts with ``$NAME``, ``${NAME…`` or ``$(NAME)``, else ``""``.

    A command substitution gives its command, ``hostname``.
    """
    match = _REFERENCE.match(value.removeprefix("tcp://"))
    if match is not None:
        return match[1]
    return "hostname" if value.startswith("`hostname") else ""


def flag_variables(container: Object) -> frozenset[str]:
    """Return the variables whose value a rendezvous option takes, whatever their name: ``--rdzv_endpoint=$HEAD:29500``."""
    arguments = podspec.argv(container)
    if not _may_hold(arguments, ("--",)):
        return frozenset()
    return frozenset(referred_variable(match["value"]) for match in _FLAG.finditer(" ".join(arguments))) - _NOT_THEIRS


class Rewriting(NamedTuple):
    """Say what becomes of a container's arguments.

    *hosts* are replaced by *before_port* where ``:port`` may follow, else by *apart*; *consumed*: the variables before a port; *moved*:
    the variables that hold an address now, which no name server answers for.
    """

    hosts: frozenset[str]
    before_port: str
    apart: str
    consumed: frozenset[str]
    moved: frozenset[str]


def rewrite_arguments(arguments: list[str], rewriting: Rewriting) -> dict[int, str]:
    """Put the address where an argument gives a host to a rendezvous option or variable; return the changed ones by index.

    Both ``--rdzv_endpoint=HOST:29500`` and the option and its value as two arguments, also inside a shell's command text. A shell that
    looks a moved variable up (``nslookup $MASTER_ADDR``) gets rank 0's name there.
    """

    def replace(match: re.Match[str]) -> str:
        endpoint = split_endpoint(match["value"])
        if endpoint is None or endpoint.host not in rewriting.hosts:
            return match[0]
        by = rewriting.before_port
        if match.re is _ASSIGNMENT:
            if not is_rendezvous_variable(match["name"]):
                return match[0]
            if not endpoint.scheme and not endpoint.rest and match["name"] not in rewriting.consumed:
                by = rewriting.apart
        return match[0][: match.start("value") - match.start()] + endpoint.scheme + by + endpoint.rest

    def look_up(match: re.Match[str]) -> str:
        if match["name"] not in rewriting.moved:
            return match[0]
        return match[0][: match.start("name") - match.start()] + names.ENV_MASTER_NAME

    changed: dict[int, str] = {}
    for index, (before, text) in enumerate(pairwise(("", *arguments))):
        after = text
        if any(host in text for host in rewriting.hosts):
            after = _ASSIGNMENT.sub(replace, _FLAG.sub(replace, text))
            if after == text and _OPTION.fullmatch(before):
                after = _FLAG.sub(replace, f"{before}={text}")[len(before) + 1 :]
        if rewriting.moved and "$" in after:
            after = _LOOK_UP.sub(look_up, after)
        if after != text:
            changed[index] = after
    return changed


def why_own_name_is_needed(container: Object) -> str:
    """Say why rank 0's command works with its own name alone, else ``""``.

    Source: accelerate commands/launch.py multi_gpu_launcher: its own ``--rdzv_conf``, empty by default, outweighs PET_RDZV_CONF.
    """
    text = " ".join(podspec.argv(container))
    if "--rdzv_conf" in text or "--rdzv-conf" in text:
        return "its command holds --rdzv_conf, so that torchrun reads no PET_RDZV_CONF"
    if "PET_RDZV_CONF" in text:
        return "its command sets PET_RDZV_CONF itself"
    if "accelerate" in text and ("c10d" in text or "--config" in text):
        return "accelerate launch does not pass PET_RDZV_CONF on to torchrun"
    if _compares_host_name(text):
        return "its command compares its host name with the address"
    return ""


def _compares_host_name(text: str) -> bool:
    """Tell whether a shell tests the host name against the address, ``[ "$HOSTNAME" = "$MASTER_ADDR" ]``, to find rank 0."""
    if "[" not in text or "hostname" not in text.lower():
        return False
    for match in islice(_MASTER.finditer(text), _NEAR):
        _, opens, before = text[max(0, match.start() - _NEAR) : match.start()].rpartition("[")
        after = text[match.end() : match.end() + _NEAR].partition("]")[0]
        if opens and "]" not in before and "hostname" in (before + after).lower():
            return True
    return False


def command_text(pod: Object) -> str:
    """Return the commands and arguments of all app containers as one text, for look-ups of options."""
    return " ".join([" ".join(podspec.argv(container)) for container in podspec.containers(pod)])


def is_single_node(pod: Object, text: str) -> bool:
    """Tell whether the launcher is to run on one node: ``--standalone``, ``--nnodes=1``, ``localhost:0``, ``PET_NNODES=1``."""
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
    """Tell whether the job meets at an etcd server, so that its endpoint names no rank."""
    if "etcd" in text and _ETCD.search(text):
        return True
    return any(
        entry.get("name") == "PET_RDZV_BACKEND" and (entry.get("value") or "").startswith("etcd")
        for container in podspec.containers(pod)
        for entry in podspec.env(container)
    )


def _may_hold(arguments: list[str] | tuple[str, ...], marks: tuple[str, ...]) -> bool:
    for text in arguments:
        for mark in marks:
            if mark in text:
                return True
    return False
