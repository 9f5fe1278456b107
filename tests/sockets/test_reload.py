"""A certificate that changes while the server runs."""

import http.client
import shutil
import ssl
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.throwaway import make_throwaway
from tests.mount import Mount
from tests.sockets.conftest import Serve
from tests.sockets.server import Server, admit
from tests.waiting import wait_until


def throwaway(directory: Path) -> dict[str, bytes]:
    make_throwaway(directory, now=datetime.now(UTC))
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture
def certificate(tmp_path: Path) -> Mount:
    return Mount(tmp_path / "tls", throwaway(tmp_path / "first"))


@pytest.fixture
def changing(serve: Serve, certificate: Mount) -> Server:
    return serve(f"--tls-dir={certificate.root}")


def shown(server: Server) -> bytes:
    """Return the certificate that a new connection is shown."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with context.wrap_socket(server.connect()) as connection:
        found = connection.getpeercert(binary_form=True)
    assert found
    return found


def leaf(directory: Path) -> bytes:
    return ssl.PEM_cert_to_DER_cert((directory / "tls.crt").read_text())


def test_swaps_certificates_without_a_failed_admission(
    changing: Server, certificate: Mount, tmp_path: Path, review: bytes
) -> None:
    old, new = certificate.root / "old.crt", tmp_path / "second"
    shutil.copy(certificate.root / "ca.crt", old)
    pair = throwaway(new)
    bundle = tmp_path / "bundle.crt"
    bundle.write_bytes(old.read_bytes() + pair["ca.crt"])
    ended, failures, answered = threading.Event(), list[str](), [0]

    def ask_over_new_connections() -> None:
        while not ended.is_set():
            client = changing.client(bundle)
            try:
                assert admit(client, review).status == 200
                answered[0] += 1
            except (OSError, http.client.HTTPException, AssertionError) as error:
                failures.append(repr(error))
            finally:
                client.close()

    kept = changing.client(old)
    kept.connect()
    opened = kept.sock
    asking = threading.Thread(target=ask_over_new_connections)
    asking.start()
    try:
        certificate.publish(pair)
        wait_until(lambda: shown(changing) == leaf(new), "the new certificate")
        before = answered[0]
        wait_until(lambda: answered[0] > before + 5, "answers after the swap")
    finally:
        ended.set()
        asking.join()
    assert failures == []
    assert admit(kept, review).status == 200
    assert kept.sock is opened
    kept.close()
