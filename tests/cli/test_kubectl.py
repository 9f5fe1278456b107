"""The command as kubectl's plugin: its usage, and that its options are spelled as kubectl's."""

from __future__ import annotations

import sys

import click
import pytest
from click.testing import CliRunner

from webhook.cli import imported, kubectl_plugin, main

MEANINGS = {
    ("dry-run",): "else the kubeconfig's",
    ("explain",): "else the kubeconfig's",
    ("certs", "show"): "in explain and dry-run",
    ("certs", "rotate"): "in explain and dry-run",
    ("check",): "else at all",
}
"""Commands that talk to a cluster, and what their help says of -n."""


def test_usage_names_what_was_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/kubectl-fabric_injector", "explain"])
    with pytest.raises(SystemExit) as left:
        kubectl_plugin()
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith("Usage: kubectl fabric-injector explain [OPTIONS]")


@pytest.mark.parametrize(("words", "meaning"), MEANINGS.items(), ids=map(" ".join, MEANINGS))
def test_commands_that_talk_to_a_cluster_share_kubectls_options(
    words: tuple[str, ...], meaning: str
) -> None:
    """The installation's namespace has one name, in the environment too; help explains -n."""
    command: click.Command = main
    for word in words:
        assert isinstance(command, click.Group)
        command = imported(word) if command is main else command.commands[word]
    spelled = {spelling: each for each in command.params for spelling in each.opts}
    assert {"--kubeconfig", "--context", "--namespace", "-n"} <= set(spelled)
    system, named = spelled["--system-namespace"], spelled["-n"]
    assert isinstance(system, click.Option)
    assert isinstance(named, click.Option)
    assert meaning in str(named.help)
    if words == ("check",):
        assert "else fabric-injector" in str(system.help), "it finds the namespace"
    else:
        assert system.default == "fabric-injector"
    variable = "_".join(["FABRIC_INJECTOR", *words, "SYSTEM_NAMESPACE"]).upper().replace("-", "_")
    result = CliRunner().invoke(main, [*words, "--help"], terminal_width=200)
    assert variable in result.output
