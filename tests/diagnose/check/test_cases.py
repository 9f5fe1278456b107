"""What each rule of `check` finds: ``cases/*.yaml``, where a case says how its cluster differs.

Shape of a case: ``it``: its name. ``rule``: a function of webhook.diagnose.check. ``change``: a
patch for each object, as cluster.py applies it. ``profiles``: specs by their names, and ``multus``:
the settings, in place of what is installed. ``answers``: status and message of requests,
``headers`` of all. ``namespace``, ``configuration``: of the Snapshot. ``finds``: the rows,
``level code subject | words | action``, where ``…`` stands for any.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.diagnose.check.cluster import answer, change, findings, installed
from tests.diagnose.findings import expect
from tests.profiles import as_text
from tests.tables import table
from webhook.diagnose import check
from webhook.world.profiles_read import read_file

CASES: dict[str, dict[str, Any]] = {
    f"{path.stem}: {case['it']}": case
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    for case in yaml.load(path.read_text(), yaml.CSafeLoader)
}

KEYS = {"it", "rule", "change", "profiles", "multus", "answers", "headers", "finds"}
KEYS |= {"namespace", "configuration"}


@table("case", CASES)
def test_finds(case: dict[str, Any]) -> None:
    assert not case.keys() - KEYS, f"a case has no such key: {case.keys() - KEYS}"
    connection = installed()
    change(connection, case.get("change", {}))
    given = None
    if "profiles" in case:
        text = as_text(yaml.safe_dump(case["profiles"]), yaml.safe_dump(case.get("multus", {})))
        given = read_file("f.yaml", text)
    answer(connection, case.get("answers", {}))
    connection.headers |= case.get("headers", {})
    options = {key: case[key] for key in ("namespace", "configuration") if key in case}
    found = findings(connection, case["rule"], given=given, **options)
    expect(found, *case["finds"])
    for each in found:
        assert "fabric-injector check" not in each.action, "check is what says this"


def test_every_rule_has_a_case() -> None:
    known = {rule.__name__ for rule in check.rules()}
    assert known - {case["rule"] for case in CASES.values()} == {"check_certificates"}
