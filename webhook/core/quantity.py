"""Read and write resource quantities as Kubernetes does: ``500m``, ``16Gi``, ``1e3``."""

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil

_SCALES = {
    "": Fraction(1),
    **{suffix: Fraction(1, 1000**power) for power, suffix in enumerate("mun", 1)},
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", 1)},
}
_GRAMMAR = re.compile(
    r"([+-]?)(?=\.?[0-9])([0-9]*)\.?([0-9]*)([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII
)
_EXPONENT = re.compile(r"[eE][-+]?[0-9]{1,18}", re.ASCII)
_FINEST = 10**9
_BINARY_MAX = Fraction(2**63 - 1)
_EXPONENT_MAX = 100
_LENGTH_MAX = 256


def parse_quantity(value: str | int | float) -> Fraction:
    """Read a quantity: ``"1.5Gi"`` becomes 1610612736.

    Finer than ``1n`` is rounded away from zero; above 2**63-1 a binary suffix is capped there, as
    the API server does. An exponent beyond 100 counts as 100. A quantity has a digit.
    Raises ValueError, with the value in its message.
    Source: k8s.io/apimachinery pkg/api/resource/quantity.go, ParseQuantity.
    """
    if isinstance(value, str):
        if len(value) > _LENGTH_MAX:  # nor is it to be remembered
            raise _not_a_quantity(value)
        return _parse_text(value)
    if isinstance(value, bool):
        raise _not_a_quantity(str(value).lower())
    return Fraction(value) if isinstance(value, int) else _parse_text(repr(value))


def stored_quantity(value: object) -> Fraction:
    """Read a quantity of an object that an API server has stored; zero for one that is none."""
    try:
        return parse_quantity(value) if isinstance(value, str | int | float) else Fraction(0)
    except ValueError:
        return Fraction(0)


def format_quantity(value: Fraction) -> str:
    """Write a quantity, ``"8"`` or ``"1500m"``; finer than ``1n`` is rounded up."""
    if value.denominator == 1:
        return str(value.numerator)
    for suffix in "mu":
        scaled = value / _SCALES[suffix]
        if scaled.denominator == 1:
            return f"{scaled.numerator}{suffix}"
    return f"{ceil(value * _FINEST)}n"


@lru_cache(maxsize=1024)
def _parse_text(value: str) -> Fraction:
    match = _GRAMMAR.fullmatch(value.strip())
    if match is None:
        raise _not_a_quantity(value)
    sign, whole, part, suffix = match.groups()
    scale = _SCALES.get(suffix)
    if scale is None:
        if _EXPONENT.fullmatch(suffix) is None:
            raise _not_a_quantity(value)
        scale = Fraction(10) ** max(-_EXPONENT_MAX, min(int(suffix[1:]), _EXPONENT_MAX))
    number = Fraction(int(whole + part), 10 ** len(part)) * scale
    if number and _FINEST % number.denominator:
        number = Fraction(ceil(number * _FINEST), _FINEST)
    if suffix.endswith("i"):
        number = min(number, _BINARY_MAX)
    return -number if sign == "-" else number


def _not_a_quantity(value: str) -> ValueError:
    shown = value if len(value) <= 40 else value[:40] + "..."
    advice = "write a number with an optional suffix, such as 1, 500m or 16Gi"
    return ValueError(f"{shown!a} is not a quantity; {advice}")
