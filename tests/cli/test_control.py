"""What ``control`` hands to the controller: how Multus is configured at each look."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from webhook.cli import control, main
from webhook.core.profiles import ClusterSettings, Multus
from webhook.core.profiles.objects import SETTINGS_API_VERSION

HEAD = f"apiVersion: {SETTINGS_API_VERSION}\nkind: Configuration\n"
ISOLATED = f"{HEAD}multus: {{namespaceIsolation: true}}\n"
FAULTY = f"{HEAD}multos: {{}}\n"
FAULT = "Configuration: multos: is not a field; did you mean multus?"


@pytest.fixture
def multus(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Callable[[], Multus]]:
    """Give how the controller that has these options asks for the settings of Multus."""

    def multus(*options: str) -> Callable[[], Multus]:
        given: list[Callable[[], ClusterSettings]] = []
        monkeypatch.setattr(control, "run", lambda _, settings, _connect: given.append(settings))
        result = CliRunner().invoke(main, ["control", *options])
        assert (result.exit_code, result.stderr) == (0, "")
        return lambda: given[0]().multus

    return multus


def test_the_configuration_is_followed_and_its_last_good_content_stays(
    tmp_path: Path, multus: Callable[..., Callable[[], Multus]], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "config.yaml"
    look = multus(f"--config={path}")
    assert look() == Multus(), "without the file the defaults hold"
    path.write_text(ISOLATED)
    assert look() == Multus(namespace_isolation=True)
    path.write_text(FAULTY)
    assert [look(), look()] == [Multus(namespace_isolation=True)] * 2
    assert (
        caplog.text.count(
            f"configuration file not reloaded, the last good content stays: {path}: line 3: {FAULT}"
        )
        == 1
    )
    path.unlink()
    assert look() == Multus()


def test_a_faulty_configuration_does_not_keep_the_controller_from_starting(
    tmp_path: Path, multus: Callable[..., Callable[[], Multus]], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(FAULTY)
    assert multus(f"--config={path}")() == Multus()
    assert FAULT in caplog.text
    assert multus("--config=/nowhere/config.yaml")() == Multus()
    assert "configuration file /nowhere/config.yaml: cannot be read" in caplog.text
