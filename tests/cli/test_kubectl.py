"""The command as kubectl's plugin: its usage, and the options that it spells as kubectl does."""

import sys

import click
import pytest

from webhook.cli import imported, kubectl_plugin

ASK_A_CLUSTER: tuple[tuple[str, ...], ...] = (
    *(("dry-run",), ("status",), ("explain",), ("check",), ("page",), ("version",)),
    *(("certs", "show"), ("certs", "rotate"), ("profiles", "validate")),
)


def test_usage_names_what_was_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/kubectl-fabric_injector", "explain"])
    with pytest.raises(SystemExit) as left:
        kubectl_plugin()
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith("Usage: kubectl fabric-injector explain [OPTIONS]")


def test_commands_that_talk_to_a_cluster_share_kubectls_options() -> None:
    """Help names them in one line; -n is a namespace everywhere."""
    shared = {"--kubeconfig", "--context", "--cluster", "--as", "--as-group", "--request-timeout"}
    for words in ASK_A_CLUSTER:
        command = imported(words[0])
        for word in words[1:]:
            assert isinstance(command, click.Group)
            command = command.commands[word]
        spelled = {spelling: each for each in command.params for spelling in each.opts}
        assert shared <= {*spelled}, words
        assert words[0] in ("version", "certs") or "-n" in spelled, words
        system = spelled.get("--system-namespace")
        assert words == ("check",) or words == ("page",) or system is None or system.default
