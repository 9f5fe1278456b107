"""Tell in microseconds what it costs to read a review: one that is long may hold little but text, which is soon read."""

from __future__ import annotations

from typing import Final

from webhook.core import bounds

MOST_BYTES: Final = 1 << 20
"""A longer review is never read at once: its texts alone would keep others waiting for a millisecond."""
MOST_BYTES_OF_VALUES: Final = 256 << 10
"""The same for one that holds more than texts."""
_STEP: Final = 1_024
_ESCAPES: Final = 100
_AFTER_STRING: Final = b" \t\r\n,:]}"


def is_soon_read(body: bytes) -> bool:
    """Tell whether a review takes hardly longer to read than a small one may: it is mostly text, or has not so many values."""
    if is_mostly_text(body):
        return True
    return len(body) <= MOST_BYTES_OF_VALUES and bounds.parsed_bytes(body, bounds.SMALL_PARSED) <= bounds.SMALL_PARSED


def is_mostly_text(body: bytes) -> bool:
    """Tell whether a review has no more bytes outside its long strings than a small one."""
    return len(body) <= MOST_BYTES and bytes_outside(body, bounds.SMALL) <= bounds.SMALL


def bytes_outside(body: bytes, most: int) -> int:
    """Count the bytes of a JSON text that stand outside its long strings, from above; beyond *most* nothing is counted any more.

    It goes on in steps, and leaps over what holds no quotation mark for longer.
    """
    found, position, length = 0, 0, len(body)
    while position < length and found <= most:
        mark = body.find(b'"', position)
        end = mark if mark >= 0 else length
        if end - position < _STEP:
            found += _STEP
            position += _STEP
            continue
        if not _is_within_string(body, body.rfind(b'"', 0, position)):
            found += end - position
        position = end
    return found


def has_many_escapes(body: bytes) -> bool:
    """Tell whether so many characters are escaped that orjson, which reads a review whole, takes half as long as msgspec."""
    found, position = 0, body.find(b"\\")
    while position >= 0 and found < _ESCAPES:
        found += 1
        position = body.find(b"\\", position + 2)
    return position >= 0


def _is_within_string(body: bytes, mark: int) -> bool:
    """Tell whether what follows a quotation mark, up to the next, is within a string; so it is, or no JSON and not read any further.

    What follows the end of a string is a comma, a colon, a closing bracket or a space. A mark that is escaped ends none.
    """
    if mark < 0:
        return False
    is_escaped = mark > 1 and body[mark - 1 : mark] == b"\\" and body[mark - 2 : mark - 1] != b"\\"
    return is_escaped or body[mark + 1 : mark + 2] not in _AFTER_STRING
