"""The networks annotation, read as Multus reads it and extended in its own form."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests import ROOT
from tests.tables import read
from webhook.core.networks.annotation import NetworkElement, NetworksAnnotation, parse_networks

CASES = json.loads((ROOT / "tests/cases" / "networks_annotation.json").read_text())
ACCEPTED = [case for case in CASES if "elements" in case]
REFUSED = [case for case in CASES if "refused" in case]


def text(value: Any) -> str:
    """Join a case's pieces; ``["[", 2000]`` is a repetition."""
    return (
        value
        if isinstance(value, str)
        else "".join(one if isinstance(one, str) else one[0] * one[1] for one in value)
    )


def triples(annotation: NetworksAnnotation) -> list[tuple[str, str, str | None]]:
    return [(element.namespace, element.name, element.interface) for element in annotation.elements]


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case["it"])
def test_accepts_what_multus_accepts(case: Any) -> None:
    found = parse_networks(text(case["value"]), "podns")
    assert triples(found) == [
        (text(space), text(name), interface) for space, name, interface in case["elements"]
    ]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["it"])
def test_refuses_what_multus_refuses(case: Any) -> None:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011  # the whole message is compared
        parse_networks(text(case["value"]), "podns")
    assert str(refusal.value) == case["refused"]


def test_takes_no_text_as_no_networks() -> None:
    assert parse_networks("", "podns") == NetworksAnnotation()


@pytest.mark.parametrize(
    ("value", "added", "result"), read(__file__, "annotation.yaml")["appended"]
)
def test_appends_in_the_form_that_is_there(value: str, added: list[str], result: str) -> None:
    parts = [re.fullmatch(r"(.+)/([^@]+)(?:@(.+))?", one) for one in added]
    elements = [NetworkElement(one[1], one[2], one[3]) for one in parts if one]
    assert parse_networks(value, "podns").with_added(elements) == result


SPACE = st.text(alphabet=" \t\n", max_size=2)
LABEL = st.from_regex(r"\A[a-z0-9]([-a-z0-9]{0,5}[a-z0-9])?\Z")
INTERFACE = st.none() | st.from_regex(r"\A[a-z]{1,4}[0-9]{0,2}\Z")
ELEMENT = st.tuples(LABEL, LABEL, INTERFACE).map(lambda parts: NetworkElement(*parts))
DOTTED = st.tuples(LABEL, st.just("a.b"), INTERFACE).map(lambda parts: NetworkElement(*parts))


@st.composite
def comma_texts(draw: st.DrawFn) -> str:
    items = draw(st.lists(ELEMENT, min_size=1, max_size=4))
    written = []
    for item in items:
        namespace = draw(st.sampled_from(["", f"{item.namespace}{draw(SPACE)}/"]))
        interface = f"{draw(SPACE)}@{draw(SPACE)}{item.interface}" if item.interface else ""
        written.append(f"{draw(SPACE)}{namespace}{draw(SPACE)}{item.name}{interface}{draw(SPACE)}")
    return ",".join(written)


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    items = draw(st.lists(ELEMENT | DOTTED, max_size=4))
    objects = []
    for item in items:
        members: dict[str, Any] = {draw(st.sampled_from(["name", "NAME"])): item.name}
        if draw(st.booleans()):
            members["namespace"] = item.namespace
        if item.interface:
            members["interface"] = item.interface
        members.update(
            draw(st.sampled_from([{}, {"ips": ["10.0.0.1/24"]}, {"x": [None, "]", {"y": 1.5}]}]))
        )
        objects.append(members)
    indent = draw(st.none() | st.integers(0, 3))
    return (
        draw(SPACE)
        + json.dumps(objects, indent=indent, ensure_ascii=draw(st.booleans()))
        + draw(SPACE)
    )


VALUES = st.just("") | comma_texts() | json_texts()


@settings(deadline=None)
@given(VALUES, st.lists(ELEMENT | DOTTED, min_size=1, max_size=3))
def test_keeps_what_is_there_first_and_adds_the_rest(
    value: str, added: list[NetworkElement]
) -> None:
    before = parse_networks(value, "podns")
    after = parse_networks(before.with_added(added), "podns")
    assert after.elements == (*before.elements, *added)


@settings(deadline=None)
@given(
    st.text()
    | st.text(alphabet='ab-/@,. []{}":\\\n0', max_size=30)
    | VALUES.map(lambda value: value[:-1])
)
@example("[" * 5000)
@example('[{"a":' * 3000)
@example('["\\ud800')
def test_raises_nothing_but_value_error(value: str) -> None:
    try:
        found = parse_networks(value, "podns")
    except ValueError as refusal:
        message = str(refusal)
    else:
        message = ""
        assert found.text == value
        assert all(element.namespace for element in found.elements)
    assert message.isprintable()
    assert not message.endswith(".")
