"""The command as kubectl's plugin: its usage, and that its options are spelled as kubectl's."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from webhook.cli import imported, kubectl_plugin, main

TALKERS = (("dry-run",), ("explain",), ("certs", "show"), ("certs", "rotate"))


def test_usage_names_what_was_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/kubectl-fabric_injector", "explain"])
    with pytest.raises(SystemExit) as left:
        kubectl_plugin()
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith("Usage: kubectl fabric-injector explain [OPTIONS]")


@pytest.mark.parametrize("words", TALKERS, ids=" ".join)
def test_commands_that_talk_to_a_cluster_share_kubectls_options(words: tuple[str, ...]) -> None:
    spelled = {spelling for option in command_named(words).params for spelling in option.opts}
    assert {"--kubeconfig", "--context", "--namespace", "-n"} <= spelled


def command_named(words: tuple[str, ...]) -> click.Command:
    found: click.Command = main
    for word in words:
        assert isinstance(found, click.Group)
        found = imported(word) if found is main else found.commands[word]
    return found


@pytest.mark.parametrize("words", [*TALKERS, ("check",)], ids=" ".join)
def test_the_installations_namespace_has_one_name_and_help_says_what_n_means(
    words: tuple[str, ...],
) -> None:
    spelled = {spelling: each for each in command_named(words).params for spelling in each.opts}
    system = spelled["--system-namespace"]
    assert isinstance(system, click.Option)
    if words == ("check",):
        assert "else fabric-injector" in str(system.help), "it finds the namespace"
    else:
        assert system.default == "fabric-injector"
    told = spelled["-n"]
    assert isinstance(told, click.Option)
    is_same = told is system
    meaning = (
        "in explain and dry-run"
        if is_same
        else "else at all"
        if words == ("check",)
        else "else the kubeconfig's"
    )
    assert meaning in str(told.help)


@pytest.mark.parametrize("words", [*TALKERS, ("check",)], ids=" ".join)
def test_the_installations_namespace_has_one_name_in_the_environment_too(
    words: tuple[str, ...],
) -> None:
    result = CliRunner().invoke(main, [*words, "--help"], terminal_width=200)
    assert (
        f"FABRIC_INJECTOR_{'_'.join(words).upper().replace('-', '_')}_SYSTEM_NAMESPACE"
        in result.output
    )


@pytest.mark.parametrize("words", TALKERS, ids=" ".join)
def test_a_kubeconfig_that_is_not_there_is_a_plain_error(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "pod.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}"
    )
    given = ["-f", str(tmp_path / "pod.yaml"), "--server"] if words == ("dry-run",) else []
    given += ["job/train"] if words == ("explain",) else []
    result = CliRunner().invoke(main, [*words, *given, "--kubeconfig", str(tmp_path / "absent")])
    assert result.exit_code == 2
    assert f"no kubeconfig at {tmp_path / 'absent'}" in result.output
