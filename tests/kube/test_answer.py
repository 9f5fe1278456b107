"""Answers that are nested deeper than decoders follow: what is too deep is left out."""

from typing import Any

import orjson
import pytest

from tests.fake_apiserver import FakeApiServer, text
from tests.waiting import wait_until
from webhook.kube import catalogue
from webhook.kube.decoding import MOST_DEPTH, decode
from webhook.kube.informer import Informer
from webhook.kube.reader import Reader, whole

CLAIMS = catalogue.RESOURCE_CLAIMS
DEEPEST = 5000
"""As deep as the 10 KiB of a claim's opaque parameters can be nested."""


def nested(depth: int, opening: str = '{"a":', closing: str = "}") -> str:
    return opening * depth + "null" + closing * depth


def claim(name: str, depth: int) -> str:
    opaque = f'{{"driver":"x","parameters":{nested(depth)}}}'
    metadata = f'{{"name":"{name}","namespace":"ml"}}'
    return f'{{"metadata":{metadata},"spec":{{"devices":{{"config":[{{"opaque":{opaque}}}]}}}}}}'


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
@pytest.mark.parametrize("depth", [MOST_DEPTH - 2, MOST_DEPTH + 130, DEEPEST])
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
    items = f"{claim('deep', DEEPEST)},{claim('other', 1)}"
    listed = f'{{"metadata":{{"resourceVersion":"1"}},"items":[{items}]}}'
    connection = server.connection()
    server.misbehave("list", CLAIMS.path, text(200, listed))
    [page] = Reader(connection).pages(CLAIMS, whole, most=1)
    assert [each["metadata"]["name"] for each in page.objects] == ["deep", "other"]
    events = "".join(
        f'{{"type":"ADDED","object":{claim(name, DEEPEST)}}}\n' for name in ("deep", "again")
    )
    server.misbehave("watch", CLAIMS.path, text(200, events))
    informer = Informer(connection, CLAIMS, whole)
    informer._version = "1"
    informer.start()
    wait_until(lambda: ("ml", "again") in informer.items, "the claims")
    informer.stop()
    assert [*informer.items] == [("ml", "deep"), ("ml", "again")]
