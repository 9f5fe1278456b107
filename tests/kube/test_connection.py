"""Requests to an API server over real sockets: what is sent, and how each failure is told."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from tests.cluster.pki import Authority
from tests.fake_apiserver import (
    NAMESPACES,
    Behaviour,
    Exchange,
    FakeApiServer,
    hang,
    lines,
    status,
    text,
)
from tests.tables import table
from webhook import __version__
from webhook.core.errors import InputError, Unavailable
from webhook.kube.connection import Connection, RequestFailed, encode
from webhook.kube.credentials import Credentials


@pytest.fixture
def connection(server: FakeApiServer) -> Iterator[Connection]:
    connection = server.connection()
    yield connection
    connection.close()


def test_sends_method_query_headers_and_body(server: FakeApiServer, connection: Connection) -> None:
    server.put(NAMESPACES, "ml")
    connection.request("GET", f"{NAMESPACES}/ml", query={"a": "b c&d"})
    connection.request(
        "PATCH",
        f"{NAMESPACES}/ml",
        body={"metadata": {"labels": {"a": "ü"}}},
        headers={"Content-Type": "application/merge-patch+json"},
    )
    connection.request("POST", f"{NAMESPACES}/ml", body=[1])
    get, patch, post = server.requests
    assert (get.method, get.query, get.body) == ("GET", {"a": "b c&d"}, b"")
    assert get.headers["User-Agent"] == f"fabric-injector/{__version__}"
    assert get.headers["Accept"] == "application/json"
    assert "Authorization" not in get.headers
    assert (patch.method, patch.headers["Content-Type"]) == (
        "PATCH",
        "application/merge-patch+json",
    )
    assert patch.body == '{"metadata":{"labels":{"a":"ü"}}}'.encode()
    assert (post.headers["Content-Type"], post.body) == ("application/json", b"[1]")


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ({"mtu": 1400, "b": {"z": 1, "a": [1, None]}}, '{"b":{"a":[1,null],"z":1},"mtu":1400}'),
        ({"a": "é\x7f"}, '{"a":"é\x7f"}'),
        ({"a": "<b>&\u2028"}, r'{"a":"\u003cb\u003e\u0026\u2028"}'),
        ({"a": "\ud800\n"}, r'{"a":"\ud800\n"}'),
    ],
    ids=["order", "unicode", "escaped", "half of a pair"],
)
def test_writes_json_as_go_does(body: dict[str, object], written: str) -> None:
    """The API server compares a claim's opaque parameters with the bytes that it writes."""
    assert encode(body) == written.encode()


def test_uses_one_connection_in_sequence(server: FakeApiServer, connection: Connection) -> None:
    server.put(NAMESPACES, "ml")
    for _ in range(5):
        assert connection.request("GET", f"{NAMESPACES}/ml").json()["metadata"]["name"] == "ml"
    assert connection.request("GET", f"{NAMESPACES}/none").status == 404
    assert server.connections == 1


def test_answers_with_a_refusal_s_status(server: FakeApiServer, connection: Connection) -> None:
    server.misbehave(
        "get", f"{NAMESPACES}/ml", status(403, 'namespaces "ml" is forbidden:\n no role')
    )
    response = connection.request("GET", f"{NAMESPACES}/ml")
    assert response.status == 403
    assert (
        response.problem
        == 'GET /api/v1/namespaces/ml answered 403: namespaces "ml" is forbidden: no role'
    )


@table(
    "behaviour, message, code, seconds",
    {
        "internal": (status(500, "etcd"), "answered 500: etcd", 500, 0),
        "later": (status(503, "starting", Retry_After="3"), "answered 503: starting", 503, 3),
        "throttled": (status(429, "full", Retry_After="1"), "answered 429: full", 429, 1),
        "date": (status(429, "full", Retry_After="Fri, 31"), "answered 429: full", 429, 0),
        "proxy page": (text(502, "<html>\n<b>Bad"), "answered 502: <html> <b>Bad", 502, 0),
        "empty": (text(504, ""), "answered 504: (no text)", 504, 0),
        "closed": (
            lambda exchange: exchange.cut(),
            "Connection aborted. Remote end closed connection without response",
            0,
            0,
        ),
        "silent": (hang, "Read timed out.", 0, 0),
        "cut in the middle": (
            lines(b'{"a":', then="cut"),
            "Connection broken: IncompleteRead(0 bytes read)",
            0,
            0,
        ),
    },
)
def test_raises_where_the_server_gives_no_answer(
    server: FakeApiServer,
    connection: Connection,
    behaviour: Behaviour,
    message: str,
    code: int,
    seconds: float,
) -> None:
    server.misbehave("get", f"{NAMESPACES}/ml", behaviour, behaviour)
    with pytest.raises(Unavailable, match=r"^GET /api/v1/namespaces/ml") as failure:
        connection.request("GET", f"{NAMESPACES}/ml", timeout=0.5)
    assert str(failure.value).endswith(message)
    assert isinstance(failure.value, RequestFailed)
    assert (failure.value.status, failure.value.retry_after_seconds) == (code, seconds)


