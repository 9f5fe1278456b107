"""The definition has the fields that the program reads, and each rule works without a server."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.profiles import CLOSED_LIST
from tests.validate.rows import BROKEN, COMPLETE, Broken
from webhook.core.profiles.profile import ProfileSpec
from webhook.validate import rules
from webhook.validate.definition import definition, object_schema
from webhook.validate.schema import find_misspelt
from webhook.validate.text import find_faults, path_of

SPEC = object_schema()["properties"]["spec"]
PRESERVED = "x-kubernetes-preserve-unknown-fields"


def rules_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from schema.get(rules.RULES, ())
    for below in (
        *schema.get("properties", {}).values(),
        schema.get("items"),
        schema.get("additionalProperties"),
    ):
        if below:
            yield from rules_of(below)


def closed(schema: dict[str, Any], known: Any) -> Any:
    """Return the fields of a schema by name, as deep as *known* has fields."""
    if known is None:
        return None
    assert PRESERVED not in schema
    return {name: closed(field, known.get(name)) for name, field in schema["properties"].items()}


def test_finds_slips_in_the_parts_of_a_pod() -> None:
    sidecar = {"name": "a", "image": "b", "restartpolicy": "Always", "volumeMount": [], "later": 1}
    env = [{"name": "A", "valuefrom": {"name": "b"}}]
    spec = {"container": {"env": env}, "pod": {"spec": {"initContainers": [sidecar]}}}
    found = {path_of(each): str(each) for each in find_misspelt({"spec": spec})}
    meant = {
        "spec.container.env[0].valuefrom": "valueFrom",
        "spec.pod.spec.initContainers[0].restartpolicy": "restartPolicy",
        "spec.pod.spec.initContainers[0].volumeMount": "volumeMounts",
    }
    assert found == {at: f"is not a field; did you mean {one}?" for at, one in meant.items()}
    assert [*find_misspelt(COMPLETE)] == []


def test_takes_the_fields_of_a_pod_that_the_program_merges() -> None:
    parts = {name: SPEC["properties"][name] for name in CLOSED_LIST}
    assert closed({"properties": parts}, CLOSED_LIST) == CLOSED_LIST


def test_has_the_own_fields_that_the_program_reads() -> None:
    assert set(SPEC["properties"]) == set(ProfileSpec.__struct_encode_fields__)


def test_preserves_what_it_does_not_know_only_below_the_fields_of_a_pod() -> None:
    def preserved(schema: dict[str, Any], path: str) -> Iterator[str]:
        if PRESERVED in schema:
            yield path
        for name, field in schema.get("properties", {}).items():
            yield from preserved(field, f"{path}.{name}")
        if "items" in schema:
            yield from preserved(schema["items"], path)

    paths = [*preserved(SPEC, "spec")]
    below = ("spec.container.", "spec.pod.spec.", "spec.claims.config.parameters")
    assert [path for path in paths if not path.startswith(below)] == []
    assert "spec.container.env" in paths


def test_describes_each_field_and_says_the_default_of_each_choice() -> None:
    def silent(schema: dict[str, Any], path: str) -> Iterator[str]:
        for name, field in schema.get("properties", {}).items():
            text = field.get("description", "").lower()
            is_choice = "enum" in field or field.get("type") == "boolean"
            needs_default = is_choice and name not in schema.get("required", ())
            if not text or (needs_default and "default" not in text):
                yield f"{path}.{name}"
            yield from silent(field, f"{path}.{name}")
        if "items" in schema:
            yield from silent(schema["items"], path)

    assert {*silent(SPEC, "spec")} == {"spec.pod.spec.imagePullSecrets.name"}


def test_evaluates_every_rule_on_a_profile_that_has_every_field(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reached = set()
    holds = rules._holds

    def record(rule: str, value: Any) -> bool:
        reached.add(rule)
        return holds(rule, value)

    monkeypatch.setattr(rules, "_holds", record)
    assert [*find_faults(COMPLETE)] == []
    assert {rule["rule"] for rule in rules_of(object_schema())} - reached == set()


@pytest.mark.parametrize("row", BROKEN, ids=[row.title for row in BROKEN])
def test_finds_all_faults_of_a_profile(row: Broken) -> None:
    assert {(path_of(fault), str(fault)) for fault in find_faults(row.value)} == row.says


def test_a_row_breaks_each_rule() -> None:
    said = {message for row in BROKEN for _, message in row.says}
    assert {rule["message"] for rule in rules_of(object_schema())} - said == set()


def test_a_rule_that_cannot_be_evaluated_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "FUNCTIONS", {})
    rules._compiled.cache_clear()
    found = [str(fault) for fault in find_faults(COMPLETE)]
    assert len(found) == 1
    assert "cannot be evaluated here, please report it" in found[0]


def test_names_the_conditions_in_its_columns() -> None:
    columns = definition()["spec"]["versions"][0]["additionalPrinterColumns"]
    named = " ".join(column["name"] for column in columns)
    assert named == "Networks Namespaces Ready Reason Message Age"
