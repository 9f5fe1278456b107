"""What the page is given of a dry run."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.dry_run.runs import run
from webhook.dry_run import render_page
from webhook.dry_run.page import path_above

NESTED = (
    *("metadata:", "  labels:", "    a: b"),
    *("spec:", "  containers:", "  - name: x", "    env:", "    - name: A"),
    *("      valueFrom:", "        fieldRef:", "          path: q"),
    *("    image: i", "  - command:", "    - a", "    name: y"),
)


def page(*arguments: Any, **keywords: Any) -> Any:
    return json.loads(render_page(run(*arguments, **keywords)))


def test_gives_the_same_as_the_document_and_texts_to_show() -> None:
    shown, told = page()["pods"][0], run().as_json()["pods"][0]
    same = set(shown) & set(told) - {"decisions"}
    assert {key: shown[key] for key in same} == {key: told[key] for key in same}
    assert yaml.safe_load(shown["yaml"]) == told["pod"]
    assert shown["diff"].startswith("--- research/")
    assert [each["step"] for each in shown["decisions"]] == [each["step"] for each in told["decisions"]]


def test_names_the_tab_that_shows_a_folded_script() -> None:
    assert "lines of shell: tab YAML shows them" in page()["pods"][0]["diff"]


def test_names_the_fields_above_each_hunk() -> None:
    hunks = [line for line in page()["pods"][0]["diff"].split("\n") if line.startswith("@@")]
    assert [hunk.split(" @@ ")[1] for hunk in hunks[:3]] == [
        "metadata.labels",
        "metadata.annotations",
        "spec.containers.command",
    ]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("metadata:", []),
        ("    a: b", ["metadata", "labels"]),
        ("  - name: x", ["spec", "containers"]),
        ("    env:", ["spec", "containers"]),
        ("    - name: A", ["spec", "containers", "env"]),
        ("          path: q", ["spec", "containers", "env", "valueFrom", "fieldRef"]),
        ("    image: i", ["spec", "containers"]),
        ("    - a", ["spec", "containers", "command"]),
        ("    name: y", ["spec", "containers"]),
    ],
)
def test_finds_the_keys_that_hold_a_line(line: str, path: list[str]) -> None:
    assert path_above(list(NESTED), NESTED.index(line)) == path


def test_holds_no_character_that_does_not_show() -> None:
    name = "a\u202eb\x07"
    text = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": []}})
    assert not {"\u202e", "\x07"} & set(render_page(run(text)))


def test_tells_of_a_pod_that_is_left_no_diff_and_no_patch() -> None:
    text = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}"
    [shown] = page(text)["pods"]
    assert (shown["diff"], shown["patch"], shown["allowed"]) == ("", [], True)
