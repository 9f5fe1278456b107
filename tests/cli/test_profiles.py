"""The command ``profiles validate``: what it reads, prints and ends with."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from webhook.cli import main

HEAD = "apiVersion: fabric-injector.io/v1alpha1\nkind: FabricProfile\nmetadata: {name: a}\n"


def validate(*arguments: object, given: str = "") -> Result:
    return CliRunner().invoke(main, ["profiles", "validate", *map(str, arguments)], input=given)


def test_prints_all_faults_of_all_files(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "a.yaml").write_text(f"{HEAD}spec: {{netwroks: []}}")
    (inner / "b.yaml").write_text(f"{HEAD}spec: {{sharedMemory: {{sizeLimit: x}}}}")
    done = validate("-R", "-f", tmp_path, "-f", "-", given=f"{HEAD}spec: {{ipcLock: 1}}")
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        f"{tmp_path}/a.yaml:4: spec.netwroks: is not a field; did you mean networks?",
        f"{inner}/b.yaml:4: spec.sharedMemory.sizeLimit: write a size such as 16Gi, or none",
        "standard input:4: spec.ipcLock: found a number; write true or false, without quotes",
    ]
    assert done.stderr == "3 profiles, 3 faults\n"
    document = json.loads(validate("-R", "-f", tmp_path, "-o", "json").stdout)
    assert (document["profiles"], len(document["faults"])) == (2, 2)
    assert document["faults"][0] == {
        "file": f"{tmp_path}/a.yaml",
        "line": 4,
        "field": "spec.netwroks",
        "message": "is not a field; did you mean networks?",
    }


def test_ends_with_0_without_a_fault() -> None:
    service = "---\napiVersion: v1\nkind: Service\n"
    done = validate("-f", "-", given=f"{HEAD}spec: {{}}\n{service}")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "1 profile, 0 faults; 1 other object left out\n"
    done = validate("-f", "-", given=service)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "standard input: expected FabricProfiles, found none" in done.stderr


def test_needs_a_file_that_is_there(tmp_path: Path) -> None:
    assert validate().exit_code == 2
    assert "Missing option '-f'" in validate().stderr
    assert validate("-f", tmp_path / "none.yaml").exit_code == 2


def test_names_the_extra_where_its_libraries_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cel", None)
    for name in [each for each in sys.modules if each.startswith("webhook.validate.")]:
        monkeypatch.delitem(sys.modules, name)
    done = validate("-f", "-", given="")
    assert done.exit_code == 2
    assert "pipx install --force '.[validate]'" in done.stderr
