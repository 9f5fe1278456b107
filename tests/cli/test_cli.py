"""The command line as a whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
from click.testing import CliRunner

from webhook.cli import GROUPS, imported, main
from webhook.dry_run import RENDERERS


def test_lists_every_command_in_one_whole_line() -> None:
    result = CliRunner().invoke(main, ["--help"], terminal_width=80)
    lines = result.stdout.splitlines()
    assert len(lines) <= 35, "one screen"
    for title, commands in GROUPS.items():
        first = lines.index(f"{title}:") + 1
        listed = [line.split(maxsplit=1) for line in lines[first : first + len(commands)]]
        assert dict(listed) == commands


def test_help_and_completion_of_commands_import_none_of_them() -> None:
    script = (
        "import sys; from click.shell_completion import ShellComplete; from webhook.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print(*[item.value for item in ShellComplete(main, {}, 'fabric-injector', '').get_completions([], 's')])\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    *_, completed, modules = done.stdout.splitlines()
    assert completed.split() == ["status", "serve"]
    assert {name for name in modules.split() if name.startswith("webhook")} == {
        "webhook",
        "webhook.cli",
    }


HEAVY = (
    "webhook.core.profiles",
    "webhook.diagnose",
    "webhook.dry_run",
    "webhook.world",
    "webhook.kube",
    "webhook.presets",
    "msgspec",
    "jsonschema",
    "cel",
    "werkzeug",
    "flask",
    "yaml",
    "cryptography",
    "kubernetes",
    "urllib3",
    "jsonpatch",
    "rich",
)
"""What a command works with, and what takes longer to import than to print help."""


def each_command() -> list[tuple[str, ...]]:
    """Return the words of each command that is listed, those of groups too."""
    found: list[tuple[str, ...]] = []
    for name in main.commands:
        command = imported(name)
        found.append((name,))
        if isinstance(command, click.Group):
            found += [(name, each) for each in command.commands]
    return found


LOOK = """
import contextlib, io, json, os, sys
from click.shell_completion import ShellComplete
from webhook.cli import main

for words in json.loads(sys.argv[1]):
    if os.fork() == 0:  # nothing that another command has imported
        with contextlib.redirect_stdout(io.StringIO()) as usage:
            main([*words, "--help"], standalone_mode=False)
        complete = ShellComplete(main, {}, "fabric-injector", "").get_completions([*words], "--")
        told = usage.getvalue(), [item.value for item in complete], [*sys.modules]
        print(json.dumps([words, *told]), flush=True)
        os._exit(0)
    os.wait()
"""


def test_help_and_completion_of_options_import_nothing_that_the_work_needs() -> None:
    command = [sys.executable, "-c", LOOK, json.dumps(each_command())]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [tuple(words) for words, *_ in found] == each_command()
    for words, usage, completed, modules in found:
        assert usage.startswith("Usage:"), words
        assert len(usage.splitlines()) <= 40, f"{words}: one screen"
        assert "--help" in completed, words
        assert [name for name in modules if name.startswith(HEAVY)] == [], words


def test_dry_run_offers_each_form_there_is() -> None:
    [option] = [each for each in imported("dry-run").params if each.name == "output"]
    assert isinstance(option.type, click.Choice)
    assert {*option.type.choices} == {*RENDERERS, "name", "wide"}


def test_names_the_commands_that_may_have_been_meant() -> None:
    result = CliRunner().invoke(main, ["stats"])
    assert result.exit_code == 2
    assert "No such command 'stats'. Did you mean 'status'?" in result.stderr


def test_runs_the_wait_step_without_listing_it() -> None:
    result = CliRunner().invoke(main, ["wait", "--help"])
    assert result.exit_code == 0
    assert "Wait until each file holds an address" in result.stdout


def test_the_wait_step_imports_little() -> None:
    """It starts in each member of a job, and shares the members' memory limit."""
    script = "import sys; from webhook.cli import imported; imported('wait'); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    ours = {
        name
        for name in done.stdout.split()
        if name.startswith(("webhook", "certs", "flask", "msgspec", "urllib3"))
    }
    assert ours == {"webhook", "webhook.cli", "webhook.cli.wait"}


def test_says_that_the_disk_is_full() -> None:
    command = [sys.executable, "-m", "webhook", "presets"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    told = "Error: the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, told)
