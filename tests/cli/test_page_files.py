"""The files of the page: small, of this origin, and no way to turn text into markup."""

import re
from pathlib import Path

import pytest

from webhook import page

FOLDER = Path(page.__file__).parent
FILES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".html", ".css", ".js"))
FORBIDDEN = re.compile(
    r"(inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser"
    r"|localStorage|sessionStorage|indexedDB|\.cookie\b|https?://|@import|<style|<script>"
    r"|\son\w+=\"| style=",
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_is_small_and_harmless(path: Path) -> None:
    text = path.read_text().replace(
        "http://www.w3.org/2000/svg", ""
    )  # a name, which nobody fetches
    if path.name == "key.js":
        text = text.replace(
            "sessionStorage", ""
        )  # the key of a page on one's own machine, for as long as its tab is open
    assert text.count("\n") < 250
    assert FORBIDDEN.findall(text) == []


def test_uses_all_that_is_shipped() -> None:
    shipped = {
        str(path.relative_to(FOLDER))
        for path in FOLDER.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    names = set(re.findall(r'"page/([^"]+)"', (FOLDER / "index.html").read_text()))
    samples = set(re.findall(r'path: "([^"]+)"', (FOLDER / "main.js").read_text()))
    assert samples == {path for path in shipped if path.startswith("samples/")}
    for path in FILES:
        names |= set(re.findall(r' from "\./([^"]+)"', path.read_text()))
    assert {"main.js"} <= names <= shipped
