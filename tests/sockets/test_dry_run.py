"""Dry runs over HTTP on the webhook's loopback port: what is answered, to whom, and what they cost admission."""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import urllib3
import yaml

from tests.sockets.conftest import HERE, OBJECTS, PROFILES
from tests.sockets.server import ANY_PORT, Server, admit, admitting
from tests.waiting import wait_until
from webhook.core.model import Namespace
from webhook.core.profiles import parse_profiles
from webhook.http.listener import ListenAddress, bind
from webhook.http.loopback_app import HEADERS
from webhook.serve.dry_runs import MOST_BYTES, MOST_PODS, MOST_VALUES, DryRuns
from webhook.world.objects import ObjectsWorld, load_objects

pytestmark = pytest.mark.sockets

LIVE = sorted((HERE.parent / "fixtures/live").rglob("*.review.json"))
MANIFEST = (Path(__file__).parents[1] / "fixtures/torchx/volcano-ddp-2x1.yaml").read_bytes()
POD = b"apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default}\nspec: {containers: [{name: c, image: i}]}\n"


def test_judges_a_manifest(server: Server) -> None:
    reply = server.plain(
        "POST", "/dry-run?namespace=default", MANIFEST, {"Content-Type": "application/yaml"}
    )
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    pods = reply.json()["pods"]
    assert {pod["rendezvous"] for pod in pods} == {"master", "worker"}
    assert all(pod["allowed"] and pod["patch"] for pod in pods)


def test_judges_json(server: Server) -> None:
    body = json.dumps(next(yaml.safe_load_all(MANIFEST)), default=str).encode()
    reply = server.plain(
        "POST", "/dry-run?profile=two-rails", body, {"Content-Type": "application/json"}
    )
    assert reply.status == 200
    assert {pod["profile"] for pod in reply.json()["pods"]} == {"two-rails"}


def test_answers_as_admission_does(own: Server, authority: Path) -> None:
    changed = 0
    with closing(own.client(authority)) as client:
        for path in LIVE:
            review = json.loads(path.read_bytes())
            pod = review["request"]["object"]
            if pod["kind"] != "Pod":
                continue
            review["request"]["namespace"] = pod["metadata"]["namespace"] = (
                "default"  # which the server knows
            )
            answer = admit(client, json.dumps(review).encode()).json()["response"]
            patch = json.loads(base64.b64decode(answer["patch"])) if "patch" in answer else []
            [told] = own.plain("POST", "/dry-run", json.dumps(pod).encode()).json()["pods"]
            assert (told["allowed"], told["patch"]) == (answer["allowed"], patch), path
            assert told["message"] == answer.get("status", {}).get("message", ""), path
            assert told["warnings"] == answer.get("warnings", []), path
            changed += bool(patch)
    assert changed > 5


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        pytest.param("/dry-run", b"a: [", 400, "line 2, column 1", id="broken YAML"),
        pytest.param("/dry-run", b"\xff", 400, "not UTF-8", id="no text"),
        pytest.param("/dry-run", b"", 400, "expected a manifest, found nothing", id="nothing"),
        pytest.param(
            "/dry-run", b"# a comment\n---\n", 400, "found nothing", id="nothing but comments"
        ),
        pytest.param("/dry-run?ns=x", b"a: b", 400, "use namespace, profile", id="parameter"),
        pytest.param(
            "/dry-run", b"#" * (MOST_BYTES + 1), 413, "at most 262144 are taken", id="size"
        ),
        pytest.param("/elsewhere", b"a: b", 404, "not found", id="path"),
    ],
)
def test_refuses(server: Server, path: str, body: bytes, status: int, message: str) -> None:
    reply = server.plain("POST", path, body)
    assert reply.status == status
    assert message in reply.json()["message"]


def test_takes_the_largest_manifest(server: Server) -> None:
    assert server.plain("POST", "/dry-run", POD.ljust(MOST_BYTES, b"#")).status == 200


def test_reads_no_body_that_is_far_too_large(server: Server) -> None:
    assert server.plain("POST", "/dry-run", b"", {"Content-Length": str(1 << 30)}).status == 413


def test_resolves_no_alias_without_end(server: Server) -> None:
    lines = [
        "a0: &a0 [x]",
        *(
            f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]"
            for number in range(1, 12)
        ),
    ]
    reply = server.plain("POST", "/dry-run", "\n".join(lines).encode())
    assert reply.status == 400
    assert f"expands to more than {MOST_VALUES} values" in reply.json()["message"]


