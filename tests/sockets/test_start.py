"""What ``serve`` needs to start, and how it says what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs.throwaway import make_throwaway
from tests.sockets.conftest import OBJECTS, PROFILES
from tests.sockets.server import ANY_PORT, ROOT, SERVE, SERVE_ANYWHERE, Server, admit
from tests.waiting import wait_until

pytestmark = pytest.mark.sockets


def refused(*options: str | Path, environment: dict[str, str] | None = None) -> str:
    """Run ``serve`` where it must not start; return what it says."""
    result = subprocess.run(
        [*SERVE_ANYWHERE, *map(str, options)],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr


def test_serves_on_a_throw_away_certificate_and_says_where_its_authority_lies(
    tmp_path: Path, review: bytes
) -> None:
    with Server(tmp_path / "log", f"--profiles={PROFILES}", f"--objects={OBJECTS}") as server:
        authority = Path(server.addresses["ca"])
        client = server.client(authority)
        assert admit(client, review).status == 200
        client.close()
    assert not authority.exists()


def test_takes_options_from_the_environment(
    tmp_path: Path, tls_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {
        "PROFILES": PROFILES,
        "OBJECTS": f"{OBJECTS}:{OBJECTS}",
        "TLS_DIR": tls_dir,
        "LISTEN": ANY_PORT,
        "DRY_RUN_LISTEN": ANY_PORT,
        "METRICS_LISTEN": ANY_PORT,
    }
    command = [
        "/usr/bin/env",
        *(f"FABRIC_INJECTOR_SERVE_{name}={value}" for name, value in values.items()),
        *SERVE,
    ]
    with Server(tmp_path / "log", command=command) as server:
        assert server.get("/readyz").status == 200


def test_says_where_it_serves_in_one_line(server: Server) -> None:
    (line,) = server.lines("serving")
    assert line["admission"].startswith("https://127.0.0.1:")
    assert line["dryRun"].startswith("http://127.0.0.1:")
    assert line["metrics"].startswith("http://127.0.0.1:")


def test_names_every_fault_of_the_profiles(tmp_path: Path, tls_dir: Path) -> None:
    profiles = tmp_path / "profiles.yaml"
    profiles.write_text("profiles:\n  one: {pods: none}\n  two: {colour: red}\n")
    said = refused(f"--profiles={profiles}", f"--objects={OBJECTS}", f"--tls-dir={tls_dir}")
    assert f"{profiles}: line 2: profiles.one.pods" in said
    assert f"{profiles}: line 3: profiles.two.colour" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            [f"--objects={OBJECTS}"],
            "give --profiles: with --objects there is no cluster",
            id="no profiles",
        ),
        pytest.param(
            ["--profiles=/nowhere/profiles.yaml", f"--objects={OBJECTS}"],
            "/nowhere/profiles.yaml",
            id="absent",
        ),
        pytest.param(
            [f"--profiles={PROFILES}"], "give --tls-dir", id="a cluster without a certificate"
        ),
        pytest.param(
            [f"--profiles={PROFILES}", f"--objects={OBJECTS}", "--tls-dir=/nowhere"],
            "/nowhere/tls.crt",
            id="no certificate",
        ),
        pytest.param(
            [f"--profiles={PROFILES}", "--objects=/nowhere.yaml"], "/nowhere.yaml", id="no objects"
        ),
        pytest.param(
            [f"--profiles={PROFILES}", "--listen=8443"], "'8443' is not host:port", id="no host"
        ),
        pytest.param(
            [f"--profiles={PROFILES}", "--listen=::1:8443"],
            "write for example",
            id="bare IPv6 address",
        ),
        pytest.param(
            [f"--profiles={PROFILES}", "--metrics-listen=localhost:99999"],
            "is not host:port",
            id="no port",
        ),
        pytest.param(
            [f"--profiles={PROFILES}", "--frobnicate"], "No such option", id="unknown option"
        ),
        pytest.param(
            [f"--profiles={PROFILES}", f"--objects={OBJECTS}", "--listen=192.0.2.1:0"],
            "192.0.2.1",
            id="foreign address",
        ),
    ],
)
def test_refuses_to_start_for(options: list[str], message: str) -> None:
    assert message in refused(*options)


def test_refuses_a_port_that_is_taken(server: Server, tls_dir: Path) -> None:
    taken = server.addresses["metrics"].removeprefix("http://")
    said = refused(
        f"--profiles={PROFILES}",
        f"--objects={OBJECTS}",
        f"--tls-dir={tls_dir}",
        f"--dry-run-listen={taken}",
    )
    assert f"cannot listen on {taken}: Address already in use; choose another address" in said


def _mix_keys(directory: Path) -> None:
    other = directory.parent / "other"
    make_throwaway(other, now=datetime.now(UTC))
    shutil.copy(other / "tls.key", directory)


def _write_text(directory: Path) -> None:
    (directory / "tls.crt").write_text("no certificate")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(_mix_keys, "the key belongs to another certificate", id="another key"),
        pytest.param(_write_text, "tls.crt", id="no PEM"),
    ],
)
def test_refuses_a_certificate_that_cannot_be_served(
    tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    make_throwaway(tmp_path / "tls", now=datetime.now(UTC))
    damage(tmp_path / "tls")
    assert message in refused(
        f"--profiles={PROFILES}", f"--objects={OBJECTS}", f"--tls-dir={tmp_path / 'tls'}"
    )


def test_is_not_ready_with_an_expired_certificate(tmp_path: Path) -> None:
    make_throwaway(tmp_path / "tls", now=datetime.now(UTC) - timedelta(days=40))
    with Server(
        tmp_path / "log",
        f"--profiles={PROFILES}",
        f"--objects={OBJECTS}",
        f"--tls-dir={tmp_path / 'tls'}",
    ) as server:
        reply = server.get("/readyz")
        assert reply.status == 503
        assert b"[-]certificate failed: " in reply.body
        assert server.get("/livez").status == 200
        make_throwaway(tmp_path / "tls", now=datetime.now(UTC))
        wait_until(lambda: server.get("/readyz").status == 200, "readiness with a new certificate")
