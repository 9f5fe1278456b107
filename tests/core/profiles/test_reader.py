"""YAML as profiles.yaml may use it, and what is told of what is none."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.profile_texts import assert_says, faults
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


YAML_FAULTS = {
    "root-list": ("[a]", "document: found a list; write a mapping of fields"),
    "root-text": ("hello", 'document: found "hello"; write a mapping of fields'),
    "root-null": ("null", "document: found null, which YAML reads as nothing; write a mapping of fields"),
    "duplicate": ("profiles: {}\n# x\nprofiles: {}", "line 3: profiles: is written twice, first in line 1; keep one"),
    "duplicate-deep": ('profiles: {a: {env: {X: "1", X: "2"}}}', "profiles.a.env.X: is written twice, first in line 1"),
    "key-list": ("profiles: {[a]: {}}", "profiles: has a key that is a list; write text"),
    "tag": ("profiles: !python/name {}", "profiles: has the tag !python/name; write a plain list or mapping"),
    "tag-scalar": (
        "profiles: {a: {container: !secret x}}",
        "profiles.a.container: has the tag !secret; write a plain value",
    ),
    "merge-text": ("profiles: {a: {<<: b}}", 'profiles.a[<<]: found "b"; write the alias of a mapping'),
    "not-a-number": (f"multus: {{defaultNetworks: {'9' * 5000}}}", "but it is none; write it in quotes"),
    "long-number": (f"profiles: {{a: {{pods: {'1' * 4000}}}}}", f"found {'1' * 60}, which YAML reads as a number"),
    "tag-date": (
        "profiles:\n  a:\n    pods: !!timestamp x",
        "line 3: profiles.a.pods: found x, which YAML reads as a date, but it is none; write it in quotes",
    ),
    "tag-bool": (
        "profiles: {a: {ipcLock: !!bool x}}",
        "profiles.a.ipcLock: found x, which YAML reads as true or false",
    ),
    "tag-int": ('multus: {defaultNetworks: !!int ""}', "multus.defaultNetworks: found nothing, but it is none"),
    "not-a-date": (
        "profiles: {a: {env: {X: 2026-99-99}}}",
        "which YAML reads as a date, but it is none; write it in quotes",
    ),
}


@pytest.mark.parametrize(("text", "message"), YAML_FAULTS.values(), ids=YAML_FAULTS)
def test_says_what_is_wrong_and_what_is_allowed(text: str, message: str) -> None:
    assert_says(text, message)


UNREADABLE = {
    "empty": ("", "line 1: document: is empty; write at least `profiles: {}`"),
    "comment": ("# profiles\n", "line 1: document: is empty"),
    "two-documents": ("profiles: {}\n---\nprofiles: {}\n", "line 2: document: holds more than one document"),
    "open-list": ("profiles:\n  a: [", "document: is not valid YAML: "),
    "tab": (
        "profiles:\n\ta: {}\n",
        "line 2: document: is not valid YAML: found character that cannot start any token (a tab",
    ),
    "two-colons": ("a: b: c", "line 1: document: is not valid YAML: mapping values are not allowed"),
    "no-such-alias": ("profiles: *a", "line 1: document: is not valid YAML: found undefined alias"),
    "control": ("profiles:\n  a: \x01", "line 2: document: holds the character U+0001, which YAML does not allow"),
    "surrogate": ("profiles:\n  a: \ud800", "line 2: document: holds half a surrogate pair"),
    "loop": ("profiles: &a\n  b: *a", "line 1: document: holds an alias inside its own anchor"),
    "loop-by-merge": ("profiles: &a\n  <<: *a", "line 1: document: is nested too deeply"),
    "deep": ("[" * 5000 + "]" * 5000, "line 1: document: is nested too deeply"),
    "bomb": (
        "a: &a [1,1,1,1,1,1,1,1,1]\n"
        + "".join(f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)),
        "document: holds more than 100000 values, aliases followed",
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
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES | st.fixed_dictionaries({"profiles": st.fixed_dictionaries({"a": st.dictionaries(WORDS, VALUES)})}))
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
