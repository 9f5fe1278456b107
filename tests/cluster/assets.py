"""The Go programs of programs.yaml, built once and kept in the user's cache."""

import fcntl
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

TOOLS = Path(__file__).parent / "tools"
SOURCES = "OPERATORS_SOURCES"
"""Names a folder with checkouts under the operators' names, for machines that cannot clone."""
OPERATORS_FLAGS = ("-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", "-s -w")
_FILE: Any = yaml.safe_load(Path(__file__).with_name("programs.yaml").read_bytes())
OPERATORS: Any = _FILE["operators"]


class AssetsUnavailable(Exception):
    """Something cannot be downloaded or built here; the message says why."""


def assets(group: str = "control-plane") -> dict[str, Path]:
    """Give the path of each program of one of the sets by its name, built if need be."""
    return {name: binary(name) for name in _FILE["sets"][group]}


@functools.cache
def binary(name: str) -> Path:
    """Give the path of one program, built if need be."""
    program = _FILE["programs"][name]
    module, flags = program["module"], _flags(program.get("tags"))
    digest = hashlib.sha256(f"{go_version()} {flags}".encode())
    modules = next((each for each in _FILE["together"] if module in each), [module])
    for pattern in ("go.*", "*.go"):  # the pinned modules, and the programs that are our own
        for file in sorted(file for one in modules for file in (TOOLS / one).glob(pattern)):
            digest.update(file.read_bytes())
    path = cache_folder() / "assets" / digest.hexdigest()[:16] / name
    _build_once(flags, TOOLS / module, program["package"], path, program.get("minutes", 2))
    return path


def operator_programs(name: str) -> dict[str, Path]:
    """Give the program of each Deployment of an operator, built if need be."""
    operator, built = OPERATORS[name], {}
    recipe = f"{go_version()} {OPERATORS_FLAGS} {operator['source']}@{operator['version']}"
    digest = hashlib.sha256(recipe.encode()).hexdigest()[:16]
    for deployment, package in operator["programs"].items():
        built[deployment] = cache_folder() / "operators" / f"{name}-{digest}" / deployment
        _build_once([*OPERATORS_FLAGS], operator_source(name), package, built[deployment], 5)
    return built


def operator_source(name: str) -> Path:
    """Give the folder of an operator's source, downloaded where it is not here yet."""
    source, version = OPERATORS[name]["source"], OPERATORS[name]["version"]
    given = Path(os.environ.get(SOURCES) or "/nonexistent") / name
    if given.is_dir():
        return given
    if not source.startswith("https:"):
        return go_module(f"{source}@{version}")
    folder = cache_folder() / "operators" / f"{name}-{version}"
    if not (folder / "go.mod").is_file():
        run(["git", "clone", "--quiet", "--branch", version, "--depth", "1", source, str(folder)])
    return folder


def definitions() -> list[Path]:
    """Give the files of custom resources of others, downloaded if need be."""
    return [go_module(name) / one for name, files in _FILE["definitions"].items() for one in files]


def cache_folder() -> Path:
    """Give the user's cache folder for what tests build, which may not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fabric-injector"


def go_module(module: str) -> Path:
    """Give the folder of a Go module, ``path@version``, downloaded if need be."""
    done = run(["go", "mod", "download", "-json", module])
    return Path(json.loads(done)["Dir"])


@functools.cache
def go_version() -> str:
    """Give the version of Go that builds here."""
    return run(["go", "env", "GOVERSION"], TOOLS / "kubernetes").strip()


def run(command: list[str], folder: Path = Path("/"), **environment: str) -> str:
    """Run a command without C and without a workspace of the user; give what it prints."""
    env = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", **environment}
    if not shutil.which(command[0]):
        raise AssetsUnavailable(f"{command[0]} is not on PATH; install it")
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, errors="replace")
    if done.returncode != 0:
        told = "\n".join((done.stdout + done.stderr).splitlines()[-10:])
        raise AssetsUnavailable(f"{' '.join(command)}: status {done.returncode}\n{told}")
    return done.stdout


def render(folder: Path) -> str:
    """Give what the pinned `kubectl kustomize` prints; raise RuntimeError with its complaints."""
    command = [str(binary("kubectl")), "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode != 0 or done.stderr:
        raise RuntimeError(f"kubectl kustomize {folder}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def _build_once(flags: list[str], folder: Path, package: str, target: Path, minutes: int) -> None:
    """Build a package of the Go module in the folder, unless it is there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name("lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may build it
        if target.is_file():
            return
        told = f"building {target.name} into {target.parent} (about {minutes} min on 2 cores, once)"
        print(f"tests.cluster.assets: {told}", file=sys.stderr, flush=True)
        partial = target.with_name(f".{target.name}.partial")
        run(["go", "build", *flags, "-o", str(partial), package], folder)
        partial.replace(target)


def _flags(tags: str | None) -> list[str]:
    """Give the build flags; clients complain of an API server without its version."""
    pinned = (TOOLS / "kubernetes" / "go.mod").read_text()
    [(version, major, minor)] = re.findall(r"k8s\.io/kubernetes (v(\d+)\.(\d+)\.\d+)", pinned)
    fields = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    settings = " ".join(
        f"-X k8s.io/component-base/version.{field}={value}" for field, value in fields.items()
    )
    linked = ["-ldflags", f"-s -w {settings}", *(["-tags", tags] if tags else [])]
    return ["-trimpath", "-buildvcs=false", "-mod=readonly", *linked]
