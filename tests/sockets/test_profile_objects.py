"""A webhook that follows the cluster's FabricProfiles: what is in force, and when it is ready."""

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.fake_apiserver import (
    FABRIC_PROFILES,
    NAMESPACES,
    NETWORKS,
    NOT_INSTALLED,
    FakeApiServer,
    text,
)
from tests.sockets.server import Server, write_kubeconfig
from tests.waiting import wait_until
from webhook.core import names

CONFIG = {
    "config": json.dumps({"cniVersion": "1.0.0", "type": "macvlan", "ipam": {"type": "nv-ipam"}})
}


@pytest.fixture
def cluster() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        server.put(NAMESPACES, "default", labels={names.PROFILE: "shared"})
        for name in ("one", "two"):
            server.put(NETWORKS, name, "fabric", spec=CONFIG)
        yield server


@pytest.fixture
def start(
    cluster: FakeApiServer, tmp_path: Path, tls_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Server]]:
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "kubeconfig", cluster.url)))
    with ExitStack() as stack:
        yield lambda *more: stack.enter_context(
            Server(tmp_path / "log", f"--tls-dir={tls_dir}", *more)
        )


def put(cluster: FakeApiServer, name: str, *networks: str, **spec: Any) -> None:
    cluster.put(
        FABRIC_PROFILES,
        name,
        spec={"networks": [{"network": f"fabric/{each}"} for each in networks], **spec},
    )


def wait_ready(server: Server) -> None:
    wait_until(lambda: server.get("/readyz").status == 200, "readiness")


def injected(server: Server, review: bytes) -> tuple[str, str]:
    """Return the networks that one admission adds, and why there are none."""
    answer = server.admit(review)
    if answer.status != 200:
        return "", f"{answer.status}: {answer.body.decode()}"
    response = answer.json()["response"]
    message = response.get("status", {}).get("message", "")
    return _networks(response.get("patch", "")), message


def _networks(patch: str) -> str:
    for operation in json.loads(b64decode(patch) or "[]"):
        if operation["path"].endswith("k8s.v1.cni.cncf.io~1networks"):
            return str(operation["value"])
        if operation["path"] == "/metadata/annotations":
            return str(operation["value"][names.NETWORKS])
    return ""


def test_a_change_is_in_force_at_once_and_no_fault_touches_another(
    cluster: FakeApiServer, start: Callable[[], Server], review: bytes
) -> None:
    put(cluster, "shared", "one")
    server = start()
    wait_ready(server)
    assert injected(server, review) == ("fabric/one", "")
    cluster.put(FABRIC_PROFILES, "broken", spec={"netwroks": []})
    put(cluster, "shared", "two")
    wait_until(lambda: injected(server, review) == ("fabric/two", ""), "the change to be in force")
    wait_until(lambda: server.metric('fabric_injector_faulty{source="profiles"}') == 1, "the fault")
    [told] = server.lines("profiles not reloaded")
    fault = "FabricProfile broken: spec.netwroks: is not a field here"
    assert f"{fault}; it is not in use" in str(told)
    assert server.get("/readyz").status == 200


def test_is_ready_without_profiles_and_says_that_there_can_be_none(
    cluster: FakeApiServer, start: Callable[[], Server], review: bytes
) -> None:
    cluster.misbehave("list", FABRIC_PROFILES, text(404, NOT_INSTALLED))
    server = start()
    wait_ready(server)
    wait_until(lambda: server.lines("watch of fabricprofiles: "), "the log line")
    assert "no profile is named 'shared'" in injected(server, review)[1]
    put(cluster, "shared", "one")
    told: list[str] = []

    def is_injected() -> bool:
        found, message = injected(server, review)
        told.append(message)
        return found == "fabric/one"

    wait_until(is_injected, "definition and profile", 20)
    assert any(each.startswith("503: ") for each in told), "it exists, and was not read yet"
    assert not any("no profile is named" in each for each in told), "nor is it denied"
