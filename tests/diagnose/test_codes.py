"""The codes of findings, each defined beside its rule."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests import ROOT
from webhook.diagnose.finding import Code
from webhook.diagnose.manual import all_codes, find_code


@cache
def told_by_tests() -> str:
    """Return the rows and screens in which tests expect findings."""
    folders = (ROOT / "tests/diagnose", ROOT / "tests/cases/explain", ROOT / "tests/cases/check")
    paths = (path for folder in folders for path in folder.rglob("*.*"))
    return "\n".join(path.read_text() for path in paths if path.suffix in (".py", ".yaml", ".txt"))


@pytest.mark.parametrize("code", all_codes().values(), ids=str)
def test_each_says_what_it_means_and_what_to_do(code: Code) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code.name)
    assert re.fullmatch(r"[A-Z].*[^.]\.", code.means), "one sentence"
    assert re.fullmatch(r"[a-z].*[^.]", code.action), "as it is printed after an arrow"


@pytest.mark.parametrize("code", all_codes().values(), ids=str)
def test_each_is_found_by_some_test(code: Code) -> None:
    constant = code.name.upper().replace("-", "_")
    assert re.search(rf"\b({code.name}|{constant})\b", told_by_tests())


def test_a_code_is_found_by_its_name_or_by_a_slip_of_it() -> None:
    code, _ = find_code("LEASE_STALE")
    assert code is not None
    assert code.name == "lease-stale"
    assert find_code("lease-stael") == (None, "lease-stale")
    assert find_code("no-such") == (None, "")
