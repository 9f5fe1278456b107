"""Rules and dashboard ask only for what Prometheus, our code or the API server has."""

import json
import re
from collections.abc import Iterator
from typing import Any

import promql_parser as promql
import pytest
import yaml

from tests import ROOT
from webhook.control.metrics import ControllerMetrics
from webhook.http.refusal import INTERNAL, NO_MEMORY, OVERLOADED
from webhook.serve.metrics import WebhookMetrics

COMPONENTS = ROOT / "manifests" / "components"
RULES = yaml.safe_load((COMPONENTS / "prometheus-rules" / "prometheus-rule.yaml").read_text())
ALERTS = {rule["alert"]: rule for group in RULES["spec"]["groups"] for rule in group["rules"]}
DASHBOARD = json.loads((COMPONENTS / "grafana-dashboard" / "fabric-injector.json").read_text())

CALL = {"name", "type", "operation"}
FOREIGN = {  # k8s.io/apiserver, pkg/admission/metrics/metrics.go; and Prometheus' own
    "apiserver_admission_webhook_admission_duration_seconds_bucket": CALL | {"rejected", "le"},
    "apiserver_admission_webhook_fail_open_count": {"name", "type"},
    "apiserver_admission_webhook_rejection_count": CALL | {"error_type", "rejection_code"},
    "apiserver_admission_match_condition_evaluation_errors_total": CALL | {"kind"},
    "up": set(),
}
TARGET = {"job", "component", "pod", "namespace", "instance"}
"""Labels that the ServiceMonitor puts on every series of ours."""


def exported() -> dict[str, set[str]]:
    """Name every series that the two programs export, with the labels of each."""
    found: dict[str, set[str]] = {}
    for each in (*WebhookMetrics().registered, *ControllerMetrics().registered):
        for suffix in ("_bucket", "_sum", "_count") if each.kind == "histogram" else ("",):
            extra = {"le"} if suffix == "_bucket" else set()
            found[each.name + suffix] = {*each.labels, *extra} | TARGET
    return found


KNOWN = exported() | {name: labels | TARGET for name, labels in FOREIGN.items()}


def expressions() -> Iterator[tuple[str, str]]:
    """Give each expression with where it stands."""
    for name, rule in ALERTS.items():
        yield name, rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield (
                f"{panel['title']} {target['refId']}",
                target["expr"].replace("$__rate_interval", "1m"),
            )


EXPRESSIONS = dict(expressions())


def selectors(node: Any) -> Iterator[promql.VectorSelector]:
    """Walk an expression."""
    match node:
        case promql.VectorSelector():
            yield node
        case promql.MatrixSelector():
            yield node.vector_selector
        case promql.BinaryExpr():
            yield from (*selectors(node.lhs), *selectors(node.rhs))
        case promql.Call():
            yield from (each for argument in node.args for each in selectors(argument))
        case promql.AggregateExpr() | promql.ParenExpr() | promql.UnaryExpr():
            yield from selectors(node.expr)


@pytest.mark.parametrize("where", EXPRESSIONS)
def test_asks_for_series_that_exist(where: str) -> None:
    used = list(selectors(promql.parse(EXPRESSIONS[where])))
    assert used
    for selector in used:
        assert selector.name in KNOWN, selector.name
        assert {each.name for each in selector.matchers.matchers} <= KNOWN[selector.name]


def test_every_metric_of_ours_is_on_the_dashboard() -> None:
    """But the parts of a histogram that nobody looks at."""
    shown = {
        selector.name
        for where, expression in EXPRESSIONS.items()
        if where not in ALERTS
        for selector in selectors(promql.parse(expression))
    }
    ours = {name for name in exported() if name.startswith("fabric_injector_")}
    assert {name for name in ours - shown if not name.endswith(("_sum", "_count"))} == set()


def test_label_values_are_those_of_the_code() -> None:
    values = {
        (each.name, each.value)
        for rule in ALERTS.values()
        for selector in selectors(promql.parse(rule["expr"]))
        for each in selector.matchers.matchers
    }
    assert ("reason", f"{OVERLOADED.reason}|{NO_MEMORY.reason}") in values
    assert {("decision", OVERLOADED.decision), ("decision", INTERNAL.decision)} <= values


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_it_means_and_what_to_do(name: str) -> None:
    rule = ALERTS[name]
    assert name.startswith("FabricInjector")
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert set(rule["annotations"]) == {"summary", "description", "runbook", "runbook_url"}
    assert all(rule["annotations"].values())
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    headings = re.split(r"^#{2,3} (.+)$", (ROOT / page).read_text(), flags=re.MULTILINE)
    sections = {
        title.lower().replace(" ", "-"): text
        for title, text in zip(headings[1::2], headings[2::2], strict=True)
    }
    assert name in sections[anchor]


def test_the_dashboard_is_one_that_grafana_can_take() -> None:
    """Ids are unique, panels lie beside each other, and each has its data source."""
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (at["x"] + dx, at["y"] + dy)
        for at in (panel["gridPos"] for panel in panels)
        for dx in range(at["w"])
        for dy in range(at["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) == 23
    sources = {panel["datasource"]["uid"] for panel in panels if panel["type"] != "row"}
    assert sources == {"${datasource}"}


def test_the_manual_names_alerts_and_components_that_exist() -> None:
    manual = "".join(
        (ROOT / "docs" / page).read_text() for page in ("install.md", "operate.md", "security.md")
    )
    named = set(re.findall(r"\bFabricInjector\w+", manual))
    assert named <= set(ALERTS)
    assert named
    for component in COMPONENTS.iterdir():
        assert f"`{component.name}`" in manual