def test_answers_no_more_than_fits_the_memory(server: Server) -> None:
    """Each value has a line of its own, indented as deep as it stands."""
    pod = b'{"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], "a": '
    manifest = pod + b"[" * 90 + b"1," * 100_000 + b"1" + b"]" * 90 + b"}}"
    reply = server.plain("POST", "/dry-run?profile=two-rails", manifest)
    assert reply.status == 413
    assert "the answer has more than 8388608 characters" in reply.json()["message"]


HOSTILE = {
    "a long text, used often": b'a: &a "%s"\nb: [%s]\n' % (b"\\U0001F600" * 9_000, b"*a, " * 6_000),
    "a long kind of a list": b"kind: %sList\nitems: [%s]" % (b"K" * 150_000, b"{}, " * 20_000),
    "a long name of an object": b"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: "
    + b"n" * 150_000
    + b"}\nspec: {replicatedJobs: ["
    + b"{name: a, template: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}}, "
    * 1_000
    + b"]}\n",
}


@pytest.mark.parametrize("manifest", HOSTILE.values(), ids=HOSTILE)
def test_takes_little_memory_whatever_is_sent(own: Server, manifest: bytes) -> None:
    assert len(manifest) <= MOST_BYTES
    assert own.plain("POST", "/dry-run?profile=two-rails", manifest).status < 500
    assert own.peak_megabytes() < 150


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8081", "LOCALHOST", "127.0.0.1", "127.8.8.8:1", "[::1]:8081", "[::1]"],
)
def test_answers_loopback_names(server: Server, host: str) -> None:
    assert server.plain("POST", "/dry-run", POD, {"Host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8081",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "[::]",
        ":8081",
        "",
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/dry-run"), ("GET", "/elsewhere")])
def test_answers_no_other_name(server: Server, host: str, method: str, path: str) -> None:
    assert server.plain(method, path, MANIFEST, {"Host": host}).status == 421


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="another site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, id="another port"),
        pytest.param({"Origin": "https://evil.example"}, id="another origin"),
        pytest.param({"Origin": "null"}, id="a sandboxed frame"),
        pytest.param({"Origin": "http://localhost:1"}, id="another port's origin"),
        pytest.param({"Origin": "http://[::1"}, id="no origin"),
    ],
)
def test_answers_no_page_of_another_origin(server: Server, headers: dict[str, str]) -> None:
    reply = server.plain(
        "POST", "/dry-run", POD, {"Host": "localhost:8081", "Content-Type": "text/plain", **headers}
    )
    assert reply.status == 403
    assert "another origin" in reply.json()["message"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/dry-run", POD, 200),
        ("POST", "/dry-run", b"a: [", 400),
        ("GET", "/dry-run", None, 405),
        ("GET", "/", None, 404),
    ],
)
def test_binds_browsers_in_every_answer(
    server: Server, method: str, path: str, body: bytes | None, status: int
) -> None:
    reply = server.plain(method, path, body)
    assert reply.status == status
    assert {name: reply.headers.get(name.lower()) for name in HEADERS} == HEADERS
    assert "set-cookie" not in reply.headers
    assert not any(name.startswith("access-control-") for name in reply.headers)


def test_is_not_measured_as_an_admission(server: Server) -> None:
    server.plain("POST", "/dry-run", MANIFEST)
    server.plain("POST", "/dry-run", b"a: [")
    assert "fabric_injector_admission_requests_total{" not in server.get("/metrics").body.decode()


def test_admission_loads_nothing_of_it_before_the_first_request(
    tmp_path: Path, tls_dir: Path, authority: Path, review: bytes
) -> None:
    """The interpreter writes each module into the log as it is loaded."""
    command = [sys.executable, "-X", "importtime", "-m", "webhook", "serve"]
    command += [f"--{name}={ANY_PORT}" for name in ("listen", "dry-run-listen", "metrics-listen")]
    options = (f"--profiles={PROFILES}", f"--objects={OBJECTS}", f"--tls-dir={tls_dir}")
    with Server(tmp_path / "log", *options, command=command) as server:

        def loaded() -> set[str]:
            lines = server.log.read_text().splitlines()
            return {
                line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")
            }

        with closing(server.client(authority)) as client:
            assert admit(client, review).status == 200
        assert server.get("/metrics").status == 200
        ours = {"flask", "werkzeug", "webhook.dry_run", "webhook.http.loopback_app"}
        assert "webhook.serve.dry_runs" in loaded()
        assert loaded() & {*ours, "pydantic", "cryptography"} == set()
        assert server.plain("POST", "/dry-run", POD).status == 200
        wait_until(lambda: ours <= loaded(), "what the dry run needs")
        assert loaded() & {"pydantic", "cryptography", "webhook.page"} == set()


