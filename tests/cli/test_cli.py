"""The command line as a whole."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
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
        "import sys; from click.shell_completion import ShellComplete\n"
        "from webhook.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "found = ShellComplete(main, {}, 'fabric-injector', '').get_completions([], 's')\n"
        "print(*[item.value for item in found])\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    *_, completed, modules = done.stdout.splitlines()
    assert completed.split() == ["serve", "status"]
    assert {name for name in modules.split() if name.startswith("webhook")} == {
        "webhook",
        "webhook.cli",
    }


def each_command() -> list[tuple[str, ...]]:
    """Return the words of each command that is listed, those of groups too."""
    found: list[tuple[str, ...]] = []
    for name in main.commands:
        command = imported(name)
        found.append((name,))
        if isinstance(command, click.Group):
            found += [(name, each) for each in command.commands]
    return found


@pytest.mark.parametrize("words", each_command(), ids=" ".join)
def test_help_of_a_command_is_one_screen(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*words, "--help"], terminal_width=80)
    assert result.stdout.startswith("Usage:")
    assert len(result.stdout.splitlines()) <= 40
    completed = ShellComplete(main, {}, "fabric-injector", "").get_completions([*words], "--")
    assert "--help" in [item.value for item in completed]


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
    command = [sys.executable, "-m", "webhook", "presets", "list"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    told = "Error: the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, told)
