"""Clients that must show a certificate, the options that say so, and a rotation of the authority that they need."""

from __future__ import annotations

import http.client
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cluster.pki import Authority
from tests.sockets.conftest import OBJECTS, PROFILES
from tests.sockets.server import SERVE_ANYWHERE, Server, admit
from tests.waiting import wait_until

pytestmark = pytest.mark.sockets

NAME = "kube-apiserver"
REFUSED = (ssl.SSLError, ConnectionError, http.client.HTTPException)


@pytest.fixture(scope="module")
def clients() -> Authority:
    return Authority("clients")


@pytest.fixture(scope="module")
def right(clients: Authority, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clients.write_client(tmp_path_factory.mktemp("right"), NAME)


@contextmanager
def demanding(folder: Path, tls_dir: Path, clients: Authority, *options: str) -> Iterator[Server]:
    """Run a server that trusts *clients*, whose certificate is in ``clients.crt`` of the folder."""
    (folder / "clients.crt").write_bytes(clients.pem)
    common = (f"--profiles={PROFILES}", f"--objects={OBJECTS}", f"--tls-dir={tls_dir}")
    with Server(
        folder / "log", *common, f"--client-ca={folder / 'clients.crt'}", *options
    ) as server:
        yield server


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tls_dir: Path, clients: Authority
) -> Iterator[Server]:
    names = (f"--client-name={NAME}", "--client-name=other-apiserver")
    with demanding(tmp_path_factory.mktemp("server"), tls_dir, clients, *names) as running:
        yield running


def connect(
    server: Server,
    authority: Path,
    shown: Path | None,
    version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
) -> http.client.HTTPSConnection:
    context = ssl.create_default_context(cafile=authority)
    context.maximum_version = version
    if shown:
        context.load_cert_chain(shown / "tls.crt", shown / "tls.key")
    return http.client.HTTPSConnection(
        "localhost", urlsplit(server.addresses["admission"]).port, timeout=20, context=context
    )


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_serves_the_right_client(
    server: Server, authority: Path, right: Path, review: bytes, version: ssl.TLSVersion
) -> None:
    with closing(connect(server, authority, right, version)) as client:
        assert [admit(client, review).status for _ in range(3)] == [200] * 3


def test_takes_any_allowed_name_of_the_certificate(
    server: Server, authority: Path, clients: Authority, review: bytes, tmp_path: Path
) -> None:
    shown = clients.write_client(tmp_path / "client", "nobody", "x.example", "other-apiserver")
    with closing(connect(server, authority, shown)) as client:
        assert admit(client, review).status == 200


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("who", ["nothing", "another authority's", "a server's"])
def test_refuses_a_client_that_shows(
    server: Server,
    authority: Path,
    clients: Authority,
    review: bytes,
    tmp_path: Path,
    who: str,
    version: ssl.TLSVersion,
) -> None:
    shown = {
        "nothing": None,
        "another authority's": Authority("clients").write_client(tmp_path / "foreign", NAME),
        "a server's": clients.write(tmp_path / "server", (NAME,)),
    }[who]
    with closing(connect(server, authority, shown, version)) as client, pytest.raises(REFUSED):
        admit(client, review)


def test_answers_403_to_a_wrong_name_and_says_in_the_log_which(
    server: Server, authority: Path, clients: Authority, review: bytes, tmp_path: Path
) -> None:
    shown = clients.write_client(
        tmp_path / "client", "system:node:node-1", "kube-apiserver.example"
    )
    with closing(connect(server, authority, shown)) as client:
        reply = admit(client, review)
        assert (reply.status, reply.json()["reason"]) == (403, "Forbidden")
        assert "carries no allowed name" in reply.json()["message"]
        assert admit(client, b" " * (1 << 20)).status == 403
    (line,) = server.lines("client refused: ")
    assert line["message"].endswith(
        "carries system:node:node-1, kube-apiserver.example, and none of the allowed kube-apiserver, other-apiserver"
    )
    metrics = server.get("/metrics").body
    assert b'admission_requests_total{decision="refused",reason="client-name"} 2.0' in metrics


def test_says_why_a_handshake_failed(server: Server, authority: Path, review: bytes) -> None:
    with closing(connect(server, authority, None)) as client, pytest.raises(REFUSED):
        admit(client, review)
    assert server.lines("TLS handshake with 127.0.0.1 failed: ")
    assert (
        b'fabric_injector_connections_dropped_total{reason="handshake"}'
        in server.get("/metrics").body
    )


def test_asks_no_certificate_of_probes_and_of_dry_runs(server: Server) -> None:
    assert server.get("/readyz").status == 200
    assert server.get("/metrics").status == 200
    assert server.plain("POST", "/dry-run", b"{kind: Pod}").status == 200


