"""``fabric-injector check``: what it refuses, and what it prints beside findings."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from webhook.cli import main


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["check", *map(str, arguments)])


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


def test_refuses_a_profiles_file_that_cannot_be_read(tmp_path: Path) -> None:
    result = run("--profiles", tmp_path / "absent.yaml")
    assert (result.exit_code, "absent.yaml: cannot be read" in result.output) == (2, True)


@pytest.mark.parametrize("arguments", [("-o", "yaml"), ("--unknown",), ("extra",)], ids=str)
def test_refuses(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2


def explain(code: str) -> Result:
    return CliRunner().invoke(main, ["explain", "--code", code])


def test_explains_a_code_without_a_cluster() -> None:
    result = explain("address-former")
    assert (result.exit_code, result.output.startswith("address-former: ")) == (0, True)
    assert "\n→ " in result.output


def test_refuses_to_explain_what_is_no_code() -> None:
    result = explain("adress-former")
    assert result.exit_code == 2
    assert "no finding has code 'adress-former'; did you mean address-former?" in result.output
