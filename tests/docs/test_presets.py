"""docs/presets.md tells of each preset what its files say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests import ROOT
from webhook.presets import Preset, preset_names, read_presets


def row(preset: Preset) -> str:
    """Return the row that the page must have."""
    about, source = preset.about, preset.about["sources"][0]
    repository, _, path = source["url"].removeprefix("https://github.com/").partition("/blob/")
    file = path.rpartition("/")[2]
    link = f"[{repository}: {file}]({source['url']}) ({source['date']})"
    return f"| `{preset.name}` | {about['gives']} | {about['verified']} | {link} |"


def rows() -> Iterator[str]:
    """Yield the rows of the page's table without its head."""
    lines = (ROOT / "docs/presets.md").read_text().splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        head = not before.startswith("|")
        if line.startswith("|") and not head and not line.startswith("|---"):
            yield line


def test_the_page_and_the_files_say_the_same() -> None:
    wanted = [row(preset) for preset in read_presets()]
    missing = [each for each in wanted if each not in [*rows()]]
    assert missing == [], "rows that the page lacks:\n" + "\n".join(missing)
    assert len([*rows()]) == len(wanted)


def test_no_example_has_the_name_of_a_preset_and_another_content() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("manifests/*.md")]
    named = [
        name
        for page in pages
        for name in re.findall(r"^metadata: {name: ([a-z0-9-]+)}", page.read_text(), re.M)
    ]
    assert named
    assert not {*named} & {*preset_names()}
