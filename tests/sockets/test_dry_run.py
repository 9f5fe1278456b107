"""Dry runs over HTTP on the webhook's loopback port: what is answered, to whom, at what cost."""

import base64
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from tests.sockets.conftest import HERE, OBJECTS, PROFILES, Serve
from tests.sockets.listening import running
from tests.sockets.server import SERVE_ANYWHERE, Server, admit, admitting, ask_at
from tests.tables import table
from tests.waiting import wait_until
from webhook.core.model import Namespace
from webhook.core.profiles import parse_profiles
from webhook.serve.dry_runs import MOST_BYTES, MOST_PODS, DryRuns
from webhook.world.objects import ObjectsWorld, load_objects

LIVE = sorted((HERE.parent / "fixtures/live").rglob("*.review.json"))
MANIFEST = (Path(__file__).parents[1] / "fixtures/torchx/volcano-ddp-2x1.yaml").read_bytes()
POD = b"""apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec: {containers: [{name: c, image: i}]}
"""


def test_answers_as_admission_does(own: Server) -> None:
    changed = 0
    with closing(own.client()) as client:
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


@table(
    "path, body, status, message",
    {
        "broken YAML": ("/dry-run", b"a: [", 400, "line 2, column 1"),
        "no text": ("/dry-run", b"\xff", 400, "not UTF-8"),
        "nothing": ("/dry-run", b"", 400, "expected a manifest, found nothing"),
        "nothing but comments": ("/dry-run", b"# a comment\n---\n", 400, "found nothing"),
        "parameter": ("/dry-run?ns=x", b"a: b", 400, "use namespace, profile"),
        "path": ("/elsewhere", b"a: b", 404, "not found"),
    },
)
def test_refuses(server: Server, path: str, body: bytes, status: int, message: str) -> None:
    reply = server.plain("POST", path, body)
    assert reply.status == status
    assert message in reply.json()["message"]


def test_refuses_what_is_too_large_before_it_comes(server: Server) -> None:
    reply = server.plain("POST", "/dry-run", b"", {"Content-Length": str(MOST_BYTES + 1)})
    assert reply.status == 413
    assert "the request body is too large" in reply.json()["message"]


def test_answers_no_more_than_fits_the_memory(server: Server) -> None:
    """Each value has a line of its own, indented as deep as it stands."""
    pod = b'{"kind": "Pod", "metadata": {"name": "p"}, "spec": '
    pod += b'{"containers": [{"name": "c", "image": "i"}], "a": '
    manifest = pod + b"[" * 90 + b"1," * 100_000 + b"1" + b"]" * 90 + b"}}"
    reply = server.plain("POST", "/dry-run?profile=two-rails", manifest)
    assert reply.status == 413
    assert "the answer has more than 8388608 characters" in reply.json()["message"]


LONG_NAMES = (
    b"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: "
    + b"n" * 150_000
    + b"}\n"
    b"spec: {replicatedJobs: [" + b"{name: a, template: {spec: {template: {spec: "
    b"{containers: [{name: c, image: i}]}}}}}, " * 1_000 + b"]}\n"
)


@table(
    "manifest",
    {
        "the largest": POD.ljust(MOST_BYTES, b"#"),
        "a long text, used often": b'a: &a "%s"\nb: [%s]\n'
        % (b"\\U0001F600" * 9_000, b"*a, " * 6_000),
        "a long kind of a list": b"kind: %sList\nitems: [%s]" % (b"K" * 150_000, b"{}, " * 20_000),
        "a long name of an object": LONG_NAMES,
    },
)
def test_takes_little_memory_whatever_is_sent(own: Server, manifest: bytes) -> None:
    assert len(manifest) <= MOST_BYTES
    assert own.plain("POST", "/dry-run?profile=two-rails", manifest).status < 500
    assert own.peak_megabytes() < 150


def test_answers_nobody_under_another_name_no_other_page_and_counts_no_admission(
    server: Server,
) -> None:
    before = server.get("/metrics").body.count(b"fabric_injector_admission_requests_total{")
    assert server.plain("POST", "/dry-run", POD, {"Host": "evil.example"}).status == 421
    assert server.plain("POST", "/dry-run", POD, {"Origin": "https://evil.example"}).status == 403
    assert server.plain("POST", "/dry-run", MANIFEST).status == 200
    after = server.get("/metrics").body.count(b"fabric_injector_admission_requests_total{")
    assert after == before


def test_admission_loads_nothing_of_it_before_the_first(serve: Serve, review: bytes) -> None:
    """The interpreter writes each module into the log as it is loaded."""
    server = serve(command=[sys.executable, "-X", "importtime", *SERVE_ANYWHERE[1:]])

    def loaded() -> set[str]:
        lines = server.log.read_text().splitlines()
        imports = [line for line in lines if line.startswith("import time:")]
        return {line.rpartition("|")[2].strip() for line in imports}

    assert server.admit(review).status == 200
    assert server.get("/metrics").status == 200
    ours = {"webhook.dry_run", "webhook.dry_run.templates"}
    assert "webhook.serve.dry_runs" in loaded()
    assert loaded() & {*ours, "cryptography"} == set()
    assert server.plain("POST", "/dry-run", POD).status == 200
    wait_until(lambda: ours <= loaded(), "what the dry run needs")
    assert loaded() & {"cryptography", "flask", "webhook.page"} == set()


def test_admission_goes_on_beside_it_and_with_little_memory(own: Server, review: bytes) -> None:
    many = b"---\n".join([POD] * MOST_PODS)
    too_many = b"---\n".join([POD] * (MOST_BYTES // (len(POD) + 4)))
    values = b"{kind: Pod, a: [" + b"[]," * 80_000 + b"[]]}"
    with admitting(own, review) as statuses:
        assert len(own.plain("POST", "/dry-run", many).json()["pods"]) == MOST_PODS
        reply = own.plain("POST", "/dry-run", too_many)
        assert reply.status == 413
        assert f"the manifest makes more than {MOST_PODS} pods" in reply.json()["message"]
        own.plain("POST", "/dry-run", values)
    assert set(statuses) == {200}
    assert own.peak_megabytes() < 200


class Stuck(ObjectsWorld):
    """A cluster that does not answer until the gate is open."""

    def __init__(self) -> None:
        super().__init__(load_objects([OBJECTS]))
        self.gate = threading.Event()
        self.asked = 0
        self._known = self.namespace
        self.namespace = self._wait

    def _wait(self, name: str) -> Namespace | None:
        self.asked += 1
        assert self.gate.wait(30)
        return self._known(name)


def test_those_that_come_together_are_judged_one_after_the_other() -> None:
    profiles, stuck = parse_profiles(PROFILES.read_bytes()), Stuck()
    dry_runs = DryRuns(lambda: profiles, stuck)
    with running(dry_runs) as server, ThreadPoolExecutor(3) as clients:
        url = server.listener.url
        asked = [clients.submit(ask_at, url, "POST", "/dry-run", POD) for _ in range(3)]
        wait_until(lambda: stuck.asked == 1, "the first")
        assert not any(each.done() for each in asked)
        assert stuck.asked == 1
        stuck.gate.set()
        assert [each.result().status for each in asked] == [200] * 3
        dry_runs.stop()
