"""Break answers of an API server, and hold what a command says against what it must be."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from click.testing import Result
from hypothesis import strategies as st

from tests.diagnose.connection import HostileConnection
from tests.diagnose.explain.test_screens import SCENES
from tests.diagnose.scenes import Scene
from tests.hostile import places, replaced
from tests.hostile.broken import ODD
from webhook.core import names
from webhook.core.model import Object

STATUSES = (403, 404, 410, 429, 500, 503, 200)
"""In the place of any answer; the last with a body that is no JSON."""

BODIES = (
    b'{"message": "\\u001b[31mno"}',
    b"garbage \xff\x1b[2J",
    b"[]",
    b"{}",
    b'{"items": 5}',
    b"[" * 100000,
)


def small(name: str) -> Scene:
    """Return a scene of this name, with three pods of its job: more show nothing more."""
    made = SCENES[name]()
    made.pods = dict(list(made.pods.items())[:3])
    return made


def held() -> Scene:
    """Return a job whose pods wait for Kueue, so that most of what can be asked for is."""
    made = small("kueue-quota")
    made.workloads = small("suspended-by-kueue").workloads
    return made


def spoil_an_annotation(pod: Object, data: st.DataObject) -> None:
    """Put junk in one place of the JSON that an annotation holds."""
    annotations = pod["metadata"]["annotations"]
    key = data.draw(st.sampled_from([names.NETWORK_STATUS, names.STATUS]))
    value = json.loads(annotations[key])
    at = data.draw(st.sampled_from([at for at, _ in places(value)]))
    annotations[key] = json.dumps(replaced(value, at, data.draw(st.sampled_from(ODD))))


def spoil_an_answer(
    connection: HostileConnection, requests: Sequence[str], data: st.DataObject
) -> None:
    """Answer one of the *requests* with what is none."""
    asked = data.draw(st.sampled_from(requests))
    status = data.draw(st.sampled_from([0, 401, *STATUSES]))
    body = data.draw(st.sampled_from(BODIES))
    connection.spoil = lambda request, *answer: (status, body) if request == asked else answer


def held_against(invoke: Callable[..., Result]) -> dict[str, Any]:
    """Ask a command twice, and hold both answers against what every answer must be."""
    text = invoke()
    assert text.exit_code in (0, 1, 2), text.exception
    assert isinstance(text.exception, SystemExit | None), text.exception
    assert not set("\x1b\r\x07\u202e\x9b") & set(text.output)
    result = invoke("-o", "json")
    assert result.exit_code == text.exit_code
    if result.exit_code == 2:
        assert result.stderr.startswith("Error: ")
        return {}
    document: dict[str, Any] = json.loads(result.stdout)
    assert all(each["subject"] and each["message"] for each in document.get("findings", ()))
    return document
