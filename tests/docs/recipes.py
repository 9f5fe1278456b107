"""Follow a page: write the files that its blocks are titled with, make the changes of its diffs."""

from __future__ import annotations

import re
from pathlib import Path

_BLOCK = re.compile(r'^```(\w+) title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def follow(page: str, folder: Path) -> list[str]:
    """Do in *folder*, a copy of the repository, what the page says; return its test files."""
    tests = []
    for language, name, body in _BLOCK.findall(page):
        file = folder / name
        if language == "diff":
            file.write_text(changed(file.read_text(), body, name))
        else:
            assert not file.exists(), f"{name} is there already"
            file.write_text(body)
        if file.name.startswith("test_"):
            tests.append(name)
    return tests


def changed(text: str, diff: str, name: str) -> str:
    """Add the lines marked ``+`` where the diff's other lines stand, which must be one place."""
    lines = diff.splitlines(keepends=True)
    assert {line[0] for line in lines} == {" ", "+"}, (
        f"{name}: a diff of lines that stay and lines that come"
    )
    before = "".join(line[1:] for line in lines if line[0] == " ")
    assert text.count(before) == 1, (
        f"{name} holds these lines {text.count(before)} times, not once; "
        f"update the page's context lines:\n{before}"
    )
    return text.replace(before, "".join(line[1:] for line in lines))
