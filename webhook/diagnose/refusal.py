"""Parse the API server's error where a webhook has blocked the creation of a pod."""

from __future__ import annotations

import re
from typing import NamedTuple

_DENIED = re.compile(r'admission webhook "([^"]*)" denied the request: ?(.*)', re.DOTALL)
_NOT_CALLED = re.compile(r'failed calling webhook "([^"]*)": ?(.*)', re.DOTALL)
_STATUS_ERROR = "StatusError{"
_GO_MESSAGE = re.compile(r'\bMessage:"((?:[^"\\]|\\.)*+)(")?', re.DOTALL)
_GO_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL
)
_GO_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}
_LAST_CHARACTER = 0x10FFFF
_CUT = "…"


class WebhookRefusal(NamedTuple):
    """Name the *webhook*, and what it answered, or, where it was not *called*, what went wrong."""

    webhook: str
    called: bool
    message: str


def read_refusal(text: str) -> WebhookRefusal | None:
    """Read an API server's message; None for one of something else.

    Source: apiserver pkg/admission/plugin/webhook/errors.
    """
    if denied := _DENIED.search(text):
        return WebhookRefusal(denied[1], True, denied[2])
    if failed := _NOT_CALLED.search(text):
        return WebhookRefusal(failed[1], False, failed[2])
    return None


def api_messages(text: str) -> list[str]:
    """Return the API server's messages in the text of a client, else the *text* itself.

    Volcano prints the errors of all pods at once, as ``&errors.StatusError{… Message:"…", …}``.
    Of one that the end of the Event cuts off, what is there counts where no other is whole, and
    ends in ``…``. Source: fmt's ``%#v`` of apimachinery's StatusError.
    """
    if _STATUS_ERROR not in text:
        return [text]
    found = list(_GO_MESSAGE.finditer(text))
    whole = [_unquoted(each[1]) for each in found if each[2]]
    return whole or [_unquoted(each[1]) + _CUT for each in found] or [text]


def _unquoted(text: str) -> str:
    return _GO_ESCAPE.sub(_character, text).rstrip("\\")


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code is None:
        return _GO_CONTROL.get(escape[4], escape[4])
    number = int(code, 16)
    return chr(number) if number <= _LAST_CHARACTER and not 0xD800 <= number < 0xE000 else "�"
