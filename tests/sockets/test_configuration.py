"""The configuration file of ``serve``: mistakes end the start, and changes are followed."""

from pathlib import Path

import pytest

from tests.profiles import as_text
from tests.sockets.conftest import Serve
from tests.tables import table
from tests.waiting import wait_until
from webhook.core.profiles.objects import SETTINGS_API_VERSION

HEAD = f"apiVersion: {SETTINGS_API_VERSION}\nkind: Configuration\n"


@table(
    "config, multus, message",
    {
        "value": (f"{HEAD}multus: {{defaultNetworks: two}}", "", "multus.defaultNetworks: "),
        "no object": ("multus: {defaultNetworks: 1}", "", "kind: "),
        "two places for one setting": (
            None,
            "{defaultNetworks: 1}",
            "multus: is given though there is a configuration file",
        ),
    },
)
def test_a_mistake_is_told_at_start(
    tmp_path: Path, serve: Serve, config: str | None, multus: str, message: str
) -> None:
    if config:
        (tmp_path / "config.yaml").write_text(config)
    (tmp_path / "profiles.yaml").write_text(as_text("{}", multus))
    with pytest.raises(AssertionError) as ended:
        serve(f"--config={tmp_path}/config.yaml", f"--profiles={tmp_path}/profiles.yaml")
    [output] = ended.value.__notes__
    assert message in output
    assert f"{tmp_path}/{'config' if config else 'profiles'}.yaml: " in output


def test_it_is_followed_and_keeps_its_last_good_content(tmp_path: Path, serve: Serve) -> None:
    config = tmp_path / "config.yaml"
    server = serve(f"--config={config}")
    [told] = server.lines("configuration read")
    assert told["message"].endswith("which is absent or says nothing: the defaults hold")
    config.write_text(f"{HEAD}multus: {{resourceNameKeys: [example.com/resourceName]}}\n")
    wait_until(lambda: len(server.lines("configuration read")) == 2, "the new file")
    config.write_text(f"{HEAD}multus: {{resourceNameKeys: []}}\n")
    wait_until(lambda: server.lines("configuration file not reloaded"), "the mistake")
    [told] = server.lines("configuration file not reloaded")
    assert f"{config}: line 3: Configuration: multus.resourceNameKeys: " in told["message"]
    assert server.metric('fabric_injector_faulty{source="configuration"}') == 1
    config.unlink()
    wait_until(lambda: len(server.lines("configuration read")) == 3, "its end")
    assert server.metric('fabric_injector_faulty{source="configuration"}') == 0