def test_raises_where_nothing_listens() -> None:
    with FakeApiServer() as gone:
        pass
    with pytest.raises(
        RequestFailed, match=r"^GET /api/v1/namespaces: Failed to .* Connection refused$"
    ):
        gone.connection().request("GET", NAMESPACES)


def test_gives_up_an_answer_in_drops(server: FakeApiServer, connection: Connection) -> None:
    def drip(exchange: Exchange) -> None:
        exchange.open()
        while not server.closing.wait(0.05):
            exchange.write(b" ")

    server.misbehave("list", NAMESPACES, drip)
    with pytest.raises(RequestFailed, match=r"the answer was not complete within 1 s"):
        connection.request("GET", NAMESPACES, timeout=1)


@pytest.mark.parametrize("body", ["", "[]", "{", "7", "\xff"], ids=repr)
def test_refuses_what_is_no_object(
    server: FakeApiServer, connection: Connection, body: str
) -> None:
    server.misbehave("list", NAMESPACES, text(200, body))
    with pytest.raises(RequestFailed, match="answered 200 with no JSON object"):
        connection.request("GET", NAMESPACES).json()


def test_repeats_a_get_on_a_closed_connection(
    server: FakeApiServer, connection: Connection
) -> None:
    server.misbehave("list", NAMESPACES, lambda exchange: exchange.cut())
    assert connection.request("GET", NAMESPACES).status == 200
    assert len(server.requests) == 2


def test_never_sends_a_change_twice(server: FakeApiServer, connection: Connection) -> None:
    server.misbehave("PATCH", f"{NAMESPACES}/ml", lambda exchange: exchange.cut())
    with pytest.raises(RequestFailed):
        connection.request("PATCH", f"{NAMESPACES}/ml", body={})
    assert len(server.requests) == 1


def test_streams_lines_as_they_come(server: FakeApiServer, connection: Connection) -> None:
    server.misbehave("list", NAMESPACES, lines(b"on", b"e\ntwo\n\nthr", b"ee\nrest"))
    with connection.stream(NAMESPACES, query={}, headers={}, read_timeout=5) as stream:
        assert list(stream.lines()) == [b"one", b"two", b"", b"three"]


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_shuts_a_stream_that_waits_in_another_thread(tmp_path: Path, secure: bool) -> None:
    folder = Authority().write(tmp_path)
    begun, ended = threading.Event(), threading.Event()
    with FakeApiServer(_serving(folder) if secure else None) as server:
        server.misbehave("list", NAMESPACES, lines(b"one\n", then="hang"))
        connection = Connection(Credentials("test", server.url, ca=folder / "ca.crt"))
        with connection.stream(NAMESPACES, query={}, headers={}, read_timeout=60) as stream:
            found = stream.lines()
            assert next(found) == b"one"

            def read_on() -> None:
                begun.set()
                with pytest.raises((RequestFailed, StopIteration)):
                    next(found)
                ended.set()

            thread = threading.Thread(target=read_on)
            thread.start()
            assert begun.wait(20)
            stream.shut()
            assert ended.wait(20)
            thread.join()
        stream.shut()


