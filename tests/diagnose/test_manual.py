"""The page of findings: each code stands there, as the registry has it."""

from __future__ import annotations

import pytest

from tests import ROOT
from webhook.diagnose.codes import Code
from webhook.diagnose.manual import find_code, manual, section

PAGE = ROOT / "docs/findings.md"


@pytest.mark.parametrize("code", Code, ids=str)
def test_each_code_has_its_section(code: Code) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"\n## {code}\n\n{code.means}\n" in text
    assert code.action[1:] in section(code)
    assert find_code(str(code)) is code


def test_the_page_is_that_of_the_registry() -> None:
    assert PAGE.read_text(encoding="utf-8") == manual(), "python -m webhook.diagnose.manual > docs/findings.md"


def test_an_unknown_code_is_none() -> None:
    assert find_code("no-such-code") is None
