"""What is read of an input: text as it is pasted, lists taken apart, up to a size."""

from pathlib import Path
from typing import Any

import pytest

from tests.dry_run.templates.cases import find, names
from tests.dry_run.templates.test_kinds import IGNORED, SHOWN
from tests.pods import FIXTURES
from webhook.core.errors import InputError
from webhook.dry_run.templates import find_templates, parse_documents

POD, WEB = SHOWN["Pod"][0], SHOWN["Deployment"][0]
LISTS: dict[str, Any] = {
    "List": {"apiVersion": "v1", "kind": "List", "items": [POD, WEB]},
    "List in a List": {"kind": "List", "items": [{"kind": "List", "items": [POD]}, WEB]},
    "JSON list": [POD, WEB],
}


@pytest.mark.parametrize("manifest", LISTS.values(), ids=LISTS)
def test_takes_lists_apart(manifest: Any) -> None:
    assert names(find(manifest)) == ["p", "web-*"]


def test_knows_the_kind_of_items_that_do_not_say_it() -> None:
    item = {"metadata": {"name": "p", "namespace": "ml"}, "spec": POD["spec"]}
    found = find({"apiVersion": "v1", "kind": "PodList", "items": [item]})
    assert [(each.source, each.namespace) for each in found.pods] == [("Pod/p", "ml")]


def test_looks_for_no_more_pods_than_asked() -> None:
    assert names(find(WEB, POD, POD, most_pods=2)) == ["web-*", "p"]


def test_goes_on_behind_a_broken_object() -> None:
    found = find(IGNORED["no template"]["manifest"], POD)
    assert names(found) == ["p"]
    assert len(found.ignored) == 1


@pytest.mark.parametrize(
    ("own", "given", "expected"),
    [({}, None, "default"), ({}, "research", "research"), ({"namespace": "ml"}, "research", "ml")],
    ids=["default", "given", "own"],
)
def test_places_a_pod_in_a_namespace(own: Any, given: str | None, expected: str) -> None:
    [found] = find({**WEB, "metadata": {"name": "web", **own}}, namespace=given).pods
    assert (found.namespace, found.pod["metadata"]["namespace"]) == (expected, expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Pod\n{{- if .Values.x }}\n", "(the text holds {{, as templates do: "),
        (
            "a:\n  b: {{ .Values.x }}\n",
            "key is needed; write a string (the text holds {{, as templates do: ",
        ),
        (
            "a: {% if x %}b{% endif %}\n",
            "next token (the text holds {%, as templates do: ",
        ),
    ],
    ids=["a Helm template", "a Helm value", "a Jinja template"],
)
def test_says_what_a_template_needs(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_documents(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("torchx/*.yaml")), ids=lambda path: path.stem)
def test_reads_what_torchx_prints_around_its_manifest(path: Path) -> None:
    manifest = path.read_text()
    paste = (
        "torchx 2026-11-21 12:00:00 INFO     Tracker configurations: {}\n\n"
        "=== APPLICATION ===\n"
        "{ 'metadata': {},\n  'roles': [ { 'args': ['-c', 'torchrun ...']}]}\n\n"
        "=== SCHEDULER REQUEST ===\n"
        f"{manifest}\n"
        "\x1b[34mtorchx\x1b[0m \x1b[90m2026-11-21 12:00:01 INFO    \x1b[0m done\n"
    )
    expected = [each.value for each in parse_documents(manifest)]
    for text in (paste, paste.replace("\n", "\r\n")):
        assert [each.value for each in parse_documents(text)] == expected


def test_counts_lines_of_a_paste_from_its_start() -> None:
    paste = "\n=== APPLICATION ===\n{'a': 1}\n\n=== SCHEDULER REQUEST ===\nkind: Job\nmetadata: [\n"
    with pytest.raises(InputError, match=r"^line 8, column 1"):
        parse_documents(paste)


def test_keeps_a_heading_that_is_part_of_a_text() -> None:
    heading = "=== SCHEDULER REQUEST === y"
    text = f'kind: ConfigMap\ndata: {{x: "{heading}"}}\n'
    assert parse_documents(text)[0].value == {"kind": "ConfigMap", "data": {"x": heading}}


@pytest.mark.parametrize(
    "path", sorted(FIXTURES.glob("torchx/printed-*.txt")), ids=lambda path: path.stem
)
def test_reads_what_torchx_really_printed(path: Path) -> None:
    [document] = parse_documents(path.read_text())
    assert document.value["kind"] in ("Job", "AppWrapper")
    found = find_templates([document])
    labels = [each.pod["metadata"]["labels"] for each in found.pods]
    assert [each["torchx.pytorch.org/replica-id"] for each in labels] == ["0", "1"]
    assert not any(part.broken for part in found.ignored)
