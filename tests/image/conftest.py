"""Fixtures for tests of the container image.

def test_image(image, container):
    assert container.run("--help").returncode == 0
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installed import not_installed
from tests.tiers import mark_tier

from .builder import Builder, Image, not_possible
from .container import Container

FOLDER = Path(__file__).parent
FIGURES = pytest.StashKey[list[str]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    mark_tier(items, FOLDER, "image")


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    """Give what builds images; skip where this machine cannot, with the reason."""
    if reason := not_possible():
        pytest.skip(reason)
    if reason := not_installed("test-image"):
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with Builder(tmp_path_factory.mktemp("images")) as running:
        yield running


@pytest.fixture(scope="session")
def image(builder: Builder, pytestconfig: pytest.Config) -> Image:
    """Build the image once for all tests."""
    built = builder.build()
    layers = f"of which {built.bytes_of_base / 1e6:.0f} MB are the base's"
    pytestconfig.stash.setdefault(FIGURES, []).append(
        f"image: {built.bytes / 1e6:.0f} MB, {layers}"
    )
    return built


@pytest.fixture(scope="session")
def root(builder: Builder, image: Image) -> Path:
    """Give the image's root file system; not to be changed."""
    return builder.mount(image)


@pytest.fixture
def container(image: Image, root: Path, tmp_path: Path) -> Container:
    """Give what runs the image."""
    return Container(image, root, tmp_path)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the figures."""
    for line in config.stash.get(FIGURES, []):
        terminalreporter.write_line(line)
