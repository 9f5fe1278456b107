"""Every relative link leads to a file of the repository, and to a heading where it names one."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import ROOT
from tests.docs import reference

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(<?([^()<>\s]+)>?(?: \"[^\"]*\")?\)")
SCHEMES = ("only-light", "only-dark")
"""Behind a picture: the colour scheme in which Material for MkDocs shows it."""
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@cache
def pages() -> list[Path]:
    folders = (
        "docs/**/*.md",
        "manifests/**/*.md",
        "webhook/**/*.md",
        "certs/**/*.md",
        "tests/**/*.md",
        "*.md",
        ".github/**/*.md",
    )
    return sorted(path for pattern in folders for path in ROOT.glob(pattern))


def prose(path: Path) -> str:
    return _FENCE.sub("", path.read_text())


def anchors(path: Path) -> set[str]:
    """Return what links may name after ``#``, as GitHub and MkDocs make it of a heading."""
    found: dict[str, int] = {}
    result = set()
    for heading in _HEADING.findall(prose(path)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        number = found[slug] = found.get(slug, -1) + 1
        result.add(f"{slug}-{number}" if number else slug)
    return result


def broken(path: Path, root: Path = ROOT) -> Iterator[str]:
    for link in _LINK.findall(prose(path)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.is_relative_to(root) or not target.exists():
            yield f"{link}: no such file"
        elif (
            anchor
            and anchor not in SCHEMES
            and (target.suffix != ".md" or anchor not in anchors(target))
        ):
            yield f"{link}: no such heading"


@pytest.mark.parametrize("page", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_all_links_lead_somewhere(page: Path) -> None:
    assert list(broken(page)) == []


def test_tells_a_broken_link(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One `two`, three\n"
        "[a](#one-two-three) [b](gone.md) [c](#gone) [d](https://example.com/x) [e](../page.md)\n"
        "```\n[f](gone.md)\n```\n"
    )
    outside = "../page.md: no such file"
    assert list(broken(page, tmp_path)) == [
        "gone.md: no such file",
        "#gone: no such heading",
        outside,
    ]


def test_the_navigation_has_every_page() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    listed = set(re.findall(r"^ +- (?:[^:\n]+: )?([\w/-]+\.md)$", text, re.MULTILINE))
    beside = set(hooks().PAGES.values()) | {*reference.PAGES}
    assert listed == beside | {
        str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")
    }
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
    links = (
        "[plan.py]({up}webhook/core/plan.py), [limits]({docs}limits.md#a), [here](#b), "
        "[README]({up}README.md), [elsewhere](https://example.com/x)"
    )
    expected = (
        f"{plan}, [limits](limits.md#a), [here](#b), "
        "[README](index.md), [elsewhere](https://example.com/x)"
    )
    for own, text in {
        "faq.md": links.format(up="../", docs=""),
        "index.md": links.format(up="", docs="docs/"),
    }.items():
        page = SimpleNamespace(file=SimpleNamespace(src_uri=own), meta={})
        made = hooks().on_page_markdown(text, config={"repo_url": url}, page=page, files=None)
        assert made == expected


@cache
def hooks() -> Any:
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs/hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
