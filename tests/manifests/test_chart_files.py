"""What `make reference` writes for the chart is up to date, and Helm can read the schema."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml

from tests.manifests import chart_readme, values_schema
from tests.manifests.chart_readme import CHART, examples_of, uncommented
from webhook import __version__

VALUES = (CHART / "values.yaml").read_text()


def test_the_schema_is_that_of_the_code() -> None:
    assert (CHART / "values.schema.json").read_text() == values_schema.text(), (
        "run `make reference`"
    )


def test_the_version_is_that_of_the_code() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_the_readme_is_that_of_the_values() -> None:
    assert (CHART / "README.md").read_text() == chart_readme.text(), "run `make reference`"


def test_the_schema_takes_the_values_with_and_without_the_examples() -> None:
    validator = jsonschema.Draft202012Validator(values_schema.values_schema())
    validator.validate(yaml.safe_load(VALUES))
    validator.validate(yaml.safe_load(uncommented(VALUES)))
    assert len(list(examples_of(VALUES))) >= 6


def test_every_value_has_a_schema() -> None:
    """A key of values.yaml that the schema lacks could not be set."""
    schema = values_schema.values_schema()
    assert set(yaml.safe_load(VALUES)) | {"global"} == set(schema["properties"])
    for component in ("webhook", "controller"):
        assert set(yaml.safe_load(VALUES)[component]) == set(
            schema["$defs"]["component"]["properties"]
        )


def test_uses_nothing_that_helm_tells_wrongly_or_cannot_read() -> None:
    """Go's regular expressions have no look-around; propertyNames gives a wrong path."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert [each for each in patterns(schema) if re.search(r"\(\?[=!<]", each)] == []
    assert "propertyNames" not in json.dumps(schema)


def patterns(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        for value in node.values():
            yield from patterns(value)
    elif isinstance(node, list):
        for value in node:
            yield from patterns(value)


@pytest.mark.parametrize(
    ("text", "example"),
    [
        ("a:\n#  b: 1\nc: 2\n", "a:\n  b: 1\n"),
        ("a:\n  b: 1\n  c: # told\n#    - d\n", "a:\n  c:\n    - d\n"),
        ("## a: told\n#b: 1\n", "b: 1\n"),
    ],
)
def test_examples_stand_below_their_keys(text: str, example: str) -> None:
    assert list(examples_of(text)) == [example]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ("webhook: {replicas: 0}", "webhook.replicas"),
        ("failurePolicy: Perhaps", "failurePolicy"),
        ("image: {pullPolicy: never}", "image.pullPolicy"),
        ("image: {digest: 'sha256:0'}", "image.digest"),
        ("profiles: {shared: x}", "profiles.shared"),
        ("profiles: {none: {ipcLock: true}}", "profiles"),
        ("multus: {defaultNetworks: -1}", "multus.defaultNetworks"),
        ("metricsNamespaces: []", "metricsNamespaces"),
        ("webhook: {affinity: {nodeAfinity: {x: 1}}}", "webhook.affinity"),
        ("certManager: please", "certManager"),
        ("apiServers: [{ipBlock: {cidr: 192.0.2.10}}]", "apiServers.0.ipBlock.cidr"),
    ],
)
def test_refuses_values_that_mean_nothing(values: str, named: str) -> None:
    whole = yaml.safe_load(VALUES) | yaml.safe_load(values)
    errors = jsonschema.Draft202012Validator(values_schema.values_schema()).iter_errors(whole)
    assert named in {".".join(map(str, error.absolute_path)) for error in errors}
