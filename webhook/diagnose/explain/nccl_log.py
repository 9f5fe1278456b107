"""Read what NCCL, or AMD's RCCL, says in a container's log of the network it uses.

What stands before a message (a time, a rank, the pod's name, colours) is passed over. Two
messages in one line, as processes that write at the same time leave them, are both read.
Source: NCCL 2.18 to 2.32, src/init.cc, src/debug.cc, src/misc, src/transport/net*.cc, src/plugin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

_LONGEST_LINE = 4096
"""NCCL writes at most 1,024 bytes of a message; colours and prefixes come on top."""
_MOST = 64
"""Names of one kind that are kept of one log."""
_ESCAPE = re.compile(r"\x1b\[[0-9;?]{0,16}[@-~]")
_HEAD = re.compile(r"NCCL (INFO|WARN) ")
_CHANNEL = re.compile(
    r"(?:Channel|Ring) \d+(?:/\d+)? ?: .{0,80}?"
    r" via (?:NET/([\w .+-]{1,40})/(\d{1,4})(?:\(\d{1,9}\))?((?:/\w{1,16}(?:\(PCI\))?){0,4})"
    r"|(?!NET\b)(\w{1,16}))"
)
_CHOSEN = re.compile(
    r"(?:Using network|Assigned NET plugin) ([\w.+-]{1,40}(?: Libfabric)?)"
    r"(?: to comm\b|(?![\w:.+-]|\s+\w))"
)
"""With ``NCCL_DEBUG_SUBSYS=NET`` only the second form is written."""
_DEVICE = re.compile(r"\[\d{1,4}\] ?([\w.-]{1,64}):\d{1,3}/\w{1,16}")
_NUMBERED = re.compile(r"\[(\d{1,4})\](?:=\{([^}]{1,400})\}|([\w.-]{1,64}):\d{1,3}/)")
_INTERFACE = re.compile(r"\[(\d{1,4})\]([\w.@-]{1,32}):")
_SETTING = re.compile(r"\b[NR](CCL_\w{1,60}) set (?:by environment )?to ([\x21-\x7e]{1,120})")
_NODES = re.compile(r"\bnRanks \d{1,7} nNodes (\d{1,7})\b")
_DOMAIN = re.compile(r" MNNVL 1\b|via P2P/MNNVL\b")
_PROVIDER = re.compile(r"NET/OFI Selected [Pp]rovider is ([\w;]{1,40})")


class Sign(Enum):
    """Name a message that tells why NCCL does not use a fabric; the value is how it is known."""

    NO_DEVICE = re.compile(r"NET/IB ?: No device found")
    NO_VERBS = re.compile(r"Failed to open libibverbs\.so")
    NO_OPEN = re.compile(r"NET/IB ?: Unable to (?:open|query) device")
    NO_PLUGIN = re.compile(
        r"NET/Plugin ?: .{0,200}?(?:Could not find|[Nn]o plugin found|cannot open shared object)"
    )
    NO_PROVIDER = re.compile(
        r"NET/OFI .{0,80}?(?:No eligible providers|any optimal provider)"
        r"|provider efa output empty list"
    )
    LOCKED_MEMORY = re.compile(r"Call to ibv_\w{1,40} failed with error Cannot allocate memory")
    UNCONNECTED = re.compile(
        r"Call to ibv_modify_qp failed with"
        r"|Got completion from peer .{0,100}? with (?:error |status[ =](?:\w{1,40}\()?)1[23]\b"
    )


@dataclass(slots=True)
class NcclLog:
    """Hold what the log of one container tells; what is empty or 0 is not told.

    *messages*: how many of NCCL's INFO there are. *chosen*: the networks of ``Using network``.
    *channels*: of each network by which channels go to other nodes, its devices or interfaces as
    far as they are named. *is_direct*: all of them by GPUDirect RDMA. *local*: the ways of other
    channels, ``P2P``. *devices*, *interfaces*: what NET/IB and NET/Socket found, *numbered*: by
    whether it is a device, and its number. *nodes*: the most of a communicator. *is_domain*: NVLink
    connects nodes (MNNVL). *providers*: libfabric's.
    """

    messages: int = 0
    chosen: dict[str, None] = field(default_factory=dict)
    channels: dict[str, dict[str, None]] = field(default_factory=dict)
    is_direct: bool = True
    local: dict[str, None] = field(default_factory=dict)
    devices: dict[str, None] = field(default_factory=dict)
    interfaces: dict[str, None] = field(default_factory=dict)
    numbered: dict[tuple[bool, int], dict[str, None]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    signs: dict[Sign, None] = field(default_factory=dict)
    nodes: int = 0
    is_domain: bool = False
    providers: dict[str, None] = field(default_factory=dict)

    @property
    def tells(self) -> bool:
        """Tell whether it says by which network NCCL trains, or that it needs none."""
        return bool(self.chosen or self.channels or self.local)


@dataclass(frozen=True, slots=True)
class PodLog:
    """Hold what the log of a pod's *container* tells; *is_previous*: of the run before this one."""

    container: str
    log: NcclLog
    is_previous: bool = False


