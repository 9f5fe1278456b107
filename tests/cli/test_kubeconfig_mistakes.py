"""What a person is told whose kubeconfig is wrong: the file, the context, the server, and what to do."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.cluster.pki import Authority
from tests.fake_apiserver import FakeApiServer, status
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
POD = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod.yaml").write_text(POD)
    return tmp_path


def write(folder: Path, **cluster: Any) -> Path:
    config = {
        "current-context": "prod",
        "contexts": [{"name": "prod", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "secret-token"}}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(config))
    return path


def failed(*words: str) -> str:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "secret-token" not in result.stderr
    return result.stderr


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_names_the_contexts_there_are(words: tuple[str, ...], folder: Path) -> None:
    path = write(folder, server="https://127.0.0.1:1")
    told = failed(*words, "--kubeconfig", str(path), "--context", "test")
    assert f"kubeconfig {path}: --context test: no context is named so; use one of: prod" in told


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_names_the_cluster_without_a_server(words: tuple[str, ...], folder: Path) -> None:
    path = write(folder)
    told = failed(*words, "--kubeconfig", str(path))
    assert (
        f"kubeconfig {path}: clusters[c].cluster.server: is not set, and context prod needs it"
        in told
    )


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("server", "reason"),
    [
        ("https://127.0.0.1:1", "Connection refused"),
        ("https://api.invalid:6443", "Failed to resolve 'api.invalid'"),
    ],
    ids=["refused", "no address"],
)
def test_names_the_server_that_does_not_answer(
    words: tuple[str, ...], server: str, reason: str, folder: Path
) -> None:
    path = write(folder, server=server)
    told = failed(*words, "--kubeconfig", str(path))
    assert reason in told
    assert f"this is server {server} of kubeconfig {path}, context prod: " in told
    assert "or name another by --context or --kubeconfig" in told
    assert "--server lets" not in told


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_names_the_server_that_does_not_know_the_user(words: tuple[str, ...], folder: Path) -> None:
    with FakeApiServer() as server:
        server.refusal = status(401, "Unauthorized")
        path = write(folder, server=server.url)
        told = failed(*words, "--kubeconfig", str(path))
    assert f"server {server.url} of kubeconfig {path}, context prod" in told
    assert "log in to the cluster again" in told


@pytest.mark.parametrize(
    "words", [each for each in COMMANDS if each not in (("check",), COMMANDS[5])], ids=" ".join
)
def test_names_the_server_that_refuses(words: tuple[str, ...], folder: Path) -> None:
    with FakeApiServer() as server:
        server.refusal = status(403, "no such right")
        path = write(folder, server=server.url)
        told = failed(*words, "--kubeconfig", str(path))
    assert "answered 403: no such right" in told
    assert (
        f"this is server {server.url} of kubeconfig {path}, context prod: ask for the right there"
        in told
    )


def test_says_where_no_credentials_are_sent(folder: Path) -> None:
    with FakeApiServer() as server:
        server.refusal = status(
            403, 'pods is forbidden: User "system:anonymous" cannot list resource "pods"'
        )
        told = failed("status", "--kubeconfig", str(write(folder, server=server.url)))
    assert "its user sends no credentials: log in to the cluster" in told


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_names_the_authority_that_is_not_the_servers(words: tuple[str, ...], folder: Path) -> None:
    ours, other = (
        Authority(name).write(folder / name, ["127.0.0.1"]) for name in ("ours", "other")
    )
    with FakeApiServer(serving(ours)) as server:
        path = write(folder, server=server.url, **{"certificate-authority": str(other / "ca.crt")})
        told = failed(*words, "--kubeconfig", str(path))
    assert f"server {server.url} of kubeconfig {path}, context prod: " in told
    assert "its certificate is not trusted: correct the cluster's certificate-authority" in told


def test_names_the_certificate_that_is_for_another_name(folder: Path) -> None:
    authority = Authority("ours").write(folder / "ours", ["127.0.0.1"])
    with FakeApiServer(serving(authority)) as server:
        settings = {
            "certificate-authority": str(authority / "ca.crt"),
            "tls-server-name": "api.example",
        }
        told = failed(
            "explain", "job/x", "--kubeconfig", str(write(folder, server=server.url, **settings))
        )
    assert (
        "the certificate is for another name: correct the cluster's server, or its tls-server-name"
        in told
    )


def test_says_nothing_of_the_cluster_where_it_answered(folder: Path) -> None:
    with FakeApiServer() as server:
        told = failed(
            "explain", "job/absent", "--kubeconfig", str(write(folder, server=server.url))
        )
    assert "absent" in told
    assert "this is server" not in told


def serving(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context
