"""The chart's README is that of its values, and its schema takes these and refuses mistakes."""

import json
import re

import jsonschema
import pytest
import yaml

from tests.manifests import chart_readme
from tests.manifests.chart_readme import CHART, examples_of, uncommented
from webhook import __version__

VALUES = (CHART / "values.yaml").read_text()
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_version_is_that_of_the_code() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_the_readme_is_that_of_the_values() -> None:
    assert (CHART / "README.md").read_text() == chart_readme.text(), "run `make reference`"


def test_the_schema_takes_the_values_with_and_without_the_examples() -> None:
    VALIDATOR.validate(yaml.safe_load(VALUES))
    VALIDATOR.validate(yaml.safe_load(uncommented(VALUES)))
    assert len(list(examples_of(VALUES))) >= 6


def test_every_value_has_a_schema() -> None:
    """A key of values.yaml that the schema lacks could not be set."""
    values, component = yaml.safe_load(VALUES), {*SCHEMA["$defs"]["component"]["properties"]}
    assert {*values, "global"} == {*SCHEMA["properties"]}
    assert [{*values[name]} for name in ("webhook", "controller")] == [component, component]


def test_uses_nothing_that_helm_tells_wrongly_or_cannot_read() -> None:
    """Go's regular expressions have no look-around; propertyNames gives a wrong path."""
    text = json.dumps(SCHEMA)
    assert re.findall(r"\(\?[=!<]|propertyNames", text) == []


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
    errors = VALIDATOR.iter_errors(whole)
    assert named in {".".join(map(str, error.absolute_path)) for error in errors}
