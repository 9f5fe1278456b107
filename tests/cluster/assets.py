"""The programs of a Kubernetes control plane, built once from Go modules and kept in the user's cache.

``KUBEBUILDER_ASSETS`` is used instead where it names a folder that holds kube-apiserver and etcd.
Build ahead of the tests with ``python -m tests.cluster.assets``, which prints the folder;
with ``--node`` the programs of a node too, with ``--claims`` those of a node with claims.
"""

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .programs import CLAIMS, CONTROL_PLANE, NODE, PROGRAMS, Program

TOOLS = Path(__file__).parent / "tools"
NEEDED = ("etcd", "kube-apiserver")
SECONDS_BETWEEN_REPORTS = 30


class AssetsUnavailable(Exception):
    """The control-plane programs are neither given nor can they be built here; the message says why."""


def assets() -> Path:
    """Give the folder that holds the programs, building those that the cache lacks.

    A folder named by KUBEBUILDER_ASSETS is given as it is: only kube-apiserver and etcd are sure to be in it.
    """
    given = _given_folder()
    if given is not None:
        return given
    return _built(*CONTROL_PLANE)["etcd"].parent


def binary(name: str) -> Path:
    """Give the path of one program; one that KUBEBUILDER_ASSETS lacks comes from the cache, built if need be."""
    given = _given_folder()
    if given is not None and (given / name).is_file():
        return given / name
    return _built(name)[name]


def node_assets() -> dict[str, Path]:
    """Give the path of each program of a node by its name, building those that neither place has."""
    return {name: binary(name) for name in NODE}


def claim_assets() -> dict[str, Path]:
    """Give the path of each program of a node with claims by its name, building those that the cache lacks."""
    return _built(*CLAIMS)


def _given_folder() -> Path | None:
    value = os.environ.get("KUBEBUILDER_ASSETS")
    if not value:
        return None
    folder = Path(value).resolve()
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if missing:
        _say(f"KUBEBUILDER_ASSETS={value} holds no {' and no '.join(missing)}: not used")
        return None
    return folder


def cache_folder() -> Path:
    """Give the user's cache folder for what tests build, which may not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fabric-injector"


def _built(*names: str) -> dict[str, Path]:
    _, version = go()
    root = cache_folder() / "assets"
    paths = {name: root / _key(version, PROGRAMS[name]) / name for name in names}
    for name, path in paths.items():
        if not path.is_file():
            program = PROGRAMS[name]
            build_once(
                _flags(program), TOOLS / program.module, program.package, path, program.duration
            )
    return paths


def build_once(flags: list[str], folder: Path, package: str, target: Path, duration: str) -> None:
    """Build a package of the Go module in the folder, unless another process does so first; AssetsUnavailable where it fails."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AssetsUnavailable(f"the cache folder cannot be made: {error}") from error
    with _locked(target.with_name("lock")):
        if not target.is_file():
            _build(flags, folder, package, target, duration)


def go() -> tuple[str, str]:
    """Find Go and its version, which must be at least the one that the module files name."""
    program = shutil.which("go")
    if program is None:
        raise AssetsUnavailable(
            "no Go on PATH to build kube-apiserver and etcd with, and no KUBEBUILDER_ASSETS"
        )
    return program, _go_version(program)


@functools.cache
def _go_version(program: str) -> str:
    module = TOOLS / "kubernetes"
    answer = subprocess.run(
        [program, "env", "GOVERSION"],
        cwd=module,
        env=go_environment(),
        capture_output=True,
        text=True,
    )
    version = answer.stdout.strip()
    wanted = _find(r"^go ([\d.]+)$", (module / "go.mod").read_text())
    found = re.search(r"\d+(\.\d+)+", version)
    if answer.returncode != 0 or found is None:
        raise AssetsUnavailable(f"`go env GOVERSION` failed: {answer.stderr.strip() or version}")
    if _numbers(found.group()) < _numbers(wanted):
        raise AssetsUnavailable(
            f"building the control plane needs Go {wanted} or later, found {version}"
        )
    return version


def _build(flags: list[str], folder: Path, package: str, target: Path, duration: str) -> None:
    name, started = target.name, time.monotonic()
    partial = target.with_name(f".{name}.{os.getpid()}")
    log = target.with_name(f"{name}.log")
    _say(f"building {name} into {target.parent} ({duration}, once)")
    command = [go()[0], "build", *flags, "-o", str(partial), package]
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=folder, env=go_environment(), stdout=output, stderr=output
            )
            _wait(process, name, started)
        if process.returncode != 0:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-5:])
            raise AssetsUnavailable(f"building {name} failed (all of it in {log}):\n{tail}")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    log.unlink()
    _say(f"built {name} in {time.monotonic() - started:.0f} s")


def _wait(process: subprocess.Popen[bytes], name: str, started: float) -> None:
    try:
        while True:
            try:
                process.wait(SECONDS_BETWEEN_REPORTS)
                return
            except subprocess.TimeoutExpired:
                _say(f"still building {name}, {time.monotonic() - started:.0f} s so far")
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def _flags(program: Program) -> list[str]:
    """Give the build flags of the program; clients complain about an API server that was linked without its version."""
    version = _find(r"k8s\.io/kubernetes (v[\d.]+)", (TOOLS / "kubernetes" / "go.mod").read_text())
    major, minor, _ = version.removeprefix("v").split(".")
    fields = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    settings = " ".join(
        f"-X k8s.io/component-base/version.{field}={value}" for field, value in fields.items()
    )
    tags = ["-tags", program.tags] if program.tags else []
    return ["-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", f"-s -w {settings}", *tags]


def go_environment() -> dict[str, str]:
    """Give the environment that Go runs in: without C, and without a workspace of the user."""
    return {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}


def _key(go_version: str, program: Program) -> str:
    digest = hashlib.sha256(f"{go_version} {_flags(program)}".encode())
    for pattern in ("go.*", "*.go"):  # the pinned modules, and the programs that are our own
        for file in sorted(
            file for module in program.modules for file in (TOOLS / module).glob(pattern)
        ):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say(f"waiting for another build ({path})")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _find(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise AssetsUnavailable(f"the module files hold no {pattern!r}")
    return found.group(1)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _say(line: str) -> None:
    print(f"tests.cluster.assets: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        print(assets())
        if "--node" in sys.argv[1:]:
            print(*node_assets().values(), sep="\n")
        if "--claims" in sys.argv[1:]:
            print(*claim_assets().values(), sep="\n")
    except AssetsUnavailable as problem:
        sys.exit(f"tests.cluster.assets: {problem}")
