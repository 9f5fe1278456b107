"""Hold a YAML document as plain values that know where they stand, so that every fault can be shown with its line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from webhook.core.errors import Problem
from webhook.core.profiles.grammar import quoted

Location: TypeAlias = tuple[str | int, ...]
"""Where a value stands: ``("profiles", "hostdev", "networks", 0, "network")``."""

TAG = "tag:yaml.org,2002:"
_READ_AS = {"int": "a number", "float": "a number", "bool": "true or false", "null": "nothing", "timestamp": "a date"}
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


@dataclass(slots=True)
class Document:
    """Hold *value* in plain Python, the YAML nodes that it came from, and the faults of the YAML itself."""

    value: Any = None
    problems: list[Problem] = field(default_factory=list)
    nodes: dict[Location, yaml.Node] = field(default_factory=dict)
    keys: dict[Location, yaml.Node] = field(default_factory=dict)

    def problem(self, location: Location, message: str, *, at_key: bool = False) -> Problem:
        """Make a Problem whose line is that of the value (or its key), or of the nearest one above that is there."""
        node = self.keys.get(location) if at_key else self.nodes.get(location)
        known = location
        while node is None:
            known = known[:-1]
            node = self.nodes.get(known)
        return Problem(format_path(location), line_of(node), message)

    def text(self, location: Location) -> str | None:
        """Return the scalar at *location* as it is written; None for nothing, a list or a mapping."""
        node = self.nodes.get(location)
        return node.value if isinstance(node, yaml.ScalarNode) and node.tag != f"{TAG}null" else None

    def is_null(self, location: Location) -> bool:
        """Tell whether nothing, ``null`` or ``~`` stands at *location*."""
        node = self.nodes.get(location)
        return node is not None and node.tag == f"{TAG}null"

    def found(self, location: Location) -> str:
        """Say what stands at *location*: ``"ml"``, ``on, which YAML reads as true or false``, ``a list``."""
        return describe(self.nodes.get(location))


def describe(node: yaml.Node | None) -> str:
    """Say what *node* holds, as it is written."""
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if node is None or not node.value:
        return '""' if node is not None and node.tag == f"{TAG}str" else "nothing"
    read_as = _READ_AS.get(node.tag.removeprefix(TAG))
    return f"{node.value[:60]}, which YAML reads as {read_as}" if read_as else quoted(node.value)


def format_path(location: Location) -> str:
    """Write a location for people: ``profiles.hostdev.networks[0].network``, ``profiles.a.resources[nvidia.com/hostdev]``."""
    path = ""
    for part in location:
        if isinstance(part, str) and _PLAIN_KEY.fullmatch(part):
            path += f".{part}"
        else:
            path += f"[{part if isinstance(part, int) or (part.isprintable() and len(part) <= 80) else quoted(part)}]"
    return path.removeprefix(".") or "document"


def line_of(node: yaml.Node) -> int:
    """Return the line on which *node* begins, counted from 1."""
    line: int = node.start_mark.line
    return line + 1
