"""Fixtures and their helpers that every tier of clusters uses."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar
from uuid import uuid4

import pytest

from webhook.core.names import PROFILE

from .assets import AssetsUnavailable, binary
from .controlplane import ControlPlane

Made = TypeVar("Made")


def unavailable(reason: str) -> NoReturn:
    """Skip with the reason, but fail under CI=true, where nothing may go untested."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def needed(make: Callable[..., Made], *arguments: object) -> Made:
    """Give what the function makes; skip, or fail under CI=true, where that is unavailable."""
    try:
        return make(*arguments)
    except AssetsUnavailable as problem:
        unavailable(str(problem))


def built(config: pytest.Config, make: Callable[..., Made], *arguments: object) -> Made:
    """Do as `needed`, and show what the function says meanwhile: a build takes minutes."""
    with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        return needed(make, *arguments)


def program(name: str) -> Path:
    """Give the path of a program that is built from Go modules, as `needed`."""
    return needed(binary, name)


class NamespaceFactory:
    """Creates namespaces, each with its ServiceAccount; `made` holds their names."""

    def __init__(self, plane: ControlPlane) -> None:
        self.made: list[str] = []
        self._plane = plane

    def __call__(
        self, profile: str | None = None, labels: dict[str, str] | None = None, name: str = ""
    ) -> str:
        """Create one with the profile's label and more labels; give its name."""
        own = {} if profile is None else {PROFILE: profile}
        name = name or f"test-{uuid4().hex[:8]}"
        self.made.append(self._plane.create_namespace(name, own | (labels or {})))
        return name