def read_log(texts: Iterable[bytes]) -> NcclLog:
    """Read pieces of one log in the order of time; costs no more than their size."""
    log = NcclLog()
    for text in texts:
        for raw in text.splitlines(keepends=True):
            if not raw.endswith((b"\n", b"\r")):
                continue  # a word that is cut would be another network's name
            if b"NCCL" in raw or b"provider efa" in raw:
                _read_line(log, _ESCAPE.sub("", raw[:_LONGEST_LINE].decode(errors="replace")))
    return log


def _read_line(log: NcclLog, line: str) -> None:
    """Read all messages of a line; what no process stands before is a quotation."""
    heads = list(_HEAD.finditer(line))
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(line)
        if _is_of_a_process(line[max(0, head.start() - 400) : head.start()]):
            log.messages += head[1] == "INFO"
            _read_message(log, line[head.end() : end])
    if not heads and Sign.NO_PROVIDER.value.search(line):  # libfabric's own line
        log.signs[Sign.NO_PROVIDER] = None


def _read_message(log: NcclLog, message: str) -> None:
    log.is_domain |= _DOMAIN.search(message) is not None
    if channel := _CHANNEL.search(message):
        network, number, options, local = channel.groups()
        if local is not None:
            _note(log.local, [local])
        elif network in log.channels or len(log.channels) < _MOST:
            named = log.numbered.get((network != "Socket", int(number)), ())
            log.channels.setdefault(network, {}).update(dict.fromkeys(named))
            log.is_direct &= "GDRDMA" in options
        return
    for sign in Sign:
        if sign.value.search(message):
            log.signs[sign] = None
    _note(log.chosen, _CHOSEN.findall(message))
    if nodes := _NODES.search(message):
        log.nodes = max(log.nodes, int(nodes[1]))
    _note(log.providers, _PROVIDER.findall(message))
    if (setting := _SETTING.search(message)) and len(log.settings) < _MOST:
        log.settings[f"N{setting[1]}"] = setting[2].removesuffix(".")
    if "NET/IB" in message and " Using " in message:
        for number, group, name in _NUMBERED.findall(message.partition("; OOB")[0]):
            names = _DEVICE.findall(group) if group else [name]
            _note(log.devices, names)
            _note(log.numbered.setdefault((True, int(number)), {}), names)
    elif "NET/Socket" in message and " Using " in message:
        for number, name in _INTERFACE.findall(message):
            _note(log.interfaces, [name])
            _note(log.numbered.setdefault((False, int(number)), {}), [name])


def _note(known: dict[str, None], found: Iterable[str]) -> None:
    for name in found:
        if len(known) < _MOST:
            known[name] = None


def _is_of_a_process(before: str) -> bool:
    """Tell ``host:pid:tid [0] `` before a message."""
    for word in before.split()[-3:]:
        rest, _, thread = word.rpartition(":")
        if thread.isdecimal() and rest.rpartition(":")[2].isdecimal():
            return True
    return False
