"""What ``serve`` needs to start, and how it says what is missing."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

from certs.throwaway import make_throwaway
from tests.profiles import as_text
from tests.sockets.conftest import FILES, OBJECTS, PROFILES, Serve
from tests.sockets.server import ROOT, SERVE_ANYWHERE, Server
from tests.tables import table
from tests.waiting import wait_until


def refused(*options: str | Path) -> str:
    """Run ``serve`` where it must not start; return what it says."""
    result = subprocess.run(
        [*SERVE_ANYWHERE, *map(str, options)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr


def test_serves_on_a_throw_away_certificate_it_tells_of(tmp_path: Path, review: bytes) -> None:
    with Server(tmp_path / "log", *FILES) as server:
        assert server.admit(review).status == 200
    assert not server.authority.exists()


def test_names_the_fault_of_the_profiles(tmp_path: Path, tls_dir: Path) -> None:
    profiles = tmp_path / "profiles.yaml"
    profiles.write_text(as_text("one: {pods: none}"))
    said = refused(f"--profiles={profiles}", f"--objects={OBJECTS}", f"--tls-dir={tls_dir}")
    assert f"{profiles}: line 6: FabricProfile one: spec.pods: " in said


GIVEN = f"--profiles={PROFILES} --objects={OBJECTS}"


@table(
    "options, message",
    {
        "no profiles": (f"--objects={OBJECTS}", "give --profiles: with --objects there is no"),
        "absent": (f"--profiles=/nowhere/a.yaml --objects={OBJECTS}", "/nowhere/a.yaml"),
        "a cluster without a certificate": (f"--profiles={PROFILES}", "give --tls-dir"),
        "no certificate": (f"{GIVEN} --tls-dir=/nowhere", "/nowhere/tls.crt"),
        "no objects": (f"--profiles={PROFILES} --objects=/nowhere.yaml", "/nowhere.yaml"),
        "no host": ("--listen=8443", "'8443' is not host:port"),
        "bare IPv6 address": ("--listen=::1:8443", "write for example"),
        "no port": ("--metrics-listen=localhost:99999", "is not host:port"),
        "unknown option": ("--frobnicate", "No such option"),
        "foreign address": (f"{GIVEN} --listen=192.0.2.1:0", "192.0.2.1"),
        "names without a CA": (f"{GIVEN} --client-name=x", "--client-name needs --client-ca"),
        "an absent CA": (
            f"{GIVEN} --client-ca=nowhere.crt",
            "nowhere.crt: No such file or directory; give a readable PEM file",
        ),
        "no PEM": (
            f"{GIVEN} --client-ca={OBJECTS}",
            "objects.yaml: no certificate in it; give a PEM file of the authorities of clients",
        ),
        "an empty name": (f"{GIVEN} --client-ca=x --client-name=", "--client-name is empty"),
        "an old version": ("--tls-min-version=1.1", "'1.1' is not one of '1.2', '1.3'"),
    },
)
def test_refuses_to_start_for(options: str, message: str) -> None:
    assert message in refused(*options.split())


def test_refuses_a_port_that_is_taken(server: Server, tls_dir: Path) -> None:
    taken = server.addresses["metrics"].removeprefix("http://")
    said = refused(*FILES, f"--tls-dir={tls_dir}", f"--dry-run-listen={taken}")
    assert f"cannot listen on {taken}: Address already in use; choose another address" in said


def test_is_not_ready_with_an_expired_certificate(tmp_path: Path, serve: Serve) -> None:
    make_throwaway(tmp_path / "tls", now=datetime.now(UTC) - timedelta(days=40))
    server = serve(f"--tls-dir={tmp_path / 'tls'}")
    reply = server.get("/readyz")
    assert reply.status == 503
    assert b"[-]certificate failed: " in reply.body
    assert server.get("/livez").status == 200
    make_throwaway(tmp_path / "tls", now=datetime.now(UTC))
    wait_until(lambda: server.get("/readyz").status == 200, "readiness with a new certificate")