def _serving(folder: Path, client_ca: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    if client_ca:
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@table(
    "settings, refused",
    {
        "its authority": ({"ca": "ours/ca.crt"}, ""),
        "another authority": ({"ca": "other/ca.crt"}, "CERTIFICATE_VERIFY_FAILED"),
        "the system's authorities": ({}, "CERTIFICATE_VERIFY_FAILED"),
        "the name that it is told": ({"ca": "ours/ca.crt", "server_name": "api.example"}, ""),
        "another name": (
            {"ca": "ours/ca.crt", "server_name": "wrong.example"},
            r"'wrong\.example'",
        ),
        "nothing, if told so": ({"verify": False}, ""),
    },
)
def test_checks(
    tmp_path: Path, settings: dict[str, Any], refused: str, caplog: pytest.LogCaptureFixture
) -> None:
    ours, _ = (Authority().write(tmp_path / name, HOSTS) for name in ("ours", "other"))
    given = {key: tmp_path / value if key == "ca" else value for key, value in settings.items()}
    with FakeApiServer(_serving(ours)) as server:
        connection = Connection(Credentials("me", server.url, **given))
        with pytest.raises(RequestFailed, match=refused) if refused else nullcontext():
            assert connection.request("GET", NAMESPACES).status == 200
    assert ("me: insecure-skip-tls-verify" in caplog.text) is ("verify" in settings)


HOSTS = ["localhost", "api.example"]


def test_shows_its_client_certificate(tmp_path: Path) -> None:
    folder = Authority().write(tmp_path / "server")
    client = Authority().write_client(tmp_path / "client", "me")
    pair: Any = {"certificate": client / "tls.crt", "key": client / "tls.key"}
    with FakeApiServer(_serving(folder, client / "ca.crt")) as server:
        credentials = Credentials("t", server.url, ca=folder / "ca.crt")
        assert Connection(replace(credentials, **pair)).request("GET", NAMESPACES).status == 200
        with pytest.raises(RequestFailed):
            Connection(credentials).request("GET", NAMESPACES)


def test_sends_the_token_as_it_is_at_each_request(tmp_path: Path) -> None:
    folder = Authority().write(tmp_path)
    tokens = iter(["Bearer one", "Bearer two", "Bearer x\ny", ""])
    with FakeApiServer(_serving(folder)) as server:
        connection = Connection(
            Credentials("me", server.url, authorization=lambda: next(tokens), ca=folder / "ca.crt")
        )
        connection.request("GET", NAMESPACES)
        connection.request("GET", NAMESPACES)
        with pytest.raises(
            RequestFailed, match=r"the token of the me holds odd characters"
        ) as failure:
            connection.request("GET", NAMESPACES)
        connection.request("GET", NAMESPACES)
        sent = [request.headers.get("Authorization") for request in server.requests]
    assert sent == ["Bearer one", "Bearer two", None]
    assert "Bearer x" not in str(failure.value)


def test_takes_replaced_certificate_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    old, new = (Authority().write(tmp_path / name) for name in ("old", "new"))
    ca = tmp_path / "ca.crt"
    ca.write_bytes((old / "ca.crt").read_bytes())
    with FakeApiServer(_serving(new)) as server:
        connection = Connection(Credentials("test", server.url, ca=ca), monotonic=lambda: now[0])
        with pytest.raises(RequestFailed):
            connection.request("GET", NAMESPACES)
        ca.unlink()
        ca.write_text("broken")
        now[0] += 60
        with pytest.raises(RequestFailed):
            connection.request("GET", NAMESPACES)
        assert "replaced certificate files are not used: test: certificate authority" in caplog.text
        ca.unlink()
        ca.write_bytes((new / "ca.crt").read_bytes())
        now[0] += 60
        assert connection.request("GET", NAMESPACES).status == 200


FILES = {"ca": "ca.crt", "certificate": "tls.crt", "key": "tls.key"}


@pytest.mark.parametrize("wrong", ["ca", "certificate", "key", "empty"])
def test_refuses_files_that_cannot_be_used(tmp_path: Path, wrong: str) -> None:
    folder = Authority().write(tmp_path)
    files = {name: folder / file for name, file in FILES.items()}
    files["ca" if wrong == "empty" else wrong].write_bytes(b"" if wrong == "empty" else b"no PEM")
    with pytest.raises(
        InputError, match=r"^me: (certificate authority|client certificate and key): not usable"
    ):
        Connection(Credentials("me", "https://127.0.0.1:1", **files))  # type: ignore[arg-type]


def test_does_not_ask_for_the_passphrase_of_a_key(tmp_path: Path) -> None:
    folder = Authority().write_client(tmp_path, "me")
    certificate, key = folder / "tls.crt", folder / "tls.key"
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    form, lock = serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    key.write_bytes(private.private_bytes(serialization.Encoding.PEM, form, lock))
    with pytest.raises(InputError, match=r"\(the key has a passphrase\); give a matching PEM pair"):
        Connection(Credentials("me", "https://127.0.0.1:1", certificate=certificate, key=key))


def test_goes_through_a_proxy(server: FakeApiServer) -> None:
    credentials = Credentials(
        "test", "http://api.example:6443", proxy=server.url.replace("//", "//me:pass@")
    )
    assert Connection(credentials).request("GET", NAMESPACES).status == 200
    assert server.requests[0].headers["Host"] == "api.example:6443"
    assert server.requests[0].headers["Proxy-Authorization"] == "Basic bWU6cGFzcw=="