def test_follows_the_authority_of_clients(
    tmp_path: Path, tls_dir: Path, authority: Path, clients: Authority, right: Path, review: bytes
) -> None:
    """Old, both, new; an old client's open connection lives on, its next one does not, whatever session it resumes."""
    new = Authority("new clients")
    fresh = new.write_client(tmp_path / "fresh", NAME)
    trusted = tmp_path / "clients.crt"

    def serves(shown: Path) -> bool:
        with closing(connect(running, authority, shown)) as client:
            try:
                return admit(client, review).status == 200
            except REFUSED:
                return False

    def swap(content: bytes) -> None:
        (tmp_path / "new").write_bytes(content)
        (tmp_path / "new").rename(trusted)

    with (
        demanding(tmp_path, tls_dir, clients) as running,
        closing(connect(running, authority, right)) as kept,
    ):
        assert admit(kept, review).status == 200
        opened = kept.sock
        assert (serves(right), serves(fresh)) == (True, False)
        context = ssl.create_default_context(cafile=authority)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(right / "tls.crt", right / "tls.key")
        with context.wrap_socket(running.connect(), server_hostname="localhost") as connection:
            session = connection.session
        swap(clients.pem + new.pem)
        wait_until(lambda: serves(fresh), "the new authority to be trusted")
        assert serves(right)
        swap(b"garbage")
        wait_until(lambda: bool(running.lines("certificate not reloaded")), "the fault in the log")
        assert (
            "clients.crt: no certificate in it; give a PEM file"
            in running.lines("certificate not")[0]["message"]
        )
        assert (serves(right), serves(fresh)) == (True, True)
        swap(new.pem)
        wait_until(lambda: not serves(right), "the old authority to be forgotten")
        assert serves(fresh)
        with (
            running.connect() as raw,
            pytest.raises(REFUSED),
            context.wrap_socket(raw, server_hostname="localhost", session=session) as connection,
        ):
            assert connection.session_reused
        assert admit(kept, review).status == 200
        assert kept.sock is opened


def test_speaks_only_the_versions_and_ciphers_that_it_may(
    tmp_path: Path, tls_dir: Path, authority: Path, clients: Authority
) -> None:
    def agreed(server: Server, version: ssl.TLSVersion, ciphers: str = "DEFAULT") -> str | None:
        context = ssl.create_default_context(cafile=authority)
        context.maximum_version = version
        context.set_ciphers(ciphers)
        try:
            with context.wrap_socket(server.connect(), server_hostname="localhost") as connection:
                return str((connection.cipher() or ("",))[0])
        except (ssl.SSLError, ConnectionError):
            return None

    common = (f"--profiles={PROFILES}", f"--objects={OBJECTS}", f"--tls-dir={tls_dir}")
    with Server(tmp_path / "newest", *common, "--tls-min-version=1.3") as server:
        assert agreed(server, ssl.TLSVersion.TLSv1_2) is None
        assert agreed(server, ssl.TLSVersion.TLSv1_3)
    only = "ECDHE-ECDSA-AES128-GCM-SHA256"
    with Server(tmp_path / "only", *common, f"--tls-ciphers={only}") as server:
        assert agreed(server, ssl.TLSVersion.TLSv1_2) == only
        assert agreed(server, ssl.TLSVersion.TLSv1_2, "ECDHE-ECDSA-AES256-GCM-SHA384") is None
        assert agreed(server, ssl.TLSVersion.TLSv1_3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--client-name=x"], "--client-name needs --client-ca"),
        (
            ["--client-ca=nowhere.crt"],
            "nowhere.crt: No such file or directory; give a readable PEM file",
        ),
        (
            ["--client-ca={OBJECTS}"],
            "objects.yaml: no certificate in it; give a PEM file of the authorities of clients",
        ),
        (["--client-ca={OBJECTS}", "--client-name="], "--client-name is empty"),
        (["--tls-min-version=1.1"], "'1.1' is not one of '1.2', '1.3'"),
        (["--tls-ciphers=RC4"], "ciphers 'RC4': OpenSSL knows none of them"),
        (["--tls-ciphers=ECDHE-RSA-AES128-GCM-SHA256"], "none fits the kind of key of"),
        (["--tls-ciphers=ECDHE", "--tls-min-version=1.3"], "--tls-ciphers is for TLS 1.2"),
    ],
    ids=str,
)
def test_refuses_to_start_with(tls_dir: Path, options: list[str], message: str) -> None:
    common = [f"--profiles={PROFILES}", f"--objects={OBJECTS}", f"--tls-dir={tls_dir}"]
    given = [option.replace("{OBJECTS}", str(OBJECTS)) for option in options]
    done = subprocess.run(
        [*SERVE_ANYWHERE, *common, *given], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
