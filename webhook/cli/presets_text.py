"""Write presets for people: the list of them, and the comment above the profile of one."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator

import yaml

from webhook.presets import VERIFIED, Preset

_WIDTH = 120


def dump(value: object, form: str) -> str:
    """Write a value as ``json`` or ``yaml``."""
    if form == "json":
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=_WIDTH)


def listing(presets: list[Preset]) -> Iterator[str]:
    """Yield the lines of the list: a line for each preset, and below it where it is from."""
    width = max(len(preset.name) for preset in presets)
    state = max(len(preset.about["verified"]) for preset in presets)
    yield f"{'NAME':{width}}  {'VERIFIED':{state}}  GIVES, SOURCE AND IMAGES"
    for preset in presets:
        yield f"{preset.name:{width}}  {preset.about['verified']:{state}}  {preset.about['gives']}"
        source = preset.about["sources"][0]
        for line in (f"{source['url']} ({source['date']})", *preset.images):
            yield f"{'':{width}}  {'':{state}}  {line}"
    yield ""
    for word in dict.fromkeys(preset.about["verified"] for preset in presets):
        yield f"{word}: {VERIFIED[word]}."


def heading(preset: Preset) -> Iterator[str]:
    """Yield the comment above a profile: what it is, where it is from, what to change."""
    about = preset.about
    yield f"{preset.name}: {about['gives']}."
    yield from textwrap.wrap(f"Verified: {about['verified']}. {about['note']}", _WIDTH)
    yield "Sources:"
    for source in about["sources"]:
        yield f"  {source['url']}"
        yield from _item(f"commit of {source['date']}", source["for"], "    ")
    for title, key in (
        ("Change before you apply it:", "change"),
        (
            "Added to what the vendor's manifest asks for, beside labels and annotations fabric-injector.io/…:",
            "adds",
        ),
        ("Left out of what the vendor's manifest asks for:", "leavesOut"),
    ):
        if about[key]:
            yield title
            for what, why in about[key].items():
                yield from _item(what, why, "  ")


def _item(what: str, text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        f"{what}: {text}",
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
    )
