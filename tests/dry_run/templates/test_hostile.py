"""No manifest, however broken, gives anything but pods, reasons or a refusal."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dry_run.templates.test_kinds import PARTS, SHOWN, train_job
from tests.dry_run.templates.test_pods import CASES
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.pod_check import check_pod
from webhook.core.yaml_reader import Document
from webhook.dry_run.templates import Templates, find_templates

MANIFESTS: list[list[Object]] = [
    *([manifest] for manifest, _ in (*CASES.values(), *SHOWN.values())),
    *([*row.get("beside", ()), row["manifest"]] for row in PARTS.values()),
    *([train_job(name, numNodes=2)] for name in ("jax-distributed", "mlx-distributed")),
]
VALUES: list[Any] = [
    *(None, "", "x", 0, -1, 1.5, True),
    *([], [None], ["x"], [[]], [{"name": None}]),
    *({}, {"a": 1}, {"name": 5}),
]
JUNK = st.sampled_from(VALUES)


@st.composite
def broken(draw: st.DrawFn) -> list[Any]:
    """Return a manifest in which one to three values are something else, or gone."""
    documents = json.loads(json.dumps(draw(st.sampled_from(MANIFESTS))))
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from(list(places(documents))))
        if draw(st.booleans()) and isinstance(holder, dict):
            holder.pop(key, None)
        elif isinstance(holder, dict) or key < len(holder):
            holder[key] = json.loads(json.dumps(draw(JUNK)))
    return documents  # type: ignore[no-any-return]  # JSON


def places(value: Any) -> Any:
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield value, key
            yield from places(item)


def check(found: Templates) -> None:
    """Fail where admission would not take a pod, or something is left out without a reason."""
    for each in found.pods:
        json.dumps(check_pod(each.pod))
        assert each.source
        assert each.pod["metadata"]["namespace"] == each.namespace
        assert each.pod["spec"]["containers"]
    for ignored in found.ignored:
        assert ignored.source
        assert ignored.message


@settings(max_examples=600, deadline=None)
@given(broken())
def test_survives_broken_manifests(documents: list[Any]) -> None:
    try:
        found = find_templates(map(Document, documents))
    except InputError:
        return
    check(found)


KEYS = st.sampled_from(["metadata", "spec", "template", "containers", "podSpec", "items", "name"])
KINDS = st.sampled_from(["Pod", "Job", "PodList", "List", "Deployment", "Unknown"])
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=5)
        | st.fixed_dictionaries(
            {"kind": KINDS | inner},
            optional={"apiVersion": st.just("v1"), "items": inner, "spec": inner},
        )
        | st.just({"containers": [{"name": "main", "image": "x"}]})
    ),
    max_leaves=25,
)


def objects_in(value: Any) -> int:
    """Count the objects of an input; a list counts as what it holds."""
    if (
        isinstance(value, dict)
        and str(value.get("kind")).endswith("List")
        and isinstance(value.get("items"), list)
    ):
        value = value["items"]
    return sum(map(objects_in, value)) if isinstance(value, list) else 1


@settings(max_examples=200, deadline=None)
@given(VALUE)
def test_says_of_every_object_of_any_shape_what_becomes_of_it(value: Any) -> None:
    found = find_templates([Document(value)])
    check(found)
    assert len(found.pods) + len(found.ignored) >= objects_in(value)


def test_takes_what_is_whole_beside_what_is_none() -> None:
    whole = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    listed = {"apiVersion": "v1", "kind": "PodList", "items": [whole, None]}
    found = find_templates(
        map(Document, [[{"apiVersion": "v1", "kind": "Pod", **whole}, 5], listed])
    )
    check(found)
    assert (len(found.pods), len(found.ignored)) == (2, 2)
