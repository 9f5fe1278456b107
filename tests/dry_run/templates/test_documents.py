"""Manifests are read as they are pasted."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from tests.pods import FIXTURES
from webhook.core.errors import InputError
from webhook.dry_run.templates import find_templates, parse_documents

TEMPLATES = {
    "a Helm template": (
        "kind: Pod\n{{- if .Values.x }}\n",
        "(the text holds {{, as templates do: ",
    ),
    "a Helm value": (
        "a:\n  b: {{ .Values.x }}\n",
        "key is needed; write a string (the text holds {{, as templates do: ",
    ),
    "a Jinja template": (
        "a: {% if x %}b{% endif %}\n",
        "next token (the text holds {%, as templates do: ",
    ),
}


@pytest.mark.parametrize(("text", "message"), TEMPLATES.values(), ids=TEMPLATES)
def test_says_what_a_template_needs(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_documents(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("torchx/*.yaml")), ids=lambda path: path.stem)
def test_reads_what_torchx_prints_around_its_manifest(path: Any) -> None:
    manifest = path.read_text()
    paste = (
        "torchx 2026-11-21 12:00:00 INFO     Tracker configurations: {}\n\n"
        "=== APPLICATION ===\n"
        "{ 'metadata': {},\n  'roles': [ { 'args': ['-c', 'torchrun ...']}]}\n\n"
        "=== SCHEDULER REQUEST ===\n"
        f"{manifest}\n"
        "\x1b[34mtorchx\x1b[0m \x1b[90m2026-11-21 12:00:01 INFO    \x1b[0m done\n"
    )
    assert parse_documents(paste) == parse_documents(manifest)
    assert parse_documents(paste.replace("\n", "\r\n")) == parse_documents(manifest)


def test_counts_lines_of_a_paste_from_its_start() -> None:
    paste = "\n=== APPLICATION ===\n{'a': 1}\n\n=== SCHEDULER REQUEST ===\nkind: Job\nmetadata: [\n"
    with pytest.raises(InputError, match=r"^line 8, column 1"):
        parse_documents(paste)


def test_keeps_a_heading_that_is_part_of_a_text() -> None:
    text = textwrap.dedent(
        """\
        kind: ConfigMap
        data: {x: "=== SCHEDULER REQUEST === y"}
        """
    )
    assert parse_documents(text) == [
        {"kind": "ConfigMap", "data": {"x": "=== SCHEDULER REQUEST === y"}}
    ]


@pytest.mark.parametrize(
    "path", sorted(FIXTURES.glob("torchx/printed-*.txt")), ids=lambda path: path.stem
)
def test_reads_what_torchx_really_printed(path: Any) -> None:
    [document] = parse_documents(path.read_text())
    assert document["kind"] in ("Job", "AppWrapper")
    found = find_templates([document])
    assert [
        each.pod["metadata"]["labels"]["torchx.pytorch.org/replica-id"] for each in found.pods
    ] == ["0", "1"]
    assert not any(part.broken for part in found.ignored)
