"""Check single values of profiles.yaml; each check returns the value, or raises ValueError with what was found and what is allowed."""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticCustomError

from webhook.core import names, qualified_name
from webhook.core.profiles.grammar import (
    HUGE_PAGES,
    parse_duration,
    parse_network,
    parse_page_size,
    parse_resources,
    refused,
)
from webhook.core.quantity import parse_quantity

NONE = "none"
"""Written for "no value" where a field's table says so."""
ALL = "all"
_NATIVE_RESOURCES = ("cpu", "memory", "ephemeral-storage", "storage", "pods")
MAX_AMOUNT = (2**63 - 1) // 1000
"""The API server counts devices in thousandths. Source: k8s.io/kubernetes pkg/apis/core/validation ValidateResourceQuantityValue."""
_MAX_SIZE = 2**63 - 1
_OWN_VARIABLES = "FABRIC_INJECTOR_"


def number_as_text(value: Any) -> str:
    """Turn the YAML number 8 into the quantity ``8``."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise PydanticCustomError("quantity_type", "no quantity")
    return str(value)


def refuse_bare_number(value: Any) -> Any:
    """Refuse a duration without a unit; YAML 1.1 also reads 1:30 as a number."""
    if isinstance(value, int | float):
        raise PydanticCustomError("duration_type", "no duration")
    return value


def all_as_none(value: Any) -> Any:
    """Turn the word ``all`` into None; any other word is no list."""
    if value == ALL:
        return None
    if isinstance(value, str):
        raise refused(
            value,
            f"write a list of namespaces, such as [{value if value.isprintable() else 'research'}], or the word all",
        )
    return value


def check_profile_name(text: str) -> str:
    """Accept what a namespace's label can say, but ``none``."""
    if text == names.PROFILE_NONE:
        raise refused(text, f"the label {names.PROFILE}: {names.PROFILE_NONE} leaves a pod alone; write another name")
    if not text or not qualified_name.is_label_value(text):
        raise refused(
            text, "it is a label's value; write 1 to 63 letters, digits, '-', '_', '.', a letter or digit at both ends"
        )
    return text


def check_dns_label(text: str) -> str:
    """Accept the name of a namespace or container."""
    if not qualified_name.is_dns_label(text):
        raise refused(text, "write 1 to 63 of a-z, 0-9, '-', with a letter or digit at both ends")
    return text


def check_network(text: str) -> str:
    """Accept ``[namespace/]name[@interface]``."""
    parse_network(text)
    return text


def check_resources(text: str) -> str:
    """Accept a comma list of extended resources."""
    parse_resources(text)
    return text


def check_duration(text: str) -> str:
    """Accept a duration as Go writes it."""
    parse_duration(text)
    return text


def check_resource_name(text: str) -> str:
    """Accept an extended resource or huge pages."""
    if text in _NATIVE_RESOURCES:
        raise refused(
            text, "it belongs to the job, not to the fabric; write it in the job, or in a LimitRange of the namespace"
        )
    if text.startswith(HUGE_PAGES):
        parse_page_size(text)
        return text
    problem = qualified_name.extended_resource_problem(text)
    if problem:
        raise refused(text, f"the resource's name {problem}")
    return text


def check_resource_quantity(resource: str, text: str) -> None:
    """Refuse an amount of *resource* that the API server would refuse in a pod."""
    amount = parse_quantity(text)
    if amount < 0 or amount.denominator != 1:
        raise refused(text, f"write a whole number of {resource}, 0 or more")
    if amount > MAX_AMOUNT:
        raise refused(text, f"write at most {MAX_AMOUNT}, beyond which Kubernetes does not count {resource}")
    if resource.startswith(HUGE_PAGES) and amount.numerator % parse_page_size(resource):
        raise refused(text, f"write a multiple of the page size, {resource.removeprefix(HUGE_PAGES)}")


def check_quantity(text: str) -> str:
    """Accept a quantity without spaces around it."""
    if text != text.strip():
        raise refused(text, "write the quantity without spaces")
    try:
        parse_quantity(text)
    except ValueError:
        raise refused(text, "write a number with an optional suffix, such as 1, 8 or 16Gi") from None
    return text


def check_size(text: str) -> str:
    """Accept ``none``, or a whole number of bytes above 0."""
    if text != NONE:
        size = parse_quantity(check_quantity(text))
        if size <= 0 or size.denominator != 1:
            hint = " (the suffix m means thousandths; M and Mi mean mega)" if text.endswith("m") else ""
            raise refused(text, f"write a whole number of bytes above 0, such as 16Gi, or none{hint}")
        if size > _MAX_SIZE:
            raise refused(text, "write at most 8Ei, or none")
    return text


def check_image(text: str) -> str:
    """Accept an image reference, or ``none``."""
    if not text or len(text.split()) != 1 or text != text.strip() or not text.isprintable():
        raise refused(text, "write an image reference without spaces, such as docker.io/library/busybox:1.37, or none")
    return text


def check_env_name(text: str) -> str:
    """Accept a variable's name that is not our own."""
    if text.startswith(_OWN_VARIABLES):
        raise refused(
            text, f"names that start with {_OWN_VARIABLES} are set by the injector itself; write another name"
        )
    if not qualified_name.is_env_name(text):
        raise refused(text, "write a variable's name of letters, digits, '_', '-', '.', not starting with a digit")
    return text


def check_env_value(text: str) -> str:
    """Accept text that a process can be started with."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise refused(text, "a variable holds no NUL and no half of a surrogate pair; write other text")
    return text


def check_label_key(text: str) -> str:
    """Accept a label's key."""
    if not qualified_name.is_label_key(text):
        raise refused(text, "write a label's key: [domain/]name, such as node.example.com/fabric")
    return text


def check_label_value(text: str) -> str:
    """Accept a label's value."""
    if not qualified_name.is_label_value(text):
        raise refused(
            text, "write a label's value: at most 63 letters, digits, '-', '_', '.', a letter or digit at both ends"
        )
    return text
