"""Break objects at random: types changed, fields missing, odd strings, deep nesting."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.hostile import places
from webhook.core import names

ODD: list[Any] = [
    *(None, True, False, 0, -1, 1.5, 10**30, 2**63, -(2**63), 1e300, 1e308, -0.0),
    *("", "x", "x" * 100_000, "9" * 4300, "9" * 5000, "1e999999", "-1", "1.5Gi"),
    *("\x00\n\x1b[31m", "\x1b[2J\r\n\u202e", "\u2028\u202e", "\U0001f4a9é", "\ud800"),
    *("$(A)$(B)", "${A:=localhost}:29500", "$$(MASTER_ADDR)", "$(MASTER_ADDR).svc:29500"),
    *("a/b/c@d", "localhost", "localhost:0", "{", "[{", "null", "[null]"),
    '[1, {"name": 5, "ips": 7, "default": 3}]',
    *([], [None], ["x"], [[]], [{}], {}, {"": None}, {"a": 1}, {"a": None}, {"x": {"y": []}}),
    {"name": {}},
    *sorted(
        value for key, value in vars(names).items() if key.isupper() and isinstance(value, str)
    ),
    [{"name": names.WAIT_CONTAINER, "image": "a"}],
    [{"name": names.WAIT_VOLUME, "emptyDir": {}}],
    [{"name": names.ENV_MASTER_NAME, "value": ""}],
    [
        {"name": "MASTER_ADDR", "value": "$$(MASTER_ADDR)"},
        {"name": names.ENV_MASTER_NAME, "value": "$(MASTER_ADDR)"},
    ],
    [
        {
            "name": "MASTER_ADDR",
            "valueFrom": {
                "fieldRef": {"fieldPath": f"metadata.annotations['{names.MASTER_ADDR}']"}
            },
        }
    ],
]
"""What may stand in the place of any value: JSON of another shape, texts that a terminal obeys."""


def deep(depth: int) -> Any:
    """Return lists and maps nested *depth* levels."""
    value: Any = "bottom"
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def broken(value: Any, random: Random, changes: int = 1) -> Any:
    """Return a copy of *value* with some nodes replaced, removed, repeated or nested."""
    result = copy.deepcopy(value)
    for _ in range(changes):
        where = [place for place in places(result) if place[0]]
        if not where:
            break
        *path, key = random.choice(where)[0]
        parent = result
        for step in path:
            parent = parent[step]
        action = random.random()
        if action < 0.2:
            del parent[key]
        elif action < 0.3 and isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        elif action < 0.35:
            parent[key] = deep(random.choice([3, 50, 200]))
        elif action < 0.45:
            parent[key] = copy.deepcopy(random.choice(where)[1])
        else:
            parent[key] = copy.deepcopy(random.choice(ODD))
    return result


def _changed_object(text: str, random: Random) -> str:
    review = json.loads(text)
    review["request"]["object"] = broken(review["request"]["object"], random, random.randint(1, 4))
    return json.dumps(review)


def _changed_review(text: str, random: Random) -> str:
    return json.dumps(broken(json.loads(text), random, random.randint(1, 3)))


def _cut(text: str, random: Random) -> str:
    return text[: random.randrange(len(text))]


def _replaced(text: str, random: Random) -> str:
    place = random.randrange(len(text))
    return text[:place] + random.choice('"{}[],:\\\x00\u2028é0-') + text[place + 1 :]


def _odd_value(text: str, random: Random) -> str:
    parts = text.split('"')
    place = random.randrange(1, len(parts) - 1, 2)
    odd = random.choice(
        [
            *("\\ud800", "\\udc00x", "\\u0000", "\\u202e", "x" * 300_000),
            *("$(A)$(A)", "${X:=a}:1", "[{", "a/b@c"),
        ]
    )
    return '"'.join([*parts[:place], odd, *parts[place + 1 :]])


def _odd_token(text: str, random: Random) -> str:
    token = random.choice(["null", "true", "false"])
    odd = random.choice(
        [
            *("NaN", "-Infinity", "1e999", "1" * 400, "-0"),
            *("[" * 5000, '{"a":' * 5000, '[{"name":null}]'),
        ]
    )
    return text.replace(token, odd, random.randint(1, 3))


def _repeated_key(text: str, random: Random) -> str:
    key = random.choice(["object", "metadata", "spec", "containers", "labels", "uid", "env"])
    return text.replace(
        f'"{key}":', f'"{key}": {random.choice(["null", "[]", "{}", "1"])}, "{key}":', 1
    )


CHANGES: list[Callable[[str, Random], str]] = [
    _changed_object,
    _changed_object,
    _changed_object,
    _changed_review,
    _cut,
    _replaced,
    _odd_value,
    _odd_token,
    _repeated_key,
]
"""Ways to break the text of a review."""
