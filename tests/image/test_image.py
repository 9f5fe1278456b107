"""The image from the Dockerfile: what is in it, what is not, and that it runs."""

import json
import signal
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from certs.throwaway import make_throwaway
from tests.locks import installed_from
from tests.sockets.conftest import OBJECTS, PROFILES
from tests.sockets.server import Server, admit
from webhook import __version__

from .builder import BASE_NAMES, REVISION, ROOT, SOURCE, Image
from .container import Container

FOLDER = "opt/fabric-injector"
PYTHON = f"/{FOLDER}/bin/python"
REVIEW = ROOT / "tests/fixtures/live/torchx-volcano/pods-train-fgwp3pq7vkl4vc-train-0-0.review.json"
NOT_IN_IT = ("sh", "bash", "dash", "busybox", "env", "pip", "pip3", "apt-get", "gcc", "cc", "ld")
WITHOUT_BYTECODE = """
import importlib.util, os, sys, webhook.cli.serve, webhook.cli.control
sources = (getattr(module, "__file__", None) or "" for module in list(sys.modules.values()))
for source in sorted(source for source in sources if source.endswith(".py")):
    if not os.path.exists(importlib.util.cache_from_source(source)):
        print(source)
"""


def test_labels_tell_what_it_is_and_of_which_commit(image: Image) -> None:
    prefix = "org.opencontainers.image."
    found = image.configuration["Labels"].items()
    labels = {key.removeprefix(prefix): value for key, value in found if prefix in key}
    assert labels.pop("description").startswith("Join distributed-training pods")
    assert labels == {
        "title": "fabric-injector",
        "licenses": "Apache-2.0",
        "source": SOURCE,
        "version": __version__,
        "revision": REVISION,
        "base.name": BASE_NAMES["BASE"],
    }


def test_runs_as_a_user_that_kubernetes_knows_is_not_root(image: Image) -> None:
    """A name would not do: runAsNonRoot cannot look it up."""
    assert image.configuration["User"] == "65532:65532"


def test_help_needs_no_writable_file_and_no_capability(container: Container) -> None:
    done = container.run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "serve" in done.stdout
    assert "control" in done.stdout


def test_version_is_that_of_the_label(image: Image, container: Container) -> None:
    version = image.configuration["Labels"]["org.opencontainers.image.version"]
    assert container.run("--version").stdout.split()[-1] == version


def test_holds_no_shell_no_installer_and_no_compiler(image: Image, root: Path) -> None:
    """And nothing of the build: pip's configuration, sources, caches."""
    folders = ("bin", "sbin", "usr/bin", "usr/sbin", "usr/local/bin", f"{FOLDER}/bin")
    unwanted = [f"{folder}/{name}" for folder in folders for name in NOT_IN_IT]
    unwanted += ["etc/pip.conf", "build", "root/.cache"]
    assert [name for name in unwanted if (root / name).exists()] == []
    assert [path for path in (root / FOLDER).rglob("pip") if path.is_dir()] == []


def test_holds_what_is_locked_and_the_wheel_of_these_sources(root: Path) -> None:
    (packages,) = (root / FOLDER / "lib").glob("python3.*/site-packages")
    found = {path.name.removesuffix(".dist-info") for path in packages.glob("*.dist-info")}
    version = packages.parent.name.removeprefix("python")
    locked = installed_from(ROOT / "requirements.lock", version)
    assert found == {*locked, f"fabric_injector-{__version__}"}
    for place in ("webhook/**/*.py", "webhook/**/*.yaml", "certs/**/*.py", "certs/**/*.yaml"):
        here, there = (
            {path.relative_to(top) for path in top.glob(place)} for top in (ROOT, packages)
        )
        assert here == there


def test_what_it_imports_is_compiled(container: Container) -> None:
    """The root file system is read-only: what is not would be compiled at each start."""
    done = container.run("-c", WITHOUT_BYTECODE, entrypoint=[PYTHON])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_serves_on_a_read_only_root_and_ends_by_sigterm(
    container: Container, tmp_path: Path
) -> None:
    """It answers reviews and probes, without even a folder for temporary files."""
    tls = tmp_path / "tls"
    tls.mkdir()
    make_throwaway(tls, now=datetime.now(UTC))
    (tls / "tls.key").chmod(0o644)  # as the files of a Secret are
    mounts = {"/tls": tls, "/profiles.yaml": PROFILES, "/objects.yaml": OBJECTS}
    ports = (f"--{name}=127.0.0.1:0" for name in ("listen", "dry-run-listen", "metrics-listen"))
    options = ("--profiles=/profiles.yaml", "--objects=/objects.yaml", "--tls-dir=/tls")
    command = container.command("serve", *options, *ports, mounts=mounts)
    with Server(tmp_path / "log", command=command) as server:
        for path in ("/livez", "/readyz", "/metrics"):
            assert server.get(path).status == 200
        with closing(server.client(tls / "ca.crt")) as client:
            answer = json.loads(admit(client, REVIEW.read_bytes()).body)["response"]
        assert answer["allowed"]
        assert answer["patchType"] == "JSONPatch"
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
    assert "Traceback" not in server.log.read_text()
