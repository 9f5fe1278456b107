"""Give the socket tests a server with two rails, and a review of a TorchX pod for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.throwaway import make_throwaway
from tests.sockets.server import Server

HERE = Path(__file__).parent
PROFILES = HERE / "profiles.yaml"
OBJECTS = HERE / "objects.yaml"


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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, tls_dir: Path) -> Iterator[Server]:
    """A server that all tests of a module share: none of them may change it."""
    log = tmp_path_factory.mktemp("server") / "log"
    with Server(
        log, f"--profiles={PROFILES}", f"--objects={OBJECTS}", f"--tls-dir={tls_dir}"
    ) as running:
        yield running


@pytest.fixture
def own(tmp_path: Path, tls_dir: Path) -> Iterator[Server]:
    """A server of the test's own."""
    options = (f"--profiles={PROFILES}", f"--objects={OBJECTS}", f"--tls-dir={tls_dir}")
    with Server(tmp_path / "log", *options) as server:
        yield server


@pytest.fixture(scope="session")
def review() -> bytes:
    """The AdmissionReview of a TorchX pod in namespace default, as a real API server sent it."""
    return (
        HERE.parent / "fixtures/live/torchx-volcano/pods-train-fgwp3pq7vkl4vc-train-0-0.review.json"
    ).read_bytes()
