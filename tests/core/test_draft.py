"""Drafts: the recorded operations lead from the input to the result, and the input stays as it was."""

import copy
import json
from typing import Any

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from webhook.core.draft import Draft

KEYS = st.sampled_from(["a", "b", "a/b", "c~d", "", "e"])
VALUES = st.one_of(
    st.text(max_size=3),
    st.dictionaries(KEYS, st.text(max_size=2), max_size=2),
    st.lists(st.integers(), max_size=2),
)
MAPS = [("m",), ("m", "n"), ("spec", "x", "y")]
LISTS = [("l",), ("spec", "list"), ("spec", "items", 0, "env")]
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.sampled_from(MAPS), KEYS, VALUES),
        st.tuples(st.just("remove"), st.sampled_from(MAPS), KEYS, st.none()),
        st.tuples(st.just("append"), st.sampled_from(LISTS), st.none(), VALUES),
        st.tuples(st.just("insert"), st.sampled_from(LISTS), st.integers(0, 3), VALUES),
        st.tuples(st.just("replace"), st.sampled_from(LISTS), st.integers(0, 3), VALUES),
    ),
    max_size=12,
)
PODS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"spec": st.fixed_dictionaries({"items": st.just([{"env": [{"name": "A"}]}, {"name": "b"}])})},
    optional={
        "m": st.one_of(st.none(), st.dictionaries(KEYS, st.text(max_size=2), max_size=3)),
        "l": st.one_of(st.none(), st.lists(st.integers(), max_size=3)),
    },
)


@given(PODS, EDITS)
def test_operations_lead_from_the_input_to_the_result(
    pod: dict[str, Any], edits: list[tuple[Any, ...]]
) -> None:
    before = copy.deepcopy(pod)
    draft = Draft(pod)
    for kind, path, key, value in edits:
        new = copy.deepcopy(value)
        if kind == "set":
            draft.set_key(path, key, new)
        elif kind == "remove":
            draft.remove_key(path, key)
        elif kind == "append":
            draft.append(path, new)
        elif kind == "insert":
            draft.insert(path, key, new)
        elif key < len(draft.get(*path) or ()):
            draft.replace(path, key, new)
    assert pod == before
    operations = json.loads(json.dumps(draft.operations))
    assert jsonpatch.apply_patch(pod, operations) == draft.pod


def test_every_change_counts_as_an_edit_whether_it_is_an_operation_of_its_own_or_not() -> None:
    """A step tells by it whether it did something: what goes into a list of an earlier step makes no operation."""
    draft = Draft({"spec": {}})
    draft.append(("spec", "volumes"), {"name": "a"})
    assert (draft.edits, len(draft.operations)) == (1, 1)
    draft.append(("spec", "volumes"), {"name": "b"})
    draft.set_key(("spec", "volumes", 0), "emptyDir", {})
    draft.set_keys(("metadata", "labels"), {"x": "y", "z": "w"})
    draft.replace(("spec", "volumes"), 1, {"name": "c"})
    draft.insert(("spec", "volumes"), 0, {"name": "d"})
    draft.remove(("spec", "volumes"), 0)
    assert draft.remove_key(("metadata", "labels"), "x")
    assert (draft.edits, len(draft.operations)) == (9, 2)
    draft.set_key(("metadata", "labels"), "z", "w")
    draft.set_keys(("metadata", "labels"), {"z": "w"})
    assert draft.edits == 9


def test_setting_what_is_there_changes_nothing() -> None:
    draft = Draft({"a": {"b": "c"}, "l": [1]})
    assert not draft.set_key(("a",), "b", "c")
    assert not draft.replace(("l",), 0, 1)
    assert not draft.remove_key(("a",), "z")
    assert draft.operations == []


def test_an_item_of_a_container_is_found_again_after_another_was_put_before_it() -> None:
    pod = {"spec": {"containers": [{"env": [{"name": "A"}]}]}}
    env = ("spec", "containers", 0, "env")
    draft = Draft(pod)
    draft.set_key((*env, 0, "valueFrom"), "x", "1")
    draft.insert(env, 0, {"name": "B"})
    draft.set_key((*env, 1, "valueFrom"), "y", "2")
    assert draft.pod["spec"]["containers"][0]["env"] == [
        {"name": "B"},
        {"name": "A", "valueFrom": {"x": "1", "y": "2"}},
    ]
    assert jsonpatch.apply_patch(pod, draft.operations) == draft.pod


def test_what_the_draft_added_is_edited_inside_the_operation_that_added_them() -> None:
    draft = Draft({"spec": {"volumes": [{"name": "a"}]}})
    draft.append(("spec", "new"), {"name": "b"})
    draft.insert(("spec", "new"), 0, {"name": "a"})
    draft.insert(("spec", "new"), 5, {"name": "d"})
    draft.replace(("spec", "new"), 2, {"name": "c"})
    draft.replace(("spec", "volumes"), 0, {"name": "z"})
    draft.set_keys(("spec", "labels"), {"x": "1"})
    draft.set_keys(("spec", "labels"), {"x": "1", "y": "2", "z": "3"})
    draft.remove_key(("spec", "labels"), "z")
    draft.set_key(("spec", "new", 0, "deep"), "more", "1")
    draft.extend(("spec", "volumes"), [{"name": "e"}])
    draft.set_key(("spec", "volumes", 1), "emptyDir", {})
    assert draft.operations == [
        {
            "op": "add",
            "path": "/spec/new",
            "value": [{"name": "a", "deep": {"more": "1"}}, {"name": "b"}, {"name": "c"}],
        },
        {"op": "replace", "path": "/spec/volumes/0", "value": {"name": "z"}},
        {"op": "add", "path": "/spec/labels", "value": {"x": "1", "y": "2"}},
        {"op": "add", "path": "/spec/volumes/-", "value": {"name": "e", "emptyDir": {}}},
    ]
