"""Parse the API server's error where a webhook has blocked the creation of a pod."""

from __future__ import annotations

import re
from typing import NamedTuple

_DENIED = re.compile(r'admission webhook "([^"]*)" denied the request: ?(.*)', re.DOTALL)
_NOT_CALLED = re.compile(r'failed calling webhook "([^"]*)": ?(.*)', re.DOTALL)


class WebhookRefusal(NamedTuple):
    """Name the *webhook*, and say what it answered, or, where it was not *called*, what went wrong."""

    webhook: str
    called: bool
    message: str


def read_refusal(text: str) -> WebhookRefusal | None:
    """Read an API server's message; None for one of something else. Source: apiserver pkg/admission/plugin/webhook/errors."""
    if denied := _DENIED.search(text):
        return WebhookRefusal(denied[1], True, denied[2])
    if failed := _NOT_CALLED.search(text):
        return WebhookRefusal(failed[1], False, failed[2])
    return None
