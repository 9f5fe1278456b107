"""Give the socket tests a server with two rails, and a review of a TorchX pod for it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from certs.throwaway import make_throwaway
from tests.sockets.server import Server
from tests.tiers import mark_tier

HERE = Path(__file__).parent
PROFILES = HERE / "profiles.yaml"
OBJECTS = HERE / "objects.yaml"
FILES = (f"--profiles={PROFILES}", f"--objects={OBJECTS}")

Serve: TypeAlias = Callable[..., Server]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    mark_tier(items, HERE, "sockets")


@pytest.fixture(scope="session")
def tls_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost; not to be changed."""
    directory = tmp_path_factory.mktemp("tls")
    make_throwaway(directory, now=datetime.now(UTC))
    return directory


@pytest.fixture(scope="session")
def authority(tls_dir: Path) -> Path:
    """The file of the certificate's CA."""
    return tls_dir / "ca.crt"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, tls_dir: Path) -> Iterator[Server]:
    """A server that all tests share: none of them may change it, or leave anything in it."""
    log = tmp_path_factory.mktemp("server") / "log"
    with Server(log, *FILES, f"--tls-dir={tls_dir}") as running:
        yield running


@pytest.fixture
def serve(tmp_path: Path, tls_dir: Path) -> Iterator[Serve]:
    """Start servers of the test's own with *options* besides the usual ones."""
    with ExitStack() as stack:

        def start(*options: str, log: str = "log", **more: Any) -> Server:
            server = Server(tmp_path / log, *FILES, f"--tls-dir={tls_dir}", *options, **more)
            return stack.enter_context(server)

        yield start


@pytest.fixture
def own(serve: Serve) -> Server:
    """A server of the test's own."""
    return serve()


@pytest.fixture(scope="session")
def review() -> bytes:
    """The AdmissionReview of a TorchX pod in namespace default, as a real API server sent it."""
    return (
        HERE.parent / "fixtures/live/torchx-volcano/pods-train-fgwp3pq7vkl4vc-train-0-0.review.json"
    ).read_bytes()
