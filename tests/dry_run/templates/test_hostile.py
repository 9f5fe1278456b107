"""No manifest, however broken, gives anything but pods, reasons or a refusal."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dry_run.templates.kinds import runtime, train_job
from tests.dry_run.templates.test_kinds import SHOWN
from tests.dry_run.templates.test_pods import CASES
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.pod_check import check_pod
from webhook.dry_run.templates import find_templates

PATCHED = train_job(
    podTemplateOverrides=[
        {
            "targetJobs": [{"name": "node"}],
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "containers": [{"name": "node", "env": [{"name": "A", "value": "x"}]}],
                "nodeSelector": {"a": "b"},
            },
        }
    ],
    trainer={"env": [{"name": "A", "value": "x"}], "numNodes": 2},
)
MANIFESTS: list[list[Object]] = [
    *([manifest] for manifest, _ in CASES.values()),
    *([manifest] for manifest, _ in SHOWN.values()),
    [runtime(torch={}), PATCHED],
]
VALUES: list[Any] = [
    None,
    "",
    "x",
    0,
    -1,
    1.5,
    True,
    [],
    [None],
    ["x"],
    [[]],
    {},
    {"a": 1},
    {"name": 5},
    [{"name": None}],
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
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from places(item)


@settings(max_examples=600, deadline=None)
@given(broken())
def test_survives_broken_manifests(documents: list[Any]) -> None:
    try:
        found = find_templates(documents)
    except InputError:
        return
    for each in found.pods:
        json.dumps(check_pod(each.pod))
        assert each.source
        assert each.pod["metadata"]["namespace"] == each.namespace
        assert each.pod["spec"]["containers"]


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["kind", "apiVersion", "metadata", "spec", "template", "containers", "podSpec", "items", "name"]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=25,
    )
)
def test_survives_objects_of_any_shape(value: Any) -> None:
    found = find_templates([value])
    assert found.pods or found.ignored or isinstance(value, list) or value.get("items") == []
