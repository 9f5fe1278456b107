"""``dry-run --expect``: an administrator's own cases, and ``--require-injection`` with the next step."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result

from tests import ROOT
from tests.cli.dry_run_command import POD, TORCHX, call, offline
from tests.dry_run.runs import OBJECTS
from webhook.cli import main
from webhook.core import names
from webhook.core.profiles.convert import to_objects

PROFILES = """
profiles:
  rdma: {networks: [{network: default/rdma-net, resource: rdma/hca}]}
  typo: {networks: [{network: default/rdma-nett}]}
"""
NETWORK = next(each for each in OBJECTS if each["kind"] == "NetworkAttachmentDefinition")


def space(name: str, **labels: str) -> dict[str, Any]:
    return {"kind": "Namespace", "metadata": {"name": name, "labels": labels}}


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """Give the page's example in a folder with what it names."""
    page = (ROOT / "docs/cases.md").read_text()
    for name, text in re.findall(r'```yaml title="([\w.]+)"\n(.*?)```', page, re.DOTALL):
        (tmp_path / name).write_text(text)
    (tmp_path / "bert.yaml").write_text((ROOT / "manifests/examples/jobs/pytorchjob.yaml").read_text())
    return tmp_path / "cases.yaml"


def changed(cases: Path, change: Any) -> Path:
    document = yaml.safe_load(cases.read_text())
    change(document)
    other = cases.with_name("changed.yaml")
    other.write_text(yaml.safe_dump(document))
    return other


def expect(path: Path, *arguments: str) -> Result:
    return call("--expect", str(path), *arguments)


def test_the_page_s_example_is_as_expected(cases: Path) -> None:
    result = expect(cases)
    assert result.exit_code == 0, result.output
    shown = re.findall(r"```\n\$ [^\n]*\n(.*?)```", (ROOT / "docs/cases.md").read_text(), re.DOTALL)
    assert result.stdout == shown[0]
    schema = json.loads(CliRunner().invoke(main, ["schema", "--cases"]).stdout)
    jsonschema.Draft202012Validator(schema).validate(yaml.safe_load(cases.read_text()))


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"decision": "left-alone"}, "research/bert-master-0: decision: expected left-alone, found injected: "),
        ({"decision": "denied"}, "research/bert-master-0: decision: expected denied, found injected: "),
        ({"reason": "opted-out"}, "research/bert-master-0: reason: expected opted-out, found "),
        ({"message": "no such words"}, "research/bert-master-0: message: expected no such words, found "),
        ({"profile": "typo"}, "research/bert-master-0: profile: expected typo, found rdma"),
        ({"pod": "absent-*"}, "absent-*: pod: expected a pod of this name, found bert-master-0, bert-worker-0"),
        ({"present": {"spec": {"hostNetwork": True}}}, "-  hostNetwork: true"),
        (
            {"present": {"spec": {"containers": [{"name": "pytorch", "resources": {"limits": {"rdma/hca": 2}}}]}}},
            "-        rdma/hca: 2\n",
        ),
        (
            {"present": {"spec": {"containers": [{"name": "pytorch", "resources": {"limits": {"rdma/hca": 2}}}]}}},
            "+        rdma/hca: '1'\n",
        ),
        ({"present": {"spec": {"containers": [{"name": "absent"}]}}}, "-  - name: absent\n"),
        ({"present": {"spec": {"containers": {"name": "pytorch"}}}}, "research/bert-master-0: present:"),
        ({"present": {"metadata": {"labels": {"absent": None}}}}, "-    absent: null"),
        ({"absent": [{"metadata": {"labels": {names.JOB: None}}}]}, f"+    {names.JOB}: bert"),
    ],
)
def test_says_what_differs(cases: Path, wanted: dict[str, Any], told: str) -> None:
    def change(document: Any) -> None:
        document["cases"][0]["expect"] = [{"pod": "bert-master-0", **wanted}]

    path = changed(cases, change)
    result = expect(path)
    assert (result.exit_code, told in re.sub(r"^ {8}", "", result.stdout, flags=re.MULTILINE)) == (1, True), (
        result.stdout
    )
    assert result.stdout.startswith("fail  a PyTorchJob of research gets the fabric\n")
    assert result.stdout.endswith("2 as expected, 1 not\n")
    document = json.loads(expect(path, "-o", "json").stdout)
    assert document["summary"] == {"asExpected": 2, "different": 1}
    [difference] = document["cases"][0]["differences"]
    assert difference["field"] == next(reversed({"pod": "", **wanted}))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "expected one document with cases:, found 0"),
        ("cases: []", "line 1: cases: list should have at least 1 item"),
        ("- a", "line 1: document: expected an object"),
        ("cases: [{name: a, expect: [{}]}]", "line 1: cases[0].manifest: is missing; write it"),
        ("cases:\n- {name: a, manifest: 3, expect: [{}]}", "line 2: cases[0].manifest: expected a list"),
        ("cases:\n- name: a\n  manifest: [3]\n  expect: [{}]", "each is the name of a file, or an object"),
        (
            "cases:\n- name: a\n  manifest: x.yaml\n  expect: [{pods: a}]",
            "line 4: cases[0].expect[0].pods: is not a field",
        ),
        ("cases:\n- name: a\n  name: b", "line 3"),
        ("cases: *a", "line 1, column 8: cases: the alias *a has no anchor"),
        ("cases:\n- {name: a, manifest: gone.yaml, expect: [{}]}", "case 'a': "),
        ('cases:\n- {name: a, manifest: "a\\0b", expect: [{}]}', "is no path of a file"),
        (
            "cases:\n- {name: a, manifest: {kind: Pod}, objects: {metadata: {}}, expect: [{}]}",
            "expected an object with a kind",
        ),
        ("cases:\n- {name: a, manifest: bert.yaml, profiles: gone.yaml, expect: [{}]}", "gone.yaml: cannot be read"),
        ("cases:\n- {name: a, manifest: bert.yaml, expect: [{}]}", "there are no profiles; write profiles: FILE"),
        (
            "cases:\n- {name: a, manifest: {kind: Job, apiVersion: batch/v1, spec: 3}, profiles: profiles.yaml, expect: [{}]}",
            "manifest: ",
        ),
    ],
)
def test_refuses_a_file_that_cannot_be_used(cases: Path, content: str, told: str) -> None:
    path = cases.with_name("wrong.yaml")
    path.write_text(content)
    result = expect(path)
    assert (result.exit_code, told in result.stderr, "Traceback" in result.output) == (2, True, False), result.output
    assert str(path) in result.stderr


