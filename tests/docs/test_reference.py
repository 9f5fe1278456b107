"""The pages that are made of the code leave nothing out."""

from __future__ import annotations

import re

from tests import ROOT
from tests.docs import compatibility, reference
from webhook.core import names
from webhook.diagnose.manual import all_codes


def test_every_code_has_a_heading() -> None:
    headings = re.findall(r"^### (.+)$", reference.findings(), re.MULTILINE)
    assert set(headings) == {*all_codes()}


def test_the_codes_of_answers_by_symptom_exist() -> None:
    spans = re.findall(r"`([a-z]+(?:-[a-z]+)+)`", (ROOT / "docs/faq.md").read_text())
    assert len(spans) > 20
    assert {*spans} - {"dry-run", "fabric-injector-wait"} <= {*all_codes()}


def test_every_field_of_the_definition_is_listed() -> None:
    text = reference.fields()
    for row in (
        "| `spec.networks[].network` | string | [namespace/]name[@interface] of a",
        "| `spec.container.env[].value` | string | Its value.",
        "| `spec.claims[].requests[].deviceClassName` | string |",
    ):
        assert f"\n{row}" in text


def test_every_label_and_annotation_of_ours_is_listed() -> None:
    ours = {
        value
        for value in vars(names).values()
        if isinstance(value, str) and value.startswith(names.PREFIX)
    }
    text = reference.labels()
    assert {each for each in ours - {names.PREFIX} if f"| `{each}` |" not in text} == set()


def test_every_command_is_listed_with_its_options() -> None:
    text = reference.flags()
    assert "\n## certs rotate\n" not in text, "a command of a command stands below it"
    for shown in ("\n## dry-run\n", "\n### certs rotate\n", "`-f, --file FILE`"):
        assert shown in text


def test_the_last_words_of_the_wait_step_are_those_of_the_code() -> None:
    table = (ROOT / "docs/faq.md").read_text().partition("| its last words |")[2]
    words = [
        each
        for row in re.findall(r"^\| (`.+?) \|", table.partition("\n\n")[0], re.MULTILINE)
        for each in re.findall(r"`(.+?)`", row)
    ]
    sources = [ROOT / "webhook/core/injection/wait.sh", *ROOT.glob("webhook/core/reconcile/*.py")]
    code = "".join(path.read_text() for path in sources)
    assert words
    assert [each for each in words if each not in code] == []


def test_every_event_is_explained() -> None:
    """Each Event that the code can write, and no other, has a row, and is allowed by the policy."""
    code = "".join(path.read_text() for path in (ROOT / "webhook/core/reconcile").glob("*.py"))
    constants = dict(re.findall(r"^(_?[A-Z_]+)(?:: Final)? = \"(\w+)\"$", code, re.MULTILINE))
    first = re.findall(r"\bComplaint\(\s*(?:reason=)?\"?(\w+)\"?,", code)
    written = {constants.get(each, each) for each in first}
    page = (ROOT / "docs/operate.md").read_text()
    assert written == set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    policy = (ROOT / "manifests/base/admission-policy.yaml").read_text()
    allowed = re.search(r"reason.orValue\(\"\"\) in \[([^]]+)", policy)
    assert allowed is not None
    assert written == set(re.findall(r"\w+", allowed[1]))


def test_the_matrix_has_the_versions_that_are_pinned() -> None:
    multus = compatibility.pinned("multus", "gopkg.in/k8snetworkplumbingwg/multus-cni.v4")
    assert f"| Multus | {multus} |" in compatibility.compatibility()
    assert set(compatibility.torch_versions()) >= {"2.0.1", "2.4.1", "2.5.1", "2.15.0"}