def test_admission_goes_on_beside_it_and_with_little_memory(
    own: Server, authority: Path, review: bytes
) -> None:
    many = b"---\n".join([POD] * MOST_PODS)
    too_many = b"---\n".join([POD] * (MOST_BYTES // (len(POD) + 4)))
    values = b"{kind: Pod, a: [" + b"[]," * 80_000 + b"[]]}"
    with admitting(own, authority, review) as statuses:
        assert len(own.plain("POST", "/dry-run", many).json()["pods"]) == MOST_PODS
        reply = own.plain("POST", "/dry-run", too_many)
        assert reply.status == 413
        assert f"the manifest makes more than {MOST_PODS} pods" in reply.json()["message"]
        own.plain("POST", "/dry-run", values)
    assert set(statuses) == {200}
    assert own.peak_megabytes() < 200


def test_leaves_most_of_the_time_to_admission(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.serve.dry_runs._WORK_SECONDS", 0)
    monkeypatch.setattr("webhook.serve.dry_runs._REST_SECONDS", 0)
    rests: list[float] = []

    def rest(seconds: float) -> None:
        if threading.current_thread().name == "dry-run":
            rests.append(seconds)

    monkeypatch.setattr("time.sleep", rest)
    reply = post(served(ObjectsWorld(load_objects([OBJECTS])), 30))
    assert reply.status == 200
    assert len(rests) > 20 + reply.data.count(b"\n"), "for each value that is read or written"


def test_clients_that_send_nothing_keep_others_out_for_seconds_only(own: Server) -> None:
    begun = b"POST /dry-run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\na"
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(own.connect("dryRun")).sendall(begun)
        assert own.plain("POST", "/dry-run", POD, timeout=30).status == 200
    assert not own.lines("Task queue depth")


class Stuck(ObjectsWorld):
    """A cluster that does not answer until the gate is open."""

    def __init__(self) -> None:
        super().__init__(load_objects([OBJECTS]))
        self.gate = threading.Event()
        self.asked = 0

    def namespace(self, name: str) -> Namespace | None:
        self.asked += 1
        assert self.gate.wait(30)
        return super().namespace(name)


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    world = Stuck()
    yield world
    world.gate.set()


def served(world: ObjectsWorld, seconds: float) -> DryRuns:
    profiles = parse_profiles(PROFILES.read_bytes())
    dry_runs = DryRuns(
        bind(ListenAddress("127.0.0.1", 0)), lambda: profiles, lambda: world, seconds=seconds
    )
    dry_runs.start()
    return dry_runs


def post(dry_runs: DryRuns) -> urllib3.BaseHTTPResponse:
    return urllib3.request("POST", f"{dry_runs.url}/dry-run", body=POD, retries=False, timeout=30)


def test_one_that_takes_too_long_is_answered_503_and_so_are_others_until_it_ends(
    stuck: Stuck,
) -> None:
    dry_runs = served(stuck, 0.2)
    reply = post(dry_runs)
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert (
        "the dry run takes longer than 0.2 s: give fewer objects at once" in reply.json()["message"]
    )
    reply = post(dry_runs)
    assert reply.status == 503
    assert "an earlier dry run is still being judged" in reply.json()["message"]
    assert stuck.asked == 1
    stuck.gate.set()
    wait_until(lambda: post(dry_runs).status == 200, "its end")


def test_those_that_come_together_are_judged_one_after_the_other(stuck: Stuck) -> None:
    dry_runs = served(stuck, 30)
    with ThreadPoolExecutor(3) as clients:
        asked = [clients.submit(post, dry_runs) for _ in range(3)]
        wait_until(lambda: stuck.asked == 1, "the first")
        assert not any(each.done() for each in asked)
        assert stuck.asked == 1
        stuck.gate.set()
        assert [each.result().status for each in asked] == [200] * 3
