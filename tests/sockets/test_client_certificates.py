"""Clients that must show a certificate, and a rotation of the authority that they need."""

import http.client
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cluster.pki import Authority
from tests.sockets.conftest import FILES, Serve
from tests.sockets.server import Server, admit
from tests.waiting import wait_until

NAME = "kube-apiserver"
VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
REFUSED = (ssl.SSLError, ConnectionError, http.client.HTTPException)


@pytest.fixture(scope="module")
def clients() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def right(clients: Authority, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clients.write_client(tmp_path_factory.mktemp("right"), NAME)


def demanding(folder: Path, clients: bytes, *options: str) -> tuple[str, ...]:
    """Give the options of a server that trusts the authorities *clients* by a file in *folder*."""
    (folder / "clients.crt").write_bytes(clients)
    return (f"--client-ca={folder / 'clients.crt'}", *options)


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tls_dir: Path, clients: Authority
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    names = (f"--client-name={NAME}", "--client-name=other-apiserver")
    trusted = clients.pem + (tls_dir / "ca.crt").read_bytes()
    options = (*FILES, f"--tls-dir={tls_dir}", *demanding(folder, trusted, *names))
    with Server(folder / "log", *options) as running:
        yield running


def connect(
    server: Server, shown: Path | None, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
) -> http.client.HTTPSConnection:
    context = ssl.create_default_context(cafile=server.authority)
    context.maximum_version = version
    if shown:
        context.load_cert_chain(shown / "tls.crt", shown / "tls.key")
    port = urlsplit(server.addresses["admission"]).port
    return http.client.HTTPSConnection("localhost", port, timeout=20, context=context)


@VERSIONS
@pytest.mark.parametrize("names", [(NAME,), ("nobody", "x.example", "other-apiserver")])
def test_serves_clients_of_any_allowed_name(
    server: Server,
    clients: Authority,
    review: bytes,
    tmp_path: Path,
    version: ssl.TLSVersion,
    names: tuple[str, ...],
) -> None:
    shown = clients.write_client(tmp_path / "client", *names)
    with closing(connect(server, shown, version)) as client:
        assert [admit(client, review).status for _ in range(3)] == [200] * 3


@VERSIONS
@pytest.mark.parametrize("who", ["nothing", "another authority's", "a server's"])
def test_refuses_a_client_that_shows(
    server: Server,
    tls_dir: Path,
    review: bytes,
    tmp_path: Path,
    who: str,
    version: ssl.TLSVersion,
) -> None:
    shown = {
        "nothing": None,
        "another authority's": Authority().write_client(tmp_path / "foreign", NAME),
        "a server's": tls_dir,
    }[who]
    with closing(connect(server, shown, version)) as client, pytest.raises(REFUSED):
        admit(client, review)


def test_answers_403_to_a_wrong_name_and_says_in_the_log_which(
    server: Server, clients: Authority, review: bytes, tmp_path: Path
) -> None:
    shown = clients.write_client(
        tmp_path / "client", "system:node:node-1", "kube-apiserver.example"
    )
    with closing(connect(server, shown)) as client:
        reply = admit(client, review)
        assert (reply.status, reply.json()["reason"]) == (403, "Forbidden")
        assert "carries no allowed name" in reply.json()["message"]
        assert admit(client, b" " * (1 << 20)).status == 403
    (line,) = server.lines("client refused: ")
    assert line["message"].endswith(
        "carries system:node:node-1, kube-apiserver.example,"
        " and none of the allowed kube-apiserver, other-apiserver"
    )
    counted = 'fabric_injector_admission_requests_total{decision="refused",reason="client-name"}'
    assert server.metric(counted) == 2


def test_counts_handshakes_that_fail_and_asks_probes_for_no_certificate(
    server: Server, review: bytes
) -> None:
    with closing(connect(server, None)) as client, pytest.raises(REFUSED):
        admit(client, review)
    assert server.lines("TLS handshake with 127.0.0.1 failed: ")
    assert server.metric('fabric_injector_connections_dropped_total{reason="handshake"}') > 0
    assert server.get("/readyz").status == 200
    assert server.plain("POST", "/dry-run", b"{kind: Pod}").status == 200


def test_follows_the_authority_of_clients(
    tmp_path: Path, serve: Serve, clients: Authority, right: Path, review: bytes
) -> None:
    """Old, both, new: an old client's open connection lives on, its next one does not."""
    new = Authority()
    fresh = new.write_client(tmp_path / "fresh", NAME)
    trusted = tmp_path / "clients.crt"

    def serves(shown: Path) -> bool:
        with closing(connect(running, shown)) as client:
            try:
                return admit(client, review).status == 200
            except REFUSED:
                return False

    def swap(content: bytes) -> None:
        (tmp_path / "new").write_bytes(content)
        (tmp_path / "new").rename(trusted)

    running = serve(*demanding(tmp_path, clients.pem))
    with closing(connect(running, right)) as kept:
        assert admit(kept, review).status == 200
        opened = kept.sock
        assert (serves(right), serves(fresh)) == (True, False)
        context = ssl.create_default_context(cafile=running.authority)
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


def test_speaks_only_the_versions_that_it_may(serve: Serve) -> None:
    def is_accepted(version: ssl.TLSVersion) -> bool:
        context = ssl.create_default_context(cafile=newest.authority)
        context.maximum_version = version
        try:
            with context.wrap_socket(newest.connect(), server_hostname="localhost"):
                return True
        except (ssl.SSLError, ConnectionError):
            return False

    newest = serve("--tls-min-version=1.3")
    assert not is_accepted(ssl.TLSVersion.TLSv1_2)
    assert is_accepted(ssl.TLSVersion.TLSv1_3)
