"""docs/presets.md tells of each preset what its files say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tests import ROOT
from webhook.presets import VERIFIED, Preset, preset_names, read_presets


def tables() -> list[str]:
    """Return the rows that the page must have, in the order of its tables."""
    presets = read_presets()
    return [
        *(f"| `{word}` | {means} |" for word, means in VERIFIED.items()),
        *(_there_is(preset) for preset in presets),
        *(_change(preset) for preset in presets),
    ]


def _there_is(preset: Preset) -> str:
    about, source = preset.about, preset.about["sources"][0]
    repository, _, path = source["url"].removeprefix("https://github.com/").partition("/blob/")
    link = f"[{repository}: {path.partition('/')[2].rpartition('/')[2]}]({source['url']}) ({source['date']})"
    return f"| `{preset.name}` | {about['gives']} | {about['verified']} | {link} | {_code(preset.images)} |"


def _change(preset: Preset) -> str:
    return f"| `{preset.name}` | {_listed(preset.about['change'])} |"


def _listed(items: Mapping[str, str]) -> str:
    return "<br>".join(f"{what}: {why.strip()}" for what, why in items.items()) or "nothing"


def _code(texts: list[str]) -> str:
    return "<br>".join(f"`{text}`" for text in texts) or "none"


def rows() -> Iterator[str]:
    """Yield the rows of the page's tables without their heads."""
    lines = (ROOT / "docs/presets.md").read_text().splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        head = not before.startswith("|")
        if line.startswith("|") and not head and not line.startswith("|---"):
            yield line


def test_the_page_and_the_files_say_the_same() -> None:
    assert list(rows()) == tables()


def test_no_example_has_the_name_of_a_preset_and_another_content() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("manifests/*.md")]
    named = [
        name
        for page in pages
        for name in re.findall(r"^metadata: {name: ([a-z0-9-]+)}", page.read_text(), re.M)
    ]
    assert named
    assert not {*named} & {*preset_names()}
