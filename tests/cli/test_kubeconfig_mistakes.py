"""What a person is told whose kubeconfig is wrong: file, context, server, and what to do."""

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.cli.dry_run_command import POD
from tests.cluster.pki import Authority
from tests.fake_apiserver import FakeApiServer, status
from tests.tables import table
from webhook.cli import main

COMMANDS = (
    ("explain", "job/train"),
    ("status",),
    ("dry-run", "-A"),
    ("check",),
    ("dry-run", "-f", "pod.yaml"),
    ("dry-run", "--server", "-f", "pod.yaml"),
    ("certs", "show"),
    ("certs", "rotate"),
)
each_command = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(POD))
    return tmp_path


def failed(*words: str, **cluster: Any) -> str:
    """Run the command with a kubeconfig of this cluster; return what it says of its end."""
    config = {
        "current-context": "prod",
        "contexts": [{"name": "prod", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "secret-token"}}],
    }
    Path("config").write_text(yaml.safe_dump(config))
    result = CliRunner().invoke(main, [*words, "--kubeconfig", "config"])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "secret-token" not in result.stderr
    return result.stderr


@each_command
def test_names_the_kubeconfig_that_is_not_there(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*words, "--kubeconfig", "absent"])
    assert (result.exit_code, "no kubeconfig at absent" in result.stderr) == (2, True)


@each_command
def test_names_the_server_that_does_not_answer(words: tuple[str, ...]) -> None:
    told = failed(*words, server="https://127.0.0.1:1")
    assert "Connection refused" in told
    assert "this is server https://127.0.0.1:1 of kubeconfig config, context prod: " in told
    assert "or name another by --context or --kubeconfig" in told


def test_names_the_server_without_an_address() -> None:
    assert "Failed to resolve 'api.invalid'" in failed("status", server="https://api.invalid:6443")


REFUSALS = {
    "401": (401, "Unauthorized", "log in to the cluster again"),
    "403": (403, "no such right", "context prod: ask for the right there"),
    "profiles": (403, "no /fabricprofiles", "ask for ClusterRole fabric-injector-profile-viewer"),
    "anonymous": (403, 'User "system:anonymous" cannot', "its user sends no credentials: log in"),
}


@table("code, answer, advice", REFUSALS)
def test_names_the_server_that_refuses(code: int, answer: str, advice: str) -> None:
    with FakeApiServer() as server:
        server.refusal = status(code, answer)
        told = failed("status", server=server.url)
    assert f"answered {code}: {answer}" in told
    assert f"this is server {server.url} of kubeconfig config, context prod" in told
    assert advice in told


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give folders of a CA and a certificate of it for 127.0.0.1, by name."""
    folder = tmp_path_factory.mktemp("pki")
    made = {name: Authority().write(folder / name, ["127.0.0.1"]) for name in ("ours", "other")}
    return made.__getitem__


def serving(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context


def test_names_the_authority_that_is_not_the_servers(authority: Callable[[str], Path]) -> None:
    trusted = {"certificate-authority": str(authority("other") / "ca.crt")}
    with FakeApiServer(serving(authority("ours"))) as server:
        told = failed("status", server=server.url, **trusted)
    assert f"server {server.url} of kubeconfig config, context prod: " in told
    assert "context prod: correct the cluster's certificate-authority" in told


def test_names_the_certificate_that_is_for_another_name(authority: Callable[[str], Path]) -> None:
    ours = authority("ours")
    settings = {"certificate-authority": str(ours / "ca.crt"), "tls-server-name": "api.example"}
    with FakeApiServer(serving(ours)) as server:
        told = failed("explain", "job/x", server=server.url, **settings)
    assert "correct the cluster's server, or its tls-server-name" in told


def test_says_nothing_of_the_cluster_where_it_answered() -> None:
    with FakeApiServer() as server:
        told = failed("explain", "job/absent", server=server.url)
    assert "absent" in told
    assert "this is server" not in told
