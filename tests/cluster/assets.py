"""The programs of a Kubernetes control plane, built once from Go modules and kept in the user's cache.

Build ahead of the tests with ``python -m tests.cluster.assets``, which prints the folder;
with ``--node`` the programs of a node too, with ``--claims`` those of a node with claims.
"""

import fcntl
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .programs import CLAIMS, CONTROL_PLANE, NODE, PROGRAMS, Program

TOOLS = Path(__file__).parent / "tools"


class AssetsUnavailable(Exception):
    """Something cannot be downloaded or built here; the message says why."""


def assets() -> Path:
    """Give the folder that holds the programs, building those that the cache lacks."""
    return _built(*CONTROL_PLANE)["etcd"].parent


def binary(name: str) -> Path:
    """Give the path of one program, built if need be."""
    return _built(name)[name]


def node_assets() -> dict[str, Path]:
    """Give the path of each program of a node by its name, building those that the cache lacks."""
    return _built(*NODE)


def claim_assets() -> dict[str, Path]:
    """Give the path of each program of a node with claims by its name, building those that the cache lacks."""
    return _built(*CLAIMS)


def cache_folder() -> Path:
    """Give the user's cache folder for what tests build, which may not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fabric-injector"


def go_module(module: str) -> Path:
    """Give the folder of a Go module, ``path@version``, downloaded where the module cache lacks it."""
    done = run(["go", "mod", "download", "-json", module], Path("/"))
    return Path(json.loads(done)["Dir"])


@functools.cache
def go_version() -> str:
    """Give the version of Go that builds here."""
    return run(["go", "env", "GOVERSION"], TOOLS / "kubernetes").strip()


def run(command: list[str], folder: Path) -> str:
    """Run a command without C and without a workspace of the user; give what it prints."""
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace"
        )
    except FileNotFoundError as error:
        raise AssetsUnavailable(f"{command[0]} is not on PATH; install it") from error
    if done.returncode != 0:
        told = "\n".join((done.stdout + done.stderr).splitlines()[-10:])
        raise AssetsUnavailable(f"{' '.join(command)}: status {done.returncode}\n{told}")
    return done.stdout


def build_once(flags: list[str], folder: Path, package: str, target: Path, duration: str) -> None:
    """Build a package of the Go module in the folder, unless another process does so first; AssetsUnavailable where it fails."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AssetsUnavailable(f"the cache folder cannot be made: {error}") from error
    with _locked(target.with_name("lock")):
        if target.is_file():
            return
        started, partial = time.monotonic(), target.with_name(f".{target.name}.{os.getpid()}")
        _say(f"building {target.name} into {target.parent} ({duration}, once)")
        try:
            run(["go", "build", *flags, "-o", str(partial), package], folder)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        _say(f"built {target.name} in {time.monotonic() - started:.0f} s")


def _built(*names: str) -> dict[str, Path]:
    root, version = cache_folder() / "assets", go_version()
    paths = {name: root / _key(version, PROGRAMS[name]) / name for name in names}
    for name, path in paths.items():
        if not path.is_file():
            program = PROGRAMS[name]
            folder = TOOLS / program.module
            build_once(_flags(program), folder, program.package, path, program.duration)
    return paths


def _flags(program: Program) -> list[str]:
    """Give the build flags of the program; clients complain about an API server that was linked without its version."""
    pinned = re.search(
        r"k8s\.io/kubernetes (v[\d.]+)", (TOOLS / "kubernetes" / "go.mod").read_text()
    )
    assert pinned is not None
    version = pinned[1]
    major, minor, _ = version.removeprefix("v").split(".")
    fields = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    settings = " ".join(
        f"-X k8s.io/component-base/version.{field}={value}" for field, value in fields.items()
    )
    tags = ["-tags", program.tags] if program.tags else []
    return ["-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", f"-s -w {settings}", *tags]


def _key(version: str, program: Program) -> str:
    digest = hashlib.sha256(f"{version} {_flags(program)}".encode())
    for pattern in ("go.*", "*.go"):  # the pinned modules, and the programs that are our own
        files = (file for module in program.modules for file in (TOOLS / module).glob(pattern))
        for file in sorted(files):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


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
