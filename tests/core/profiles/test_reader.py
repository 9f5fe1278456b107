"""YAML as profiles.yaml may use it, and what is told of what is none."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.profiles.texts import assert_says, faults
from webhook.core.errors import Problem, ProfilesError
from webhook.core.profiles import parse_profiles


def test_follows_anchors_and_merges() -> None:
    text = """
    profiles:
      a: &a
        env: &env {X: "1", Y: "2"}
        ipcLock: false
      b:
        <<: *a
        env: {<<: [{X: "3"}, *env], Z: "4"}
        pods: all
    """
    b = parse_profiles(text).profiles["b"]
    assert (b.env, b.ipc_lock, b.pods) == ({"X": "3", "Y": "2", "Z": "4"}, False, "all")


def test_reads_scalars_as_kubernetes_tools_do() -> None:
    text = "profiles: {a: {env: {WINDOW: 12:30, DAY: 2026-11-21}}}"
    assert parse_profiles(text).profiles["a"].env == {
        "WINDOW": "12:30",
        "DAY": "2026-11-21",
    }


def test_shows_the_line_where_an_alias_or_a_merge_has_its_value_from() -> None:
    text = """\
profiles:
  a: &a
    env: &env
      X: 1
  b:
    <<: *a
    container: [x]
  c:
    env: *env
"""
    found = [
        "4: profiles.a.env.X",
        "4: profiles.b.env.X",
        "4: profiles.c.env.X",
        "7: profiles.b.container",
    ]
    assert [fault.removeprefix("line ").split(": found")[0] for fault in faults(text)] == found


YAML_FAULTS = {
    "root-list": ("[a]", "document: found a list; write an object of fields"),
    "root-text": ("hello", 'document: found "hello"; write an object of fields'),
    "root-null": ("null", "document: is empty; write at least `profiles: {}`"),
    "duplicate": (
        "profiles: {}\n# x\nprofiles: {}",
        "line 3: profiles: is written twice, first in line 1; keep one",
    ),
    "duplicate-deep": (
        'profiles: {a: {env: {X: "1", X: "2"}}}',
        "profiles.a.env.X: is written twice, first in line 1",
    ),
    "key-list": (
        "profiles: {[a]: {}}",
        "profiles: a list stands where a key is needed; write a string",
    ),
    "tag": (
        "profiles: !python/name {}",
        "profiles: has the tag !python/name; write a plain list or object",
    ),
    "tag-scalar": (
        "profiles: {a: {container: !secret x}}",
        "profiles.a.container: has the tag !secret; write a plain value",
    ),
    "merge-text": (
        "profiles: {a: {<<: b}}",
        "profiles.a[<<]: found a string; << needs an object, or a list of them",
    ),
    "long-number": (
        f"multus: {{defaultNetworks: {'9' * 4000}}}",
        f'found "{"9" * 57}..."; write an integer',
    ),
    "tag-date": (
        "profiles:\n  a:\n    pods: !!timestamp x",
        'line 3: profiles.a.pods: found "x"; write one of',
    ),
    "tag-bool": (
        "profiles: {a: {ipcLock: !!bool x}}",
        'profiles.a.ipcLock: found "x"; write true or false',
    ),
}


def test_shows_the_lines_of_json_too() -> None:
    assert faults('{"profiles":\n {"a":\n  {"pods": "some"}}}')[0].startswith(
        "line 3: profiles.a.pods: found"
    )


@pytest.mark.parametrize(("text", "message"), YAML_FAULTS.values(), ids=YAML_FAULTS)
def test_says_what_is_wrong_and_what_is_allowed(text: str, message: str) -> None:
    assert_says(text, message)


UNREADABLE = {
    "empty": ("", "line 1: document: is empty; write at least `profiles: {}`"),
    "comment": ("# profiles\n", "line 1: document: is empty"),
    "two-documents": (
        "profiles: {}\n---\nprofiles: {}\n",
        "line 3: document: holds more than one document",
    ),
    "open-list": ("profiles:\n  a: [", "document: not valid YAML: "),
    "tab": (
        "profiles:\n\ta: {}\n",
        "line 2: document: not valid YAML: found character that cannot start any token",
    ),
    "two-colons": ("a: b: c", "line 1: document: not valid YAML: mapping values are not allowed"),
    "no-such-alias": ("profiles: *a", "line 1: profiles: the alias *a has no anchor before it"),
    "control": ("profiles:\n  a: \x01", "line 2: document: the character U+0001 is not allowed"),
    "surrogate": (
        "profiles:\n  a: \ud800",
        "line 2: document: the character U+D800 is not allowed",
    ),
    "loop": ("profiles: &a\n  b: *a", "line 2: profiles.b: the alias *a has no anchor before it"),
    "loop-by-merge": (
        "profiles: &a\n  <<: *a",
        "line 2: profiles[<<]: the alias *a has no anchor before it",
    ),
    "deep": (
        "[" * 500 + "]" * 500,
        "line 1: document: objects and lists are nested deeper than 100",
    ),
    "bomb": (
        "a: &a [1,1,1,1,1,1,1,1,1]\n"
        + "".join(
            f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n"
            for a, b in zip("abcdefg", "bcdefgh", strict=True)
        ),
        "line 7: g[0]: the input expands to more than 1000000 values: split it",
    ),
}


@pytest.mark.parametrize(("text", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_says_why_it_cannot_be_read_at_all(text: str, message: str) -> None:
    (found,) = faults(text)
    assert message in found


WORDS = st.sampled_from(
    [
        "profiles",
        "multus",
        "a",
        "networks",
        "network",
        "resource",
        "resources",
        "env",
        "rendezvous",
        "timeout",
        "none",
        "all",
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | WORDS
    | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(
    VALUES
    | st.fixed_dictionaries(
        {"profiles": st.fixed_dictionaries({"a": st.dictionaries(WORDS, VALUES)})}
    )
)
@settings(deadline=None)
def test_answers_any_document_with_profiles_or_faults(value: Any) -> None:
    answers(yaml.safe_dump(value))


@given(st.text(alphabet="ab:{}[],&*!<>|-#'\"\n \t\x00\ud800?%@`", max_size=40))
@settings(deadline=None)
def test_answers_any_text_with_profiles_or_faults(text: str) -> None:
    answers(text)


def answers(text: str) -> None:
    try:
        problems = [Problem("document", 1, "none")] if parse_profiles(text) else []
    except ProfilesError as error:
        problems = list(error.problems)
    assert problems
    assert all(problem.line >= 1 and problem.path and problem.message for problem in problems)
