"""Evaluate the rules of the definition, in CEL, and find items of a list with the same key."""

from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import Any

import cel

from webhook.core.profiles.objects import Fault
from webhook.core.quantity import parse_quantity
from webhook.core.value_types import Location
from webhook.validate.definition import Schema

RULES = "x-kubernetes-validations"


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "isQuantity": _is_quantity,
    "quantity": lambda text: text,
    "isInteger": lambda text: parse_quantity(text).denominator == 1,
    "asInteger": lambda text: int(parse_quantity(text)),
    "isGreaterThan": lambda text, other: parse_quantity(text) > parse_quantity(other),
    "indexOf": lambda text, part: text.find(part),
    "substring": lambda text, start: text[start:],
}
"""Kubernetes' own functions; a quantity is its text.

Source: kubernetes.io/docs/reference/using-api/cel.
"""


class NotEvaluated(Exception):
    """Say that a rule of the definition cannot be evaluated by this library."""


def find_broken_rules(
    schema: Schema, value: Any, blocked: Collection[Location], at: Location = (), path: str = ""
) -> Iterator[Fault]:
    """Yield the rules that *value* breaks, except those about what is around a *blocked* location.

    Raises NotEvaluated.
    """
    if not any(each[: len(at)] == at for each in blocked):
        yield from _broken(schema.get(RULES, ()), value, at, path)
    if isinstance(value, dict):
        fields, others = schema.get("properties", {}), schema.get("additionalProperties")
        for key, item in value.items():
            if key in fields:
                below = f"{path}.{key}".removeprefix(".")
                yield from find_broken_rules(fields[key], item, blocked, (*at, key), below)
            elif others:
                yield from find_broken_rules(others, item, blocked, (*at, key), f"{path}[{key}]")
    elif isinstance(value, list) and "items" in schema:
        yield from _repeated(schema.get("x-kubernetes-list-map-keys", ()), value, at)
        for index, item in enumerate(value):
            yield from find_broken_rules(
                schema["items"], item, blocked, (*at, index), f"{path}[{index}]"
            )


def _broken(rules: Collection[Schema], value: Any, at: Location, path: str) -> Iterator[Fault]:
    for rule in rules:
        if not _holds(rule["rule"], value):
            field = rule.get("fieldPath", "")
            location = (*at, *field.split(".")[1:])
            yield Fault(location, rule["message"], f"{path}{field}".removeprefix("."))


def _holds(rule: str, value: Any) -> bool:
    try:
        answer = _compiled(rule).execute(cel.Context({"self": value}, FUNCTIONS))
    except Exception as error:  # whatever the library makes of a value or a rule
        raise NotEvaluated(f"{rule}: {error}") from error
    return answer is True


@cache
def _compiled(rule: str) -> cel.Program:
    return cel.compile(rule)


def _repeated(keys: Collection[str], items: list[Any], at: Location) -> Iterator[Fault]:
    """Yield the items whose *keys* an earlier one has."""
    owners: dict[str, int] = {}
    for index, item in enumerate(items if keys else ()):
        if isinstance(item, dict):
            named = ", ".join(f"{key} {item.get(key)}" for key in keys)
            owner = owners.setdefault(named, index)
            if owner != index:
                yield Fault((*at, index), f"{named} is that of item {owner} already; remove one")
