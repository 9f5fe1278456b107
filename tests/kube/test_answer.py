"""Answers that are nested deeper than decoders follow: what is too deep is left out, and everything beside it is read."""

import json
from typing import Any

import orjson
import pytest
from kubernetes.client import V1ObjectMeta, V1Pod

from tests.fake_apiserver import FakeApiServer, text
from webhook.kube import catalogue
from webhook.kube.answer import MOST_DEPTH, RequestFailed, Response, decode
from webhook.kube.list_watch import ListWatch
from webhook.kube.reader import Reader, whole

CLAIMS = catalogue.RESOURCE_CLAIMS.at("/apis/resource.k8s.io/v1")
DEEPEST = 5000
"""As deep as the 10 KiB of a claim's opaque parameters can be nested."""


def nested(depth: int, opening: str = '{"a":', closing: str = "}") -> str:
    return opening * depth + "null" + closing * depth


def claim(name: str, depth: int) -> str:
    opaque = f'{{"driver":"x","parameters":{nested(depth)}}}'
    return f'{{"metadata":{{"name":"{name}","namespace":"ml"}},"spec":{{"devices":{{"config":[{{"opaque":{opaque}}}]}}}}}}'


def depth_of(value: Any) -> int:
    depth = 0
    while isinstance(value, dict | list) and value:
        value, depth = (
            (next(iter(value.values())) if isinstance(value, dict) else value[0]),
            depth + 1,
        )
    return depth


@pytest.mark.parametrize(
    ("opening", "closing", "each"),
    [("[", "]", 1), ('{"a":', "}", 1), ('[{"]}":', "}]", 2), ('{"\\"[":[ ', "] }", 2)],
)
@pytest.mark.parametrize("depth", [MOST_DEPTH - 2, MOST_DEPTH + 30, DEEPEST])
def test_leaves_out_only_what_is_nested_too_deep(
    depth: int, opening: str, closing: str, each: int
) -> None:
    deep = nested(depth // each, opening, closing)
    found = decode(
        f'{{"before":"]\\"}}","deep":{deep},"items":[{deep},{{"x":"[["}}],"after":[1]}}'.encode()
    )
    assert (found["before"], found["items"][1], found["after"]) == (']"}', {"x": "[["}, [1])
    assert depth_of(found["deep"]) == min(depth, MOST_DEPTH - 1)


@pytest.mark.parametrize(
    "broken",
    ["", "{", "[" * 3000, "]" * 3000, nested(3000) + "x", '"' + '\\"' * 9999, '"\\' * 9999],
)
def test_what_is_no_json_stays_refused(broken: str) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        decode(broken.encode())


def test_a_claim_of_deep_parameters_hides_no_other(server: FakeApiServer) -> None:
    listed = f'{{"metadata":{{"resourceVersion":"1"}},"items":[{claim("deep", DEEPEST)},{claim("other", 1)}]}}'
    connection = server.connection()
    server.misbehave("list", CLAIMS.path, text(200, listed))
    [page] = Reader(connection).pages(CLAIMS, whole, most=1)
    assert [each["metadata"]["name"] for each in page.objects] == ["deep", "other"]
    events = "".join(
        f'{{"type":"ADDED","object":{claim(name, DEEPEST)}}}\n' for name in ("deep", "again")
    )
    server.misbehave("watch", CLAIMS.path, text(200, events))
    seen = ListWatch(connection, CLAIMS, lambda low, _high: low).events("1")
    assert [next(seen).kind, *(next(seen).object["metadata"]["name"] for _ in range(2))] == [
        "OPENED",
        "deep",
        "again",
    ]


def test_a_list_of_pods_is_read_as_any_other_but_for_managed_fields() -> None:
    metadata = {key: f"{key}-1" for key in V1ObjectMeta.attribute_map.values()}
    pod = {key: {"a": [1, None, "ü"]} for key in V1Pod.attribute_map.values()} | {
        "metadata": metadata
    }
    response = Response(
        "GET /x", 200, {}, json.dumps({"metadata": {"continue": "t"}, "items": [pod, {}]}).encode()
    )
    expected = response.json()
    del expected["items"][0]["metadata"]["selfLink"]
    assert response.json_of_pods() == expected


@pytest.mark.parametrize(
    "body",
    [
        b'{"metadata": {}, "items": [{"metadata": {"name": "a"}}, 7, {"metadata": null}, {"metadata": {"name": "b"}}]}',
        b'{"metadata": {}, "items": null}',
        b'{"items": {"a": 1}}',
    ],
)
def test_what_is_no_list_of_pods_is_read_as_any_other(body: bytes) -> None:
    response = Response("GET /x", 200, {}, body)
    assert response.json_of_pods() == response.json()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"items": [{"metadata": {"name": "\xff"}}]}'])
def test_what_is_no_json_object_is_refused_in_a_list_of_pods_too(body: bytes) -> None:
    with pytest.raises(RequestFailed, match="with no JSON object"):
        Response("GET /x", 200, {}, body).json_of_pods()


def test_a_pod_that_is_nested_deeply_does_not_hide_the_others() -> None:
    deep = b"[" * DEEPEST + b"]" * DEEPEST
    body = (
        b'{"items": [{"metadata": {"name": "a"}, "spec": '
        + deep
        + b'}, {"metadata": {"name": "b"}}]}'
    )
    items = Response("GET /x", 200, {}, body).json_of_pods()["items"]
    assert [item["metadata"]["name"] for item in items] == ["a", "b"]
