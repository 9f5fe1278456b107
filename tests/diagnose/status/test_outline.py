"""The outline of a spec: put together again it is the spec, and pods whose specs have one outline differ in nothing but their own."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.diagnose.hostile import JUNK, broken, places
from tests.diagnose.scenes import Scene
from tests.served import as_served
from webhook.diagnose.status.jobs import PodKeeper
from webhook.diagnose.status.outline import outline

SPEC: dict[str, Any] = {
    "nodeName": "node-7",
    "hostname": "host-3",
    "nodeSelector": {"kubernetes.io/hostname": "node-7", "rail": "3"},
    "containers": [
        {
            "name": "c",
            "args": ["--node_rank=3", "--node-rank", "3", "--rank 3", "rank=3.5", "train-3", "--port=3"],
            "env": [
                {"name": "RANK", "value": "3"},
                {"name": "NCCL_NODE_ID", "value": "3"},
                {"name": "A", "value": "3"},
            ],
        }
    ],
    "volumes": [{"name": "kube-api-access-abc12", "projected": {}}, {"name": "kube-api-access-zzzzz", "emptyDir": {}}],
}


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_what_is_a_pods_own_is_marked_and_nothing_else(separators: tuple[str, str]) -> None:
    text = json.dumps(SPEC, separators=separators).encode()
    shape, own = outline(text, "train-3")
    assert (own.name, own.host, own.volume) == (b"train-3", b"host-3", b"kube-api-access-abc12")
    assert (own.nodes, own.places, own.values, own.ranks) == ((b"node-7",), (b"node-7",), (b"3",), (b"3", b"3", b"3"))
    assert own.fill(shape) == text
    marked = json.loads(shape, strict=False)
    assert marked["containers"][0]["args"][4:] == ["rank=3.5", "\x01", "--port=3"]
    assert [each["value"] for each in marked["containers"][0]["env"]] == ["\x06", "3", "3"]
    assert marked["volumes"][1] == SPEC["volumes"][1]


def test_rank_0_is_not_as_the_others_are() -> None:
    texts = [json.dumps(SPEC).replace('"value": "3"', f'"value": "{rank}"').encode() for rank in (0, 1, 2)]
    zero, one, two = (outline(text, "train-3")[0] for text in texts)
    assert (
        zero
        != one
        == two.replace(b'"A", "value": "2"', b'"A", "value": "1"').replace(
            b'"NCCL_NODE_ID", "value": "2"', b'"NCCL_NODE_ID", "value": "1"'
        )
    )


@pytest.mark.parametrize("name", ["8", "true-1", "e-5", "a", "null", "1e-10"])
def test_a_name_that_may_stand_for_something_else_is_not_marked(name: str) -> None:
    text = b'{"a": true, "b": 8, "c": 1e-5, "d": null, "e": 1e-10}'
    shape, own = outline(text, name)
    assert shape == text
    assert own.fill(shape) == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-5, 12) | st.text() | st.sampled_from(["train-3", "node-7", "rank=7"]),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*SPEC, "name", "value"]) | st.text(), inner),
    ),
    st.sampled_from(["train-3", "train-3-0", "8", "ran-k", "name-of", "ü-ab"]),
)
def test_put_together_again_it_is_the_spec(spec: Any, name: str) -> None:
    text = json.dumps(spec).encode()
    shape, own = outline(text, name)
    assert own.fill(shape) == text
    types = json.loads(shape, strict=False)
    assert types_of(types) == types_of(spec), "marks stand within texts alone"


def types_of(value: Any) -> Any:
    """Return the types of all values; keys of maps may hold a name."""
    if isinstance(value, dict):
        return [types_of(each) for each in value.values()]
    return [types_of(each) for each in value] if isinstance(value, list) else type(value)


def test_a_pod_is_kept_whole_whatever_it_holds() -> None:
    keeper, kept = PodKeeper(), 0
    for number, pod in enumerate(Scene(2).pods.values()):
        as_served(pod, number)
        for at in places(pod["spec"], ("spec",)):
            for junk in JUNK:
                wrong = broken(pod, at, junk)
                try:
                    found = keeper.keep(wrong).read()
                except orjson.JSONEncodeError:
                    continue  # half of a surrogate pair, which is named
                assert found == wrong
                kept += 1
    assert kept > 1000


def test_an_outline_is_checked_once_and_kept_while_a_pod_has_it() -> None:
    asked: list[str] = []
    keeper = PodKeeper(lambda pod: asked.append(pod["metadata"]["name"]))
    pods = list(Scene(4).pods.values())
    kept = [keeper.keep(as_served(pod, number)) for number, pod in enumerate(pods)]
    assert asked == ["bert-master-0", "bert-worker-0"]
    assert len({each.outline for each in kept}) == 2
    del kept
    keeper.keep(pods[2])
    assert len(asked) == 3, "nothing is held on to that no pod has"


@pytest.mark.parametrize(
    "of_pod", [{}, {"nodeName": ""}, {"nodeName": None}, {"nodeName": "n\u00f6de-1"}, {"hostname": "host-3"}]
)
@pytest.mark.parametrize("label", ["nodeName", "hostname"])
def test_a_label_that_is_called_as_a_field_is_not_a_pods_own(of_pod: dict[str, Any], label: str) -> None:
    keeper = PodKeeper()
    pods = [{"nodeSelector": {label: f"node-{number}"}, **of_pod} for number in (1, 2)]
    one, other = (keeper.keep({"metadata": {"name": "a-bc", "namespace": "ml"}, "spec": spec}) for spec in pods)
    assert [one.read_spec(), other.read_spec()] == pods
    assert one.outline is not other.outline
    assert not one.own.nodes