def test_takes_other_profiles_for_all_cases(cases: Path) -> None:
    other = cases.with_name("other.yaml")
    other.write_text(PROFILES.replace("rdma/hca", "rdma/other"))
    result = expect(cases, "--profiles", str(other))
    assert result.exit_code == 1
    assert "-        rdma/hca: 1" in result.stdout


def test_takes_profiles_among_the_objects(cases: Path) -> None:
    objects = cases.with_name("more.yaml")
    objects.write_text(yaml.safe_dump_all(to_objects(PROFILES)))
    path = changed(cases, lambda document: document.pop("profiles"))
    assert expect(path, "--objects", str(objects)).exit_code == 0


def test_compares_lists_in_any_order_and_quantities_by_amount(cases: Path) -> None:
    def change(document: Any) -> None:
        limits = {"rdma/hca": "1000m"}
        env = [{"name": "GLOO_SOCKET_IFNAME", "value": "net1"}, {"name": "NCCL_SOCKET_IFNAME", "value": "=net1"}]
        part = {"name": "pytorch", "resources": {"limits": limits}, "env": env}
        document["cases"][0]["expect"] = [{"present": {"spec": {"containers": [part]}}}]

    result = expect(changed(cases, change))
    assert "1000m" not in result.stdout
    assert "GLOO" not in result.stdout


@pytest.mark.parametrize(
    "more", [("-f", TORCHX), ("--server",), ("-o", "pod"), ("-n", "research"), ("--require-injection",)]
)
def test_expect_stands_alone(cases: Path, more: tuple[str, ...]) -> None:
    result = expect(cases, *more)
    assert (result.exit_code, "--expect names manifests" in result.stderr) == (2, True)


def test_says_the_next_step_where_nothing_is_injected(folder: Path) -> None:
    (folder / "objects.yaml").write_text(yaml.safe_dump_all([space("research"), NETWORK]))
    result = offline(folder, "-f", TORCHX, "--namespace", "research")
    assert result.exit_code == 0
    assert result.stderr == "next: kubectl label namespace research fabric-injector.io/profile=rdma-shared\n"
    assert offline(folder, "-f", TORCHX, "--namespace", "research", "--require-injection").exit_code == 1
    (folder / "profiles.yaml").write_text(PROFILES)
    told = offline(folder, "-f", TORCHX, "--namespace", "research").stderr
    assert told.endswith("fabric-injector.io/profile=PROFILE; PROFILE is one of: rdma, typo\n")


def test_says_the_next_step_where_a_namespace_only_observes(folder: Path) -> None:
    labels = {names.PROFILE: "rdma-shared", names.MODE: "observe"}
    (folder / "objects.yaml").write_text(yaml.safe_dump_all([space("research", **labels), NETWORK]))
    result = offline(folder, "-f", TORCHX, "--namespace", "research", "--require-injection")
    assert (result.exit_code, result.stderr) == (1, "next: kubectl label namespace research fabric-injector.io/mode-\n")


def test_requires_an_injection(folder: Path) -> None:
    result = offline(folder, "-f", TORCHX, "--namespace", "research", "--require-injection")
    assert (result.exit_code, result.stderr) == (0, "")
    (folder / "single.yaml").write_text(yaml.safe_dump(POD))
    result = offline(folder, "-f", str(folder / "single.yaml"), "--namespace", "research", "--require-injection")
    assert (result.exit_code, result.stderr) == (1, ""), "it needs no fabric, and no label would change that"
