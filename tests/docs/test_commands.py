"""The commands of README and docs/ do what the pages say: those that need no cluster. tests/apiserver runs the others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import ROOT
from tests.docs.commands import Block, blocks, bring, run, sandbox, wrong

LOCAL = [block for block in blocks() if not block.why and not block.needs_a_cluster]


@pytest.mark.parametrize("page", sorted({block.page for block in LOCAL}))
def test_commands_that_need_no_cluster_run(page: str, tmp_path: Path) -> None:
    sandbox(tmp_path)
    bring(tmp_path, page)
    nowhere = {"KUBECONFIG": str(tmp_path / "no-kubeconfig")}
    of_page = [command for block in LOCAL if block.page == page for command in block.commands()]
    assert [
        told for command in of_page if (told := wrong(command, run(command, tmp_path, nowhere)))
    ] == []


def test_the_first_hour_shows_what_is_printed(tmp_path: Path) -> None:
    """Each shown line is printed by the command before it."""
    sandbox(tmp_path)
    text = (ROOT / "docs/first-hour.md").read_text(encoding="utf-8")
    printed, shown = "", []
    for language, block in re.findall(r"^```(text)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if language:
            shown.append(block)
            assert block in printed
        elif "dry-run" in block:
            printed = run(block, tmp_path, {}).stdout
    assert len(shown) == 3


def test_the_readme_is_short_and_names_the_test_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.encode()) <= 8 * 1024
    (command,) = re.findall(r"^make \w+$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert f"`{command}`" in text


def test_what_is_not_run_says_why() -> None:
    left_out = [block for block in blocks() if block.why]
    assert [str(block) for block in left_out if len(block.why) < 15] == []
    assert len(left_out) < len([*blocks()]) / 2, "most commands are run"


def test_tells_commands_apart(tmp_path: Path) -> None:
    assert Block("page", 1, "kubectl get ns\n", "").needs_a_cluster
    assert Block("page", 1, "fabric-injector dry-run -f job.yaml -n x\n", "").needs_a_cluster
    assert not Block(
        "page", 1, "fabric-injector dry-run -f job.yaml --objects x\n", ""
    ).needs_a_cluster
    assert Block("page", 1, "$ a b\nprinted\n$ c\n", "").commands() == ["a b", "c"]
    assert "ended with 2" in wrong(
        "fabric-injector presets --no", run("fabric-injector presets --no", tmp_path, {})
    )
    assert wrong("false", run("false", tmp_path, {}))
    assert not wrong("true", run("true", tmp_path, {}))
