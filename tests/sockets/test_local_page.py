"""``fabric-injector page`` over HTTP: who is answered, by whose rights, and how it ends."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.diagnose.scenes import PROFILES, SPACE, Scene, ago
from tests.fake_apiserver import (
    FABRIC_PROFILES,
    NAMESPACES,
    NETWORKS,
    NODES,
    PODS,
    FakeApiServer,
    hang,
    status,
)
from tests.profiles import as_text
from tests.sockets.local_page import LocalPage, hold
from tests.sockets.server import ROOT
from tests.tables import table
from tests.waiting import wait_until
from webhook.cli.page import HEADERS
from webhook.core.model import Object

POD = (
    b"{apiVersion: v1, kind: Pod, spec: {containers: [{name: c}]},"
    b" metadata: {name: p, labels: {fabric-injector.io/profile: shared}}}"
)
QUESTIONS = ["/state", "/status", "/explain?job=bert", "/check"]
FORBIDDEN = status(403, "is forbidden: User u cannot do that", reason="Forbidden")


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeApiServer]:
    with FakeApiServer() as running:
        yield running


@pytest.fixture
def server(cluster: FakeApiServer) -> FakeApiServer:
    """The cluster with a job, two of whose workers wait."""
    cluster.forget()
    scene = Scene()
    for worker in scene.workers[:2]:
        scene.wait(worker, ago(minutes=3))
    hold(cluster, scene)
    return cluster


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, cluster: FakeApiServer) -> Iterator[LocalPage]:
    with LocalPage(tmp_path_factory.mktemp("page"), cluster.url) as running:
        yield running


@pytest.fixture
def page(shared: LocalPage, server: FakeApiServer) -> LocalPage:
    """A page that was opened; tests share it, and may not end it."""
    shared.open()
    return shared


@pytest.fixture
def own(tmp_path: Path, server: FakeApiServer) -> Iterator[LocalPage]:
    """A page of the test's own."""
    with LocalPage(tmp_path, server.url) as running:
        yield running


def writes(server: FakeApiServer) -> list[tuple[str, str, str]]:
    """Return each request that may change something: no dry run, no question about rights."""
    return [
        (each.method, each.path, each.query.get("dryRun", ""))
        for each in server.requests
        if each.method != "GET"
        and "/authorization.k8s.io/" not in each.path
        and each.query.get("dryRun") != "All"
    ]


