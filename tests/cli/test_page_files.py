"""The files of the page: small, of this origin alone, and with no way to turn text into markup or to keep it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from webhook import page
from webhook.page import INDEX, SAMPLES, read_page

FOLDER = Path(page.__file__).parent
FILES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".html", ".css", ".js"))
FORBIDDEN = re.compile(
    r"(inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|localStorage|sessionStorage"
    r"|indexedDB|\.cookie\b|https?://|@import|<style|<script>|\son\w+=\"| style=",
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


def test_reads_all_that_is_shipped() -> None:
    shipped = {
        str(path.relative_to(FOLDER))
        for path in FOLDER.rglob("*")
        if path.is_file() and path.suffix != ".py"
    }
    shipped = {path for path in shipped if "__pycache__" not in path}
    assert set(read_page()) == shipped | {"demo/torchx-pods.yaml"}


def test_ships_what_it_names() -> None:
    assets = read_page()
    assert [sample.path for sample in SAMPLES if sample.path not in assets] == []
    names = set(re.findall(r'"page/([^"]+)"', assets[INDEX].content.decode()))
    for path in FILES:
        names |= set(re.findall(r' from "\./([^"]+)"', path.read_text()))
    assert names <= set(assets)
    assert "main.js" in names
