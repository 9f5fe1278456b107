"""Write a pod's spec as all pods of its template have it, and apart from that what is its own: names, nodes, numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from webhook.core.model import Object

_LETTERS = re.compile(rb"[a-z]{2}")
_HOSTNAME = re.compile(rb'"hostname": ?"([ !#-[\]-~]+)"')
_TOKEN = re.compile(rb'"name": ?"(kube-api-access-[a-z0-9]{5})", ?"projected"')
"""The volume of the ServiceAccount's token, as its admission names it."""
_NODE = re.compile(rb'("nodeName": ?")([ !#-[\]-~]+)(?=")')
_PLACE = re.compile(rb'("kubernetes\.io/hostname": ?")([ !#-[\]-~]+)(?=")')
_VALUE = re.compile(rb'("value": ?")([1-9][0-9]*)(?=")')
_RANK = re.compile(rb'(rank[\w-]*(?:=|[ \t]+|", ?"))([1-9][0-9]*)(?![\w.])')
_NUMBERED = re.compile(r"rank|index|ordinal|(?:proc|node|replica|worker|task|pod)[-_]?id$", re.IGNORECASE)
_FABRIC_VARIABLES = (b"NCCL_", b"UCX_", b"GLOO_", b"FI_")
_NAME, _HOST, _VOLUME, _NODES, _PLACES, _VALUES, _RANKS = (bytes((number,)) for number in range(1, 8))
OWN = "\x08"
"""What stands for a pod's own; JSON writes such characters otherwise, so that no text has them."""


class Own(NamedTuple):
    """Hold what is a pod's own in the text of its spec, empty for what is not there.

    *nodes*: the one that it is bound to; *places*: those that it asks for by name, which a queue may have chosen. *values*: numbers
    of its variables; *ranks*: numbers in its commands.
    """

    name: bytes = b""
    host: bytes = b""
    volume: bytes = b""
    nodes: tuple[bytes, ...] = ()
    places: tuple[bytes, ...] = ()
    values: tuple[bytes, ...] = ()
    ranks: tuple[bytes, ...] = ()

    def fill(self, text: bytes) -> bytes:
        """Return the spec of which this text is the outline."""
        text = _filled(_filled(text, _RANKS, self.ranks), _VALUES, self.values)
        text = text.replace(_HOST, self.host).replace(_NAME, self.name).replace(_VOLUME, self.volume)
        return _filled(_filled(text, _PLACES, self.places), _NODES, self.nodes)

    def hide(self, text: bytes) -> bytes:
        """Return a text with marks for the pod's own names."""
        for name, mark in ((self.volume, _VOLUME), (self.name, _NAME), (self.host, _HOST)):
            if name:
                text = text.replace(name, mark)
        return text

    def is_of(self, spec: Object | None) -> bool:
        """Tell whether node and hostname are those of this spec, and not of a nodeSelector with labels of these names."""
        told = spec or {}
        nodes = [told.get("nodeName")] if self.nodes else []
        host = told.get("hostname") if self.host else ""
        return [each.decode() for each in self.nodes] == nodes and self.host.decode() == host

    def words(self) -> list[str]:
        """Return the names in it."""
        listed = (self.name, self.host, self.volume, *self.nodes, *self.places)
        return [each.decode(errors="replace") for each in listed if each]


def outline(text: bytes, name: str) -> tuple[bytes, Own]:
    """Return the outline of a spec, and what is the pod's own; `Own.fill` makes the spec of them again.

    Marks stand within texts alone, so that specs of one outline have the same fields, of the same types. A number 0 is not marked: rank
    0 is not as the others are.
    """
    host, volume = _HOSTNAME.search(text), _TOKEN.search(text)
    own = Own(
        _distinct(name.encode(errors="replace")), _distinct(host[1] if host else b""), volume[1] if volume else b""
    )
    text, nodes = _cut(text, _NODE, _NODES)
    text, places = _cut(text, _PLACE, _PLACES)
    text, values = _cut(own.hide(text), _VALUE, _VALUES, _is_of_rank)
    text, ranks = _cut(text, _RANK, _RANKS)
    return text, own._replace(nodes=nodes, places=places, values=values, ranks=ranks)


def _distinct(name: bytes) -> bytes:
    """Return a name; nothing for one that may stand for something else, as ``8`` does."""
    return name if b"-" in name and _LETTERS.search(name) else b""


def _filled(text: bytes, mark: bytes, told: Sequence[bytes]) -> bytes:
    if not told:
        return text
    first, *rest = text.split(mark)
    return b"".join((first, *(piece for pair in zip(told, rest, strict=True) for piece in pair)))


def _cut(
    text: bytes, pattern: re.Pattern[bytes], mark: bytes, is_own: Callable[[re.Match[bytes]], bool] = lambda _: True
) -> tuple[bytes, tuple[bytes, ...]]:
    told: list[bytes] = []

    def marked(match: re.Match[bytes]) -> bytes:
        if not is_own(match):
            return match[0]
        told.append(match[2])
        return match[1] + mark

    return pattern.sub(marked, text), tuple(told)


def _is_of_rank(value: re.Match[bytes]) -> bool:
    """Tell the value of a variable that names a number of the pod's own, by the text before it."""
    text = value.string
    end = text.rfind(b'"', 0, value.start())
    return _is_own_variable(text[text.rfind(b'"', 0, end) + 1 : end])


@lru_cache(maxsize=4096)
def _is_own_variable(name: bytes) -> bool:
    return not name.startswith(_FABRIC_VARIABLES) and is_numbered(name.decode(errors="replace"))


@lru_cache(maxsize=4096)
def is_numbered(key: str) -> bool:
    """Tell what names a number of the pod's own: a label as ``…/job-completion-index``, a variable as ``PET_NODE_RANK``."""
    return _NUMBERED.search(key.rpartition("/")[2]) is not None
