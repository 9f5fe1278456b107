"""The command line as a whole."""

from __future__ import annotations

from click.testing import CliRunner

from webhook.cli import main


def test_lists_every_command_in_one_whole_line() -> None:
    result = CliRunner().invoke(main, ["--help"], terminal_width=80)
    listed = result.stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == [
        "serve",
        "control",
        "dry-run",
        "check",
        "explain",
        "certs",
        "schema",
        "demo",
    ]
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)
