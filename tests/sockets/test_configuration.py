"""The configuration file of ``serve``: mistakes end the start, and changes are followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sockets.conftest import OBJECTS, PROFILES
from tests.sockets.server import Server
from tests.waiting import wait_until
from webhook.core.profiles.objects import SETTINGS_API_VERSION

pytestmark = pytest.mark.sockets

HEAD = f"apiVersion: {SETTINGS_API_VERSION}\nkind: Configuration\n"


def serve(folder: Path, tls_dir: Path, config: Path, profiles: Path = PROFILES) -> Server:
    options = (
        f"--profiles={profiles}",
        f"--objects={OBJECTS}",
        f"--tls-dir={tls_dir}",
        f"--config={config}",
    )
    return Server(folder / "log", *options)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            f"{HEAD}multus:\n  defaultNetworks: two\n",
            "line 4: Configuration: multus.defaultNetworks: ",
        ),
        (f"{HEAD}multos: {{}}\n", "line 3: multos: is not a field; did you mean multus?"),
        (
            "multus: {defaultNetworks: 1}\n",
            "is not a Configuration; write apiVersion: config.fabric-injector.io/v1",
        ),
        (f"{HEAD}---\n{HEAD}", "line 4: kind: Configuration stands at line 1 already"),
    ],
    ids=["value", "field", "short", "twice"],
)
def test_a_mistake_is_told_at_start(
    tmp_path: Path, tls_dir: Path, content: str, message: str
) -> None:
    (tmp_path / "config.yaml").write_text(content)
    with pytest.raises(AssertionError) as ended:
        serve(tmp_path, tls_dir, tmp_path / "config.yaml").__enter__()
    assert "the configuration cannot be used" in str(ended.value)
    assert f"\n{tmp_path}/config.yaml: line " in str(ended.value)
    assert message in str(ended.value)


def test_a_folder_that_does_not_exist_is_a_mistake(tmp_path: Path, tls_dir: Path) -> None:
    with pytest.raises(
        AssertionError, match=r"configuration file /nowhere/c\.yaml: cannot be read"
    ):
        serve(tmp_path, tls_dir, Path("/nowhere/c.yaml")).__enter__()


def test_two_places_for_one_setting_are_a_mistake(tmp_path: Path, tls_dir: Path) -> None:
    profiles = tmp_path / "profiles.yaml"
    profiles.write_text("multus: {defaultNetworks: 1}\nprofiles: {}\n")
    with pytest.raises(
        AssertionError, match="multus: is given though there is a configuration file"
    ):
        serve(tmp_path, tls_dir, tmp_path / "config.yaml", profiles).__enter__()


def test_it_is_followed_and_keeps_its_last_good_content(tmp_path: Path, tls_dir: Path) -> None:
    config = tmp_path / "config.yaml"
    with serve(tmp_path, tls_dir, config) as server:
        [told] = server.lines("configuration read")
        assert told["message"].endswith("which is absent or says nothing: the defaults hold")
        config.write_text(f"{HEAD}multus: {{resourceNameKeys: [example.com/resourceName]}}\n")
        wait_until(lambda: server.lines("configuration reloaded"), "the new file")
        config.write_text(f"{HEAD}multus: {{resourceNameKeys: []}}\n")
        wait_until(lambda: server.lines("configuration not reloaded"), "the mistake")
        [told] = server.lines("configuration not reloaded")
        assert f"{config}: line 3: Configuration: multus.resourceNameKeys: " in told["message"]
        assert b'fabric_injector_faulty{source="configuration"} 1.0' in server.get("/metrics").body
        config.unlink()
        wait_until(lambda: len(server.lines("configuration reloaded")) == 2, "its end")
        assert b'fabric_injector_faulty{source="configuration"} 0.0' in server.get("/metrics").body
