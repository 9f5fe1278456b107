"""Read YAML text into a Document; knows YAML 1.1 and nothing of profiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from yaml.constructor import SafeConstructor

from webhook.core.errors import Problem, ProfilesError
from webhook.core.profiles.document import TAG, Document, Location, describe, format_path, line_of

_NODES_MAX = 100_000
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = f"{TAG}merge"
_SCALARS = SafeConstructor()
_CONSTRUCTORS = {
    f"{TAG}int": _SCALARS.construct_yaml_int,
    f"{TAG}float": _SCALARS.construct_yaml_float,
    f"{TAG}bool": _SCALARS.construct_yaml_bool,
    f"{TAG}null": lambda _: None,
    f"{TAG}timestamp": _SCALARS.construct_yaml_timestamp,
}
_TEXTS = (f"{TAG}str", f"{TAG}value", _MERGE)


def read_document(text: str) -> Document:
    """Read the one document of *text*; duplicate and odd keys become problems of the Document.

    Raises ProfilesError where nothing can be read: no YAML, empty, more than one document, an alias inside its own anchor.
    """
    try:
        node = yaml.compose(text, Loader=_LOADER)
        if node is None:
            raise _unreadable("is empty; write at least `profiles: {}`", 1)
        document = Document()
        document.value = _Reader(document).read(node, (), ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _unreadable(_syntax(error, text), mark.line + 1 if mark else 1) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, text.find(chr(error.character))) + 1
        raise _unreadable(
            f"holds the character U+{error.character:04X}, which YAML does not allow; remove it", line
        ) from None
    except UnicodeEncodeError as error:
        raise _unreadable(
            "holds half a surrogate pair; write it in UTF-8", text.count("\n", 0, error.start) + 1
        ) from None
    except RecursionError:
        raise _unreadable("is nested too deeply", 1) from None
    return document


class _Reader:
    """Turn nodes into values; collects faults instead of stopping at the first."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.seen = 0

    def read(self, node: yaml.Node, location: Location, above: tuple[yaml.Node, ...]) -> Any:
        self.count(node)
        self.document.nodes[location] = node
        if any(node is parent for parent in above):
            raise _unreadable("holds an alias inside its own anchor; write the values out", line_of(node))
        if isinstance(node, yaml.ScalarNode):
            return self.read_scalar(node, location)
        if node.tag not in (f"{TAG}map", f"{TAG}seq"):
            self.fault(location, node, f"has the tag {node.tag}; write a plain list or mapping")
        above = (*above, node)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*location, index), above) for index, item in enumerate(node.value)]
        return self.read_mapping(node, location, above)

    def read_mapping(self, node: yaml.Node, location: Location, above: tuple[yaml.Node, ...]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        keys = self.document.keys
        for key_node, value_node, merged in self.pairs(node, location):
            key = self.read_key(key_node, location)
            if key is None or (merged and key in values):
                continue
            if key in values:
                first = line_of(keys[*location, key])
                self.fault((*location, key), key_node, f"is written twice, first in line {first}; keep one")
                continue
            keys[*location, key] = key_node
            values[key] = self.read(value_node, (*location, key), above)
        return values

    def pairs(self, node: yaml.Node, location: Location) -> Iterator[tuple[yaml.Node, yaml.Node, bool]]:
        """Yield a mapping's own keys, then what ``<<: *base`` or ``<<: [*a, *b]`` brings: the first of a name wins."""
        merges = []
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                merges.append(value_node)
            else:
                yield key_node, value_node, False
        for merge in merges:
            for part in merge.value if isinstance(merge, yaml.SequenceNode) else (merge,):
                self.count(part)
                if isinstance(part, yaml.MappingNode):
                    yield from ((key, value, True) for key, value, _ in self.pairs(part, location))
                else:
                    self.fault((*location, "<<"), part, f"found {describe(part)}; write the alias of a mapping")

    def read_key(self, node: yaml.Node, location: Location) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self.fault(location, node, f"has a key that is {describe(node)}; write text")
            return None
        key: str = node.value
        if node.tag not in _TEXTS:
            self.fault((*location, key), node, f'the key is {describe(node)}; write it in quotes: "{key}"')
        return key

    def read_scalar(self, node: yaml.ScalarNode, location: Location) -> Any:
        if node.tag in _TEXTS:
            return node.value
        if node.tag not in _CONSTRUCTORS:
            self.fault(location, node, f"has the tag {node.tag}; write a plain value")
            return node.value
        try:
            return _CONSTRUCTORS[node.tag](node)
        except (ValueError, LookupError, AttributeError):  # what PyYAML raises where a tag, !!timestamp, does not fit
            self.fault(location, node, f"found {describe(node)}, but it is none; write it in quotes")
            return node.value

    def fault(self, location: Location, node: yaml.Node, message: str) -> None:
        self.document.problems.append(Problem(format_path(location), line_of(node), message))

    def count(self, node: yaml.Node) -> None:
        self.seen += 1
        if self.seen > _NODES_MAX:
            raise _unreadable(f"holds more than {_NODES_MAX} values, aliases followed; write less", line_of(node))


def _syntax(error: yaml.MarkedYAMLError, text: str) -> str:
    problem = str(error.problem or error.context)
    if "found another document" in problem:
        return "holds more than one document; write one, without a second ---"
    mark = error.problem_mark
    lines = text.splitlines()
    if mark and mark.line < len(lines) and lines[mark.line][mark.column : mark.column + 1] == "\t":
        problem += " (a tab; YAML indents with spaces)"
    return f"is not valid YAML: {problem}"


def _unreadable(message: str, line: int) -> ProfilesError:
    return ProfilesError((Problem(format_path(()), line, message),))
