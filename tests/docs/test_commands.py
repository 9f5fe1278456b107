"""Commands of README and docs/ that need no cluster do what the pages say.

tests/apiserver runs the others.
"""

from __future__ import annotations

import itertools
import re
import subprocess

import pytest

from tests import ROOT
from tests.docs.commands import blocks, bring, run, sandbox, wrong

LOCAL = [block for block in blocks() if not block.why and not block.needs_a_cluster]


Printed = dict[str, subprocess.CompletedProcess[str]]
"""What each command printed."""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Printed]:
    """Run all of them, page by page; what several pages print is run once."""
    found: dict[str, Printed] = {}
    once: Printed = {}
    for page, of_page in itertools.groupby(LOCAL, lambda block: block.page):
        folder = tmp_path_factory.mktemp("docs")
        sandbox(folder)
        bring(folder, page)
        nowhere = {"KUBECONFIG": str(folder / "no-kubeconfig")}
        found[page] = {}
        for command in (command for block in of_page for command in block.commands()):
            done = once.get(command) or run(command, folder, nowhere)
            found[page][command] = done
            if ">" not in command:
                once[command] = done
    return found


@pytest.mark.parametrize("page", sorted({block.page for block in LOCAL}))
def test_commands_that_need_no_cluster_run(page: str, printed: dict[str, Printed]) -> None:
    told = [wrong(command, done) for command, done in printed[page].items()]
    assert [each for each in told if each] == []


@pytest.mark.parametrize(("page", "shown"), [("first-hour.md", 3), ("dry-run.md", 1)])
def test_a_page_shows_what_is_printed(page: str, shown: int, printed: dict[str, Printed]) -> None:
    """The first blocks of text are printed by the command before each."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    ran, last = printed[f"docs/{page}"], ""
    for language, block in re.findall(r"^```(text)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if language and shown:
            shown -= 1
            assert block in last
        elif shown and "dry-run" in block:
            *_, last = (ran[line].stdout for line in block.splitlines() if line in ran)
    assert shown == 0


def test_the_readme_is_short_and_names_the_test_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.encode()) <= 6 * 1024
    assert text.count("IMAGE=") == 1, "the one thing that a reader must fill in"
    (command,) = re.findall(r"^make \w+$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert f"`{command}`" in text


def test_most_commands_are_run() -> None:
    assert len([block for block in blocks() if block.why]) < len([*blocks()]) / 2
