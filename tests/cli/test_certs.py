"""``fabric-injector certs``: what is printed, what is written, and what is refused."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from certs.pem import is_pair, is_signed_by, read_authorities, read_certificates, read_key
from tests.fake_objects import SECRET, Cluster, FakeConnection, Replica
from webhook.cli import kubeconfig, main
from webhook.core import names


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["certs", *map(str, arguments)])


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster whose controller has just issued everything; the commands reach it."""
    cluster = Cluster()
    cluster.now = datetime.now(UTC)
    cluster.configure(b"")
    Replica(cluster).turn()
    monkeypatch.setattr(kubeconfig, "connect", lambda **_: FakeConnection(cluster))
    return cluster


@pytest.fixture
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


def test_shows_the_secret(cluster: Cluster) -> None:
    result = run("show")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].startswith("CA         CN=fabric-injector CA")
    assert "(29 days), renewal " in lines[1]
    assert lines[2:] == [
        "           for fabric-injector.fabric-injector.svc",
        "ok; fabric-injector check says whether the cluster trusts it",
    ]
    assert "PRIVATE KEY" not in result.output


def test_shows_what_is_wrong(cluster: Cluster) -> None:
    cluster.change_secret(tls_key=b"garbage")
    result = run("show")
    assert result.exit_code == 1
    wrong = [line for line in result.output.splitlines() if line.startswith("WRONG")]
    assert wrong == [
        "WRONG  tls.key: is not the key of tls.crt; ask for a new pair with `certs rotate`",
    ]


@pytest.mark.usefixtures("no_cluster")
@pytest.mark.parametrize("command", ["show", "rotate"])
def test_needs_a_cluster_for(command: str) -> None:
    result = run(command)
    assert (result.exit_code, "no credentials for a cluster" in result.output) == (2, True)


@pytest.mark.parametrize("command", ["show", "rotate"])
def test_tells_that_there_is_no_secret(cluster: Cluster, command: str) -> None:
    del cluster.objects[SECRET]
    result = run(command)
    assert (
        result.exit_code,
        "Secret fabric-injector/fabric-injector-tls does not exist" in result.output,
    ) == (2, True)


@pytest.mark.parametrize(
    ("options", "kind"), [((), "serving"), (("--authority",), "authority")], ids=["leaf", "CA"]
)
def test_asks_the_controller(cluster: Cluster, options: tuple[str, ...], kind: str) -> None:
    before = cluster.secret
    result = run("rotate", *options)
    assert result.exit_code == 0, result.output
    assert cluster.objects[SECRET]["metadata"]["annotations"] == {names.ROTATE: kind}
    Replica(cluster).turn()
    assert cluster.secret["tls.crt" if kind == "serving" else "ca.crt"] != before["tls.crt"]
    leaf, key = read_certificates(cluster.secret["tls.crt"])[0], read_key(cluster.secret["tls.key"])
    assert key is not None
    assert is_pair(leaf, key)
    assert any(is_signed_by(leaf, each) for each in read_authorities(cluster.ca_bundles[0]))
