"""Tell how a container uses a variable: an IPv6 address needs brackets where ``:port`` follows it."""

from __future__ import annotations

from webhook import podspec
from webhook.model import Object


def is_consumed_before_port(container: Object, variable: str, depth: int = 3) -> bool:
    """Tell whether commands, arguments or other variables write ``$VARIABLE:port`` in any spelling.

    Spellings: ``$V:``, ``${V}:``, ``${V:=x}:``, ``$(V):``, with quotes between; also by way of another variable that ends in ``$(V)``.
    """
    for text in podspec.argv(container):
        if variable in text and _before_colon(text, variable):
            return True
    for entry in podspec.env(container):
        value = entry.get("value")
        if not value or variable not in value:
            continue
        if _before_colon(value, variable):
            return True
        name = entry["name"]
        if (
            depth
            and name != variable
            and value.endswith(f"$({variable})")
            and is_consumed_before_port(container, name, depth - 1)
        ):
            return True
    return False


def refers_to(value: str, variable: str) -> bool:
    """Tell whether a variable's value holds ``$(VARIABLE)``."""
    return f"$({variable})" in value


def _before_colon(text: str, variable: str) -> bool:
    at = text.find(variable)
    while at >= 0:
        end = at + len(variable)
        following = text[end : end + 1]
        opening = text[max(at - 2, 0) : at]
        at = text.find(variable, end)
        if following == "_" or following.isalnum():
            continue
        if opening == "${":
            end = text.find("}", end) + 1 or len(text)
        elif opening == "$(" and following == ")":
            end += 1
        elif not opening.endswith("$"):
            continue
        if text[end : end + 2].lstrip("\"'").startswith(":"):
            return True
    return False