class TestStrangers:
    """Other users of the machine, and web sites in the browser."""

    def test_shows_them_files_alone(self, page: LocalPage, server: FakeApiServer) -> None:
        assert page.ask("/", accept="text/html").status == 200
        assert page.ask("/page/main.js").status == 200
        for path in QUESTIONS:
            for key in ("", "x", "\u00e9", page.printed_key):
                reply = page.ask(path, key=key)
                assert reply.status == 403
                assert "open the address that it printed" in reply.json()["message"]
        assert page.ask("/dry-run", POD).status == 403
        assert server.requests == [], "nobody's question has reached the cluster"

    @pytest.mark.parametrize(
        ("path", "content_type"),
        [
            ("/", "text/html; charset=utf-8"),
            ("/page/main.js", "text/javascript; charset=utf-8"),
            ("/page/style.css", "text/css; charset=utf-8"),
            ("/page/icon.svg", "image/svg+xml; charset=utf-8"),
            ("/page/samples/torchx.yaml", "application/octet-stream"),
        ],
    )
    def test_serves_the_page_s_files(self, page: LocalPage, path: str, content_type: str) -> None:
        reply = page.ask(path)
        assert (reply.status, reply.headers["content-type"]) == (200, content_type)
        assert reply.body
        assert {name: reply.headers.get(name.lower()) for name in HEADERS} == HEADERS
        assert "set-cookie" not in reply.headers

    @pytest.mark.parametrize(
        "path",
        [
            "/page/",
            "/page/../app.py",
            "/page/%2e%2e/app.py",
            "/page/etc/passwd",
        ],
    )
    def test_serves_no_other_file(self, page: LocalPage, path: str) -> None:
        assert page.ask(path).status in (403, 404)

    def test_takes_a_printed_key_once(self, page: LocalPage) -> None:
        own, first = page.key, page.printed_key
        assert page.ask("/session", b"", key="guess").status == 403
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(page.ask, "/session", b"", key=first) for _ in range(8)]
            assert sorted(each.result().status for each in asked) == [200, *[403] * 7]
        assert page.ask("/session", b"", key=own).status == 403
        wait_until(lambda: page.printed_key != first, "the next address")
        assert page.open() != own
        assert page.ask("/status", key=own).status == 200, "the first page goes on"

    @table(
        "headers",
        {
            "another name": {"Host": "evil.example"},
            "another origin": {"Origin": "http://evil.example"},
            "another site": {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"},
        },
    )
    def test_answers_no_other_page(
        self, page: LocalPage, server: FakeApiServer, headers: dict[str, str]
    ) -> None:
        for path in QUESTIONS:
            reply = page.ask(path, key=page.key, **headers)
            assert reply.status in (403, 421)
            assert {name: reply.headers.get(name.lower()) for name in HEADERS} == HEADERS
        assert page.ask("/dry-run", POD, key=page.key, **headers).status in (403, 421)
        assert page.ask("/session", b"", key=page.printed_key, **headers).status in (403, 421)
        assert server.requests == []

    def test_may_be_opened_by_a_link(self, page: LocalPage) -> None:
        followed = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
        assert page.ask("/", **followed).status == 200
        assert page.ask("/", **followed, Host="evil.example").status == 421

    def test_listens_on_loopback_alone(self, page: LocalPage) -> None:
        assert page.url.startswith("http://127.0.0.1:")
        with socket.socket() as other, pytest.raises(OSError):  # noqa: PT011  # refused
            other.connect(("127.0.0.2", int(page.url.rpartition(":")[2])))


class TestAnswers:
    """What status, explain, check and dry-run find."""

    def test_answers_what_the_commands_answer(self, page: LocalPage, server: FakeApiServer) -> None:
        found = page.get("/status")
        assert (found["namespace"], found["summary"]) == (SPACE, {"jobs": 1, "failing": 1})
        files = ("--kubeconfig", str(page.kubeconfig), "--profiles", str(page.profiles))
        given = (*files, "-o", "json")
        told = told_by("status", *given)["jobs"][0]
        for key in ("namespace", "name", "phase", "first"):
            assert found["jobs"][0][key] == told[key]
        explained, told = page.get("/explain?job=bert"), told_by("explain", "job/bert", *given)
        assert explained["findings"] == told["findings"]
        assert explained["members"] == told["members"]
        checked, told = page.get("/check"), told_by("check", *given)
        assert checked["summary"] == told["summary"]
        assert {each["code"] for each in checked["findings"]} == {
            each["code"] for each in told["findings"]
        }
        assert writes(server) == []

    def test_judges_by_the_clusters_profiles(self, tmp_path: Path, server: FakeApiServer) -> None:
        spec = {"networks": [{"network": "default/rdma-net", "resource": "rdma/hca"}]}
        server.put(FABRIC_PROFILES, "shared", uid="u", generation=1, spec=spec)
        with LocalPage(tmp_path, server.url, profiles=None) as page:
            page.open()
            reply = page.ask("/dry-run", POD, key=page.key)
            assert reply.status == 200, reply.body
            [pod] = reply.json()["pods"]
            assert (pod["namespace"], pod["profile"], pod["allowed"]) == (SPACE, "shared", True)
            told = told_by(
                "dry-run", "-f", "-", "--kubeconfig", str(page.kubeconfig), "-o", "json", text=POD
            )
            of_command = told["pods"][0]
            assert pod["patch"] == of_command["patch"]
            assert pod["message"] == of_command["message"]
            state = page.get("/state")
            assert [each["name"] for each in state["profiles"]] == ["shared"]
            assert state["local"]["namespace"] == SPACE
        assert writes(server) == []

    def test_names_what_may_not_be_read(self, page: LocalPage, server: FakeApiServer) -> None:
        for path in (NAMESPACES, PODS, NETWORKS, NODES):
            server.misbehave("list", path, *[FORBIDDEN] * 3)
        state = page.get("/state")
        assert state["namespaces"] == []
        assert any("namespaces: " in each for each in state["problems"])
        assert [each["what"] for each in page.get("/status")["unread"]] == ["nodes"]
        reply = page.ask("/status?namespace=", key=page.key)
        assert reply.status == 400
        assert "name a namespace" in reply.json()["message"]

    def test_answers_though_all_is_forbidden(self, page: LocalPage, server: FakeApiServer) -> None:
        server.refusal = FORBIDDEN
        state = page.get("/state")
        assert (state["namespaces"], len(state["problems"])) == ([], 2)
        for path in ("/status", "/explain?job=bert"):
            reply = page.ask(path, key=page.key)
            assert (reply.status, "answered 403" in reply.json()["message"]) == (400, True)
        assert page.get("/check")["summary"]["warn"] > 3
        assert page.ask("/dry-run", POD, key=page.key).status in (400, 503)

    def test_says_that_nothing_listens(self, tmp_path: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with LocalPage(tmp_path, url) as page:
            page.open()
            assert page.get("/state")["problems"]
            for path in ("/status", "/explain?job=bert"):
                reply = page.ask(path, key=page.key)
                assert reply.status == 503
                assert f"this is server {url}" in reply.json()["message"]
                assert "see whether it runs" in reply.json()["message"]
            assert page.ask("/dry-run", POD, key=page.key).status == 503
            assert page.ask("/check", key=page.key).status in (200, 503)

    @pytest.mark.parametrize(
        "path",
        [
            "/explain",
            "/explain?job=",
            "/explain?job=..%2F..",
            "/explain?job=%00&namespace=%ff",
            f"/explain?job={'x' * 5000}",
            "/explain?job=a,b%3Dc&namespace=..%2f",
            "/status?namespace=..%2F..%2Fapi",
            "/status?namespace=%00",
            f"/status?namespace={'n' * 5000}",
        ],
    )
    def test_refuses_odd_questions_and_fails_at_none(self, page: LocalPage, path: str) -> None:
        reply = page.ask(path, key=page.key)
        assert reply.status == 400, reply.body
        assert reply.json()["message"]

    def test_ends_whatever_it_waits_for(self, own: LocalPage, server: FakeApiServer) -> None:
        own.open()
        server.misbehave("list", NODES, *[hang] * 3)
        with ThreadPoolExecutor(3) as pool:
            looks = [pool.submit(own.ask, "/status", key=own.key) for _ in range(3)]
            wait_until(lambda: server.asked("list", NODES), "the first look")
            assert not any(look.done() for look in looks)
            own.process.send_signal(signal.SIGINT)
            own.process.wait(20)
            assert all(look.exception() for look in looks)


class TestCommand:
    """How it begins and ends."""

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_ends_while_the_cluster_is_silent(
        self, own: LocalPage, server: FakeApiServer, number: signal.Signals
    ) -> None:
        own.open()
        server.refusal = hang
        before = len(server.requests)
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(own.ask, "/status", key=own.key)
            wait_until(lambda: len(server.requests) > before, "the look")
            own.process.send_signal(number)
            assert own.process.wait(20) == 0
            assert asked.exception()
        assert "Traceback" not in own.log.read_text()
        assert own.log.read_text().endswith("\nended\n")

    def test_takes_the_port_asked_for_unless_taken(
        self, tmp_path: Path, server: FakeApiServer
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            folder = tmp_path / "taken"
            folder.mkdir()
            with pytest.raises(AssertionError, match=f"cannot listen on 127.0.0.1:{port}"):
                LocalPage(folder, server.url, "--port", str(port)).__enter__()
        with LocalPage(tmp_path, server.url, "--port", str(port)) as page:
            assert page.url == f"http://127.0.0.1:{port}"

    def test_refuses_wrong_profiles(self, tmp_path: Path, server: FakeApiServer) -> None:
        with pytest.raises(AssertionError, match="the profiles cannot be used"):
            LocalPage(tmp_path, server.url, profiles="x: {networks: 5}").__enter__()

    def test_reads_profiles_anew(self, own: LocalPage) -> None:
        own.open()
        own.profiles.write_text(as_text(PROFILES.replace("shared:", "other:")))
        assert [each["name"] for each in own.get("/state")["profiles"]] == ["other"]


def told_by(*words: str, text: bytes = b"") -> Object:
    """Return what another command prints as JSON."""
    command = [sys.executable, "-m", "webhook", *words]
    done = subprocess.run(command, input=text, cwd=ROOT, capture_output=True, check=False)
    found: Object = json.loads(done.stdout)
    return found
