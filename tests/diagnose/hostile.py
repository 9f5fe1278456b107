"""An API server that answers from a map of objects, whose answers a test may break."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote

from click.testing import Result
from hypothesis import strategies as st

from tests.diagnose.explain.test_screens import SCENES
from tests.diagnose.scenes import NOW, PROFILES, Scene
from tests.hostile import places, replaced
from tests.hostile.broken import ODD
from tests.profiles import as_objects
from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.kube.catalogue import NETWORKS
from webhook.kube.connection import Connection, RequestFailed, Response
from webhook.kube.credentials import Credentials

STATUSES = (403, 404, 410, 429, 500, 503, 200)
"""In the place of any answer; the last with a body that is no JSON."""

BODIES = (
    b'{"message": "\\u001b[31mno"}',
    b"garbage \xff\x1b[2J",
    b"[]",
    b"{}",
    b'{"items": 5}',
    b"[" * 100000,
)


class HostileConnection(Connection):
    """Answer with what *objects* holds of a path; *spoil* may change each answer."""

    def __init__(self, objects: dict[str, Any], namespace: str) -> None:
        super().__init__(Credentials("test", "http://127.0.0.1:9", namespace=namespace))
        self.objects = objects
        self.asked: list[str] = []
        self.options: list[dict[str, Any]] = []
        self.headers: dict[str, str] = {}
        self.written: list[tuple[str, Any, Any]] = []
        self.spoil: Callable[[str, int, bytes], tuple[int, bytes]] = lambda _path, status, body: (
            status,
            body,
        )

    def request(self, method: str, path: str, **options: Any) -> Response:
        """Answer at once."""
        self.asked.append(f"{method} {path}")
        self.options.append(options)
        if method != "GET":
            self.written.append((path, options.get("query"), options.get("body")))
        status, value = self._value(method, path, options)
        body = json.dumps(value).encode()
        status, body = self.spoil(f"{method} {path}", status, body)
        if status == 0:
            raise RequestFailed(f"{method} {path}: timed out")
        if status >= 500 or status == 429:
            raise RequestFailed(f"{method} {path} answered {status}: {body[:80]!r}", status)
        date = NOW.strftime("%a, %d %b %Y %H:%M:%S GMT")
        return Response(f"{method} {path}", status, {"Date": date, **self.headers}, body)

    def _value(self, method: str, path: str, options: Any) -> tuple[int, Any]:
        if method == "POST":
            return 201, self.objects.get(f"POST {path}", options["body"])
        found = self.objects.get(unquote(path))
        if isinstance(found, list):
            wanted = (options.get("query") or {}).get("labelSelector") or ""
            items = [each for each in found if _chosen(each, wanted)]
            return 200, {"metadata": {"resourceVersion": "1"}, "items": items}
        return (404, {"message": "not found"}) if found is None else (200, found)


def _chosen(obj: Object, selector: str) -> bool:
    try:
        labels = dict(podspec.labels(obj))
    except (AttributeError, TypeError, ValueError):
        return True  # a broken one is sent whatever is asked for
    for term in filter(None, selector.split(",")):
        key, _, value = term.partition("=")
        if key.removeprefix("!") in labels if term.startswith("!") else labels.get(key) != value:
            return False
    return True


def small(name: str) -> Scene:
    """Return a scene of this name, with three pods of its job: more show nothing more."""
    made = SCENES[name]()
    made.pods = dict(list(made.pods.items())[:3])
    return made


def held() -> Scene:
    """Return a job whose pods wait for Kueue, so that most of what can be asked for is."""
    made = small("kueue-quota")
    made.workloads = small("suspended-by-kueue").workloads
    return made


def cluster_of(scene: Scene) -> HostileConnection:
    """Return the API server of the scene."""
    space = "/api/v1/namespaces/research"
    pods = list(scene.pods.values())
    labelled = {"metadata": {"name": "research", "labels": dict(scene.labels)}}
    lease = scene.lease and {"metadata": {"name": "fabric-injector"}, **scene.lease}
    objects: dict[str, Any] = {
        f"{space}/pods": pods,
        f"{space}/events": list(scene.events),
        space: labelled,
        "/api/v1/namespaces": [labelled],
        "/api/v1/events": list(scene.events),
        "/api/v1/pods": pods,
        "/api/v1/nodes": list(scene.nodes),
        "/apis/coordination.k8s.io/v1/namespaces/fabric-injector/leases/fabric-injector": lease,
        "/apis/fabric-injector.io/v1alpha1/fabricprofiles": as_objects(PROFILES),
    }
    if scene.workloads:
        served = {"groupVersion": "kueue.x-k8s.io/v1beta2"}
        objects["/apis/kueue.x-k8s.io"] = {"preferredVersion": served}
        for path in ("namespaces/research/workloads", "workloads"):
            objects[f"/apis/kueue.x-k8s.io/v1beta2/{path}"] = list(scene.workloads)
    for pod in pods:
        objects[f"{space}/pods/{pod['metadata']['name']}"] = pod
    for key, found in scene.networks.items():
        objects[NETWORKS.object_path(key)] = found
    return HostileConnection(objects, "research")


def spoil_an_annotation(pod: Object, data: st.DataObject) -> None:
    """Put junk in one place of the JSON that an annotation holds."""
    annotations = pod["metadata"]["annotations"]
    key = data.draw(st.sampled_from([names.NETWORK_STATUS, names.STATUS]))
    value = json.loads(annotations[key])
    at = data.draw(st.sampled_from([at for at, _ in places(value)]))
    annotations[key] = json.dumps(replaced(value, at, data.draw(st.sampled_from(ODD))))


def spoil_an_answer(
    connection: HostileConnection, requests: Sequence[str], data: st.DataObject
) -> None:
    """Answer one of the *requests* with what is none."""
    asked = data.draw(st.sampled_from(requests))
    status = data.draw(st.sampled_from([0, 401, *STATUSES]))
    body = data.draw(st.sampled_from(BODIES))
    connection.spoil = lambda request, *answer: (status, body) if request == asked else answer


def held_against(invoke: Callable[..., Result]) -> dict[str, Any]:
    """Ask a command twice, and hold both answers against what every answer must be."""
    text = invoke()
    assert text.exit_code in (0, 1, 2), text.exception
    assert isinstance(text.exception, SystemExit | None), text.exception
    assert not set("\x1b\r\x07\u202e\x9b") & set(text.output)
    result = invoke("-o", "json")
    assert result.exit_code == text.exit_code
    if result.exit_code == 2:
        assert result.stderr.startswith("Error: ")
        return {}
    document: dict[str, Any] = json.loads(result.stdout)
    assert all(each["subject"] and each["message"] for each in document.get("findings", ()))
    return document
