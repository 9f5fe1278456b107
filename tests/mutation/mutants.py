"""Make the mutants of webhook/core: mutmut's operators on the bodies of all functions, decorated and nested ones too.

Constants of modules, default values and type annotations are not changed; nor are docstrings.
"""

import ast
import functools
import hashlib
import itertools
import textwrap
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider, WhitespaceInclusivePositionProvider
from mutmut.mutation.mutators import mutation_operators

from tests import ROOT

CORE = ROOT / "webhook" / "core"
HARMLESS_CALLS = {"len", "isinstance"}
"""Any change of their arguments raises TypeError at once, which any test sees."""


@dataclass(frozen=True)
class Mutant:
    """One change of one function.

    Attributes:
        path: The file, below the checkout.
        label: The function and its changed line, for people and for survivors.yaml: ``core.quantity.f: old => new``.
        key: A digest of the function's source and the change: it stays while the function is as it is.
        lines: The lines of the changed statement, the first and the last.
        body: The lines of the function.
        start: Where the changed text begins in the file.
        end: Where it ends.
        text: What stands there instead.
    """

    path: str
    label: str
    key: str
    lines: tuple[int, int]
    body: tuple[int, int]
    start: int
    end: int
    text: str

    def source(self) -> str:
        """Give the file's text with the change."""
        before = _read(self.path)
        return before[: self.start] + self.text + before[self.end :]


def all_mutants() -> list[Mutant]:
    """Give the mutants of all files of webhook/core, each with a label of its own."""
    return [mutant for path in sorted(CORE.rglob("*.py")) for mutant in mutants_of(path)]


def draw(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """Draw some by a seed: a function that changes alters its own share of the sample, and no other's."""
    ranked = sorted(
        mutants, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.key}".encode()).digest()
    )
    return list(itertools.islice((mutant for mutant in ranked if _is_written(mutant)), count))


def _is_written(mutant: Mutant) -> bool:
    """Tell whether the function can be read with the change; an operator may leave what is no Python."""
    lines = mutant.source().splitlines(keepends=True)
    last = mutant.body[1] + len(lines) - len(_read(mutant.path).splitlines())
    try:
        ast.parse(textwrap.dedent("".join(lines[mutant.body[0] - 1 : last])))
    except SyntaxError:
        return False
    return True


@functools.cache
def _read(path: str) -> str:
    return (ROOT / path).read_text()


def mutants_of(path: Path) -> list[Mutant]:
    """Give the mutants of one file."""
    source = path.read_text()
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    file = _File(path, source, wrapper)
    file.visit(wrapper.module, _Place((file.module,)))
    return file.mutants


class _Place(NamedTuple):
    """Where a node stands: names down to the innermost function, the source of the outermost one, lines of function and statement."""

    names: tuple[str, ...]
    function: str = ""
    body: tuple[int, int] = (0, 0)
    statement: tuple[int, int] = (0, 0)


class _File:
    def __init__(self, path: Path, source: str, wrapper: MetadataWrapper) -> None:
        self.mutants: list[Mutant] = []
        self._path = str(path.relative_to(ROOT))
        self.module = (
            self._path.removeprefix("webhook/")
            .removesuffix(".py")
            .replace("/", ".")
            .removesuffix(".__init__")
        )
        self._source = source
        self._offsets = [
            0,
            *itertools.accumulate(len(line) for line in source.splitlines(keepends=True)),
        ]
        self._code = wrapper.module.code_for_node
        self._whole = wrapper.resolve(WhitespaceInclusivePositionProvider)
        self._positions = wrapper.resolve(PositionProvider)
        self._labels: Counter[str] = Counter()

    def visit(self, node: cst.CSTNode, place: _Place) -> None:
        """Add the mutants of a node and of what it holds."""
        if isinstance(node, cst.Annotation) or _is_harmless(node):
            return
        if isinstance(node, cst.ClassDef | cst.FunctionDef):
            place = place._replace(names=(*place.names, node.name.value))
        if isinstance(node, cst.FunctionDef):
            position = self._positions[node]
            body = position.start.line, position.end.line
            self.visit(
                node.body, place._replace(function=place.function or self._code(node), body=body)
            )
            return
        if isinstance(node, cst.SimpleStatementLine | cst.BaseCompoundStatement):
            place = place._replace(statement=self._statement(node))
        if place.function:
            for kind, operator in mutation_operators:
                if isinstance(node, kind):
                    for changed in operator(node):
                        self._add(node, changed, place)
        for child in node.children:
            self.visit(child, place)

    def _statement(self, node: cst.CSTNode) -> tuple[int, int]:
        """Give the lines of a statement; of one with a body those before it."""
        position = self._positions[node]
        body = getattr(node, "body", None)
        if isinstance(body, cst.IndentedBlock):
            return position.start.line, self._positions[body.body[0]].start.line - 1
        return position.start.line, position.end.line

    def _add(self, node: cst.CSTNode, changed: cst.CSTNode, place: _Place) -> None:
        whole = self._whole[node]
        start = self._offsets[whole.start.line - 1] + whole.start.column
        end = self._offsets[whole.end.line - 1] + whole.end.column
        text = self._code(changed)
        if isinstance(node, cst.BaseCompoundStatement):
            text = textwrap.indent(text, " " * self._positions[node].start.column)
        first, last = (
            self._offsets[whole.start.line - 1],
            self._source.find("\n", max(start, end - 1)),
        )
        was, now = (
            self._source[first:last],
            self._source[first:start] + text + self._source[end:last],
        )
        label = f"{'.'.join(place.names)}: {_one_line(was)} => {_one_line(now)}"
        self._labels[label] += 1
        if self._labels[label] > 1:
            label += f" ({self._labels[label]})"
        key = hashlib.sha256(f"{label}\n{place.function}".encode()).hexdigest()[:16]
        self.mutants.append(
            Mutant(self._path, label, key, place.statement, place.body, start, end, text)
        )


def _is_harmless(node: cst.CSTNode) -> bool:
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value in HARMLESS_CALLS
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
