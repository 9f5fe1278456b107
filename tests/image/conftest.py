"""Fixtures for tests of the container image.

def test_image(image, container):
    assert container.run("--help").returncode == 0
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.fixtures import unavailable
from tests.installed import not_installed
from tests.tiers import mark_tier

from .builder import Builder, Image, not_possible
from .container import Container

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    mark_tier(items, FOLDER, "image")


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    """Give what builds images; skip where this machine cannot, with the reason."""
    if reason := not_possible():
        pytest.skip(reason)
    if reason := not_installed("test-image"):
        unavailable(reason)
    with Builder(tmp_path_factory.mktemp("images")) as running:
        yield running


@pytest.fixture(scope="session")
def image(builder: Builder) -> Image:
    """Build the image once for all tests."""
    return builder.build()


@pytest.fixture(scope="session")
def root(builder: Builder, image: Image) -> Path:
    """Give the image's root file system; not to be changed."""
    return builder.mount(image)


@pytest.fixture
def container(image: Image, root: Path, tmp_path: Path) -> Container:
    """Give what runs the image."""
    return Container(image, root, tmp_path)
