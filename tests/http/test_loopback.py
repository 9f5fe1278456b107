"""What a loopback port answers to other names and web pages, and what it says to browsers."""

import pytest
from flask.testing import FlaskClient

from tests.tables import table
from webhook.http.loopback import refuse_foreign
from webhook.page.app import make_loopback_app


@pytest.fixture
def client() -> FlaskClient:
    app = make_loopback_app("test")
    app.add_url_rule("/text", "text", lambda: "here", methods=["POST"])
    app.add_url_rule("/", "page", lambda: "opened")
    return app.test_client()


def code(host: str, origin: str = "", site: str = "") -> int:
    refusal = refuse_foreign(host, origin, site)
    return refusal.code if refusal else 200


OURS = ("localhost", "localhost:8081", "LOCALHOST", "127.8.8.8:1", "[::1]:8081", "[::1]")
ENDS = ("evil.example", "evil.example:8081", "localhost.evil.example", "127.0.0.1.evil.example")


def test_answers_loopback_names_only() -> None:
    assert {code(host) for host in OURS} == {200}
    assert {code(host) for host in (*ENDS, "10.0.0.1", "[::]", ":8081", "")} == {421}


@table(
    "origin, site, status",
    {
        "own": ("http://localhost:8081", "same-origin", 200),
        "typed": ("", "none", 200),
        "another site": ("", "cross-site", 403),
        "another port": ("", "same-site", 403),
        "another origin": ("https://evil.example", "", 403),
        "a sandboxed frame": ("null", "", 403),
        "another port's origin": ("http://localhost:1", "", 403),
        "no origin": ("http://[::1", "", 403),
    },
)
def test_answers_no_page_of_another_origin(origin: str, site: str, status: int) -> None:
    assert code("localhost:8081", origin, site) == status


def test_may_be_opened_by_a_link(client: FlaskClient) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", headers=headers).text == "opened"
    assert client.post("/text", headers=headers).status_code == 403
    assert client.get("/", headers={**headers, "Host": "evil.example"}).status_code == 421
