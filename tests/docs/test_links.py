"""Every relative link leads to a file of the repository; `make docs` looks for the headings."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import ROOT
from tests.docs import reference

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(<?([^()<>\s#]+)[^()]*\)")
FOLDERS = ("docs", "manifests", "webhook", "certs", "tests", ".github")
PAGES = sorted(
    [*ROOT.glob("*.md"), *(page for one in FOLDERS for page in (ROOT / one).rglob("*.md"))]
)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_all_links_lead_somewhere(page: Path) -> None:
    links = _LINK.findall(_FENCE.sub("", page.read_text()))
    files = {link: (page.parent / link).resolve() for link in links if ":" not in link}
    wrong = {
        link for link, file in files.items() if not (file.exists() and file.is_relative_to(ROOT))
    }
    assert wrong == set()


def test_the_navigation_has_every_page() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    listed = set(re.findall(r"^ +- (?:[^:\n]+: )?([\w/-]+\.md)$", text, re.MULTILINE))
    beside = set(hooks().PAGES.values()) | {*reference.PAGES}
    kept = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert listed == beside | kept
    assert beside & kept == set(), "what is made is not kept"
    assert all((ROOT / source).exists() for source in hooks().PAGES)


@pytest.mark.parametrize(
    ("url", "plan"),
    [
        ("", "plan.py"),
        (
            "https://example.com/r/",
            "[plan.py](https://example.com/r/blob/main/webhook/core/plan.py)",
        ),
    ],
)
def test_the_built_pages_lead_to_the_repository_where_its_address_is_known(
    url: str, plan: str
) -> None:
    other = "[here](#b), [elsewhere](https://example.com/x)"
    for own, up, docs in (("faq.md", "../", ""), ("index.md", "", "docs/")):
        page = SimpleNamespace(file=SimpleNamespace(src_uri=own), meta={})
        text = (
            f"[plan.py]({up}webhook/core/plan.py) [a]({docs}limits.md#a) [b]({up}README.md) {other}"
        )
        made = hooks().on_page_markdown(text, config={"repo_url": url}, page=page)
        assert made == f"{plan} [a](limits.md#a) [b](index.md) {other}"


@cache
def hooks() -> Any:
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs/hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
