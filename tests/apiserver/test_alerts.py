"""The alerts, judged by Prometheus' own promtool: each fires by series that call for it, and is silent by others that look alike.

The cases are in manifests/alerts.yaml. They lie in this tier for the Go that promtool is built with.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import ROOT
from tests.cluster.fixtures import program

RULES = yaml.safe_load(
    (ROOT / "manifests/components/prometheus-rules/prometheus-rule.yaml").read_text()
)["spec"]
ALERTS = {rule["alert"]: rule for group in RULES["groups"] for rule in group["rules"]}
CASES = yaml.safe_load((Path(__file__).parent / "manifests/alerts.yaml").read_text())


@pytest.fixture(scope="module")
def promtool() -> Path:
    """Give the program's path."""
    return program("promtool")


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the rules as Prometheus reads them."""
    path = tmp_path_factory.mktemp("alerts") / "rules.yaml"
    path.write_text(yaml.safe_dump(RULES))
    return path


def test_each_alert_has_a_case() -> None:
    assert [case["alert"] for case in CASES] == list(ALERTS)


def test_the_rules_are_sound(promtool: Path, rules: Path) -> None:
    done = subprocess.run(
        [promtool, "check", "rules", "--lint=all", "--lint-fatal", rules],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{len(ALERTS)} rules found" in done.stdout


def test_alerts_fire_where_they_shall_and_nowhere_else(promtool: Path, rules: Path) -> None:
    """Promtool names each alert that does otherwise."""
    tests = [judged(case, outcome) for case in CASES for outcome in ("fires", "silent")]
    path = rules.with_name("test.yaml")
    whole = {"rule_files": [rules.name], "evaluation_interval": "1m", "tests": tests}
    path.write_text(json.dumps(whole))
    done = subprocess.run([promtool, "test", "rules", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def judged(case: dict[str, Any], outcome: str) -> dict[str, Any]:
    """Write a case as promtool reads it."""
    rule, wanted = ALERTS[case["alert"]], case[outcome]
    labels = wanted.get("labels", {})
    annotations = {name: with_labels(text, labels) for name, text in rule["annotations"].items()}
    told = annotations | wanted.get("told", {})
    fired = {"exp_labels": labels | rule["labels"], "exp_annotations": told}
    series = [{"series": name, "values": str(each)} for name, each in wanted["series"].items()]
    at = {"eval_time": wanted.get("at", "10m"), "alertname": case["alert"]}
    return {
        "interval": "1m",
        "input_series": series,
        "alert_rule_test": [{**at, "exp_alerts": [fired] if outcome == "fires" else []}],
    }


def with_labels(text: str, labels: dict[str, str]) -> str:
    """Write the labels into an annotation; what it says of its value stands in the case."""
    return re.sub(r"{{ \$labels\.(\w+) }}", lambda found: labels.get(found[1], ""), text)
