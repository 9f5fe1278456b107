"""What a loopback port answers to other names and web pages, and what it says to browsers."""

import pytest
from flask.testing import FlaskClient

from tests.tables import table
from webhook.http.loopback_app import HEADERS, make_loopback_app


@pytest.fixture
def client() -> FlaskClient:
    app = make_loopback_app("test")
    app.add_url_rule("/text", "text", lambda: "here", methods=["POST"])
    app.add_url_rule("/", "page", lambda: "opened")
    return app.test_client()


def test_answers_loopback_names(client: FlaskClient) -> None:
    for host in ("localhost", "localhost:8081", "LOCALHOST", "127.8.8.8:1", "[::1]:8081", "[::1]"):
        assert client.post("/text", headers={"Host": host}).text == "here"


def test_answers_no_other_name(client: FlaskClient) -> None:
    ends = ("evil.example", "evil.example:8081", "localhost.evil.example", "127.0.0.1.evil.example")
    for host in (*ends, "10.0.0.1", "[::]", ":8081", ""):
        for path in ("/text", "/elsewhere"):
            assert client.post(path, headers={"Host": host}).status_code == 421, host


@table(
    "headers",
    {
        "another site": {"Sec-Fetch-Site": "cross-site"},
        "another port": {"Sec-Fetch-Site": "same-site"},
        "another origin": {"Origin": "https://evil.example"},
        "a sandboxed frame": {"Origin": "null"},
        "another port's origin": {"Origin": "http://localhost:1"},
        "no origin": {"Origin": "http://[::1"},
    },
)
def test_answers_no_page_of_another_origin(client: FlaskClient, headers: dict[str, str]) -> None:
    given = {"Host": "localhost:8081", "Content-Type": "text/plain", **headers}
    reply = client.post("/text", headers=given)
    assert reply.status_code == 403
    assert "another origin" in reply.json["message"]  # type: ignore[index]


def test_may_be_opened_by_a_link(client: FlaskClient) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", headers=headers).text == "opened"
    assert client.post("/text", headers=headers).status_code == 403


@table(
    "method, path, status",
    {
        "answer": ("POST", "/text", 200),
        "method": ("GET", "/text", 405),
        "path": ("GET", "/elsewhere", 404),
    },
)
def test_binds_browsers_in_every_answer(
    client: FlaskClient, method: str, path: str, status: int
) -> None:
    reply = client.open(path, method=method)
    assert reply.status_code == status
    assert {name: reply.headers.get(name) for name in HEADERS} == HEADERS
    assert "Set-Cookie" not in reply.headers
    assert not any(name.lower().startswith("access-control-") for name, _ in reply.headers)
