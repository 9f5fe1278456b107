"""What a case wants is compared with what is there: lists in any order, quantities by amount, and what is meant is shown beside it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from webhook.dry_run.cases import Sources, part_of


@pytest.mark.parametrize(
    ("there", "wanted", "shown"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"b": 2}, {}),
        ([{"name": "a", "v": 1}, {"name": "b", "v": 2}], [{"name": "b", "v": 3}], [{"name": "b", "v": 2}]),
        ([{"name": "a"}], [{"name": "c"}], [{"name": "a"}]),
        ([{"key": "a", "v": 1}, {"key": "b", "v": 1}], [{"key": "b", "v": 2}], [{"key": "b", "v": 1}]),
        ([{"v": 1}, {"key": "b", "v": 1, "w": 2}], [{"v": 1, "w": 2, "x": 3}], [{"v": 1, "w": 2}]),
        (["a", "b"], ["c"], ["a", "b"]),
        (["a", "b"], ["b"], ["b"]),
        ({"limits": {"cpu": "1000m"}}, {"limits": {"cpu": 1}}, {"limits": {"cpu": 1}}),
        ({"limits": {"cpu": "1001m"}}, {"limits": {"cpu": 1}}, {"limits": {"cpu": "1001m"}}),
        ({"limits": {"cpu": 1}}, {"limits": {"cpu": True}}, {"limits": {"cpu": 1}}),
        ({"limits": {"cpu": True}}, {"limits": {"cpu": 1}}, {"limits": {"cpu": True}}),
        ({"limits": {"cpu": "1"}}, {"limits": {"cpu": "much"}}, {"limits": {"cpu": "1"}}),
        ({"limits": {"cpu": ["1"]}}, {"limits": {"cpu": "1"}}, {"limits": {"cpu": ["1"]}}),
        ({"image": "1"}, {"image": "1.0"}, {"image": "1"}),
    ],
)
def test_shows_of_what_is_there_the_part_that_is_meant(there: Any, wanted: Any, shown: Any) -> None:
    assert part_of(there, wanted) == shown


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([], "is empty; name a file or write an object"),
        (["a.yaml", 3], "each is the name of a file, or an object that is written out"),
    ],
)
def test_sources_are_files_and_objects(value: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        TypeAdapter(Sources).validate_python(value)
    for one in ("a.yaml", {"kind": "Pod"}):
        assert TypeAdapter(Sources).validate_python(one) == [one]
