"""The picture of the folders, the page about them and the first lines of the code agree with the import contract."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

import webhook
from tests import ROOT

SVG = "{http://www.w3.org/2000/svg}"


def contract() -> list[set[str]]:
    """Return the layers of webhook/, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    [layers] = [each["layers"] for each in contracts if each.get("containers") == ["webhook"]]
    return [set(re.split(r" [|:] ", layer)) for layer in layers]


def named(group: ElementTree.Element) -> set[str]:
    return {text.text or "" for text in group.iter(f"{SVG}text") if text.get("class") == "name"}


def test_the_picture_has_the_layers_of_the_contract() -> None:
    picture = ElementTree.parse(ROOT / "docs/code.svg").getroot()
    drawn = [named(group) for group in picture.iter(f"{SVG}g") if group.get("class") == "layer"]
    assert drawn == contract()


@pytest.mark.parametrize(
    "picture", sorted((ROOT / "docs").glob("*.svg")), ids=lambda path: path.name
)
def test_the_picture_stands_for_itself(picture: Path) -> None:
    text = picture.read_text().replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "http" not in re.sub(r"<text.*?</text>", "", text), "nothing is fetched"


def test_the_page_has_a_row_for_each_folder() -> None:
    page = (ROOT / "docs/code.md").read_text()
    table = page.partition("| folder |")[2].partition("\n\n")[0]
    listed = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert listed == set().union(*contract())
    folders = {
        path.name for path in (ROOT / "webhook").iterdir() if (path / "__init__.py").exists()
    }
    assert listed == folders


def test_the_docstring_draws_the_same() -> None:
    drawn = re.findall(r"^- (\S+(?: \| \S+)*): ", webhook.__doc__ or "", re.MULTILINE)
    assert [set(line.split(" | ")) for line in drawn] == contract()
