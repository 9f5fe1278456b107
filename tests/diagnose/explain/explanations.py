"""Explain a scene, and write what is found in short."""

from __future__ import annotations

from collections.abc import Iterable

from tests.diagnose.scenes import Scene
from webhook.diagnose.finding import Finding


def findings(scene: Scene, *topics: str) -> list[Finding]:
    """Give what is wrong, of these topics alone if any are named."""
    found = scene.explained.findings
    return [each for each in found if each.level != "ok" and (not topics or each.topic in topics)]


def texts(found: Iterable[Finding]) -> list[str]:
    return [f"{each.level} {each.subject}: {each.message}" for each in found]


def one(scene: Scene, *topics: str) -> str:
    [found] = texts(findings(scene, *topics))
    return found


def first(scene: Scene) -> Finding:
    return scene.explained.findings[0]
