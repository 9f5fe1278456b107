"""Sources and programs of the operators, built once and kept in the user's cache."""

import hashlib
import json
import os
import subprocess
from pathlib import Path

from tests.cluster.assets import AssetsUnavailable, build_once, cache_folder, go

from .programs import Operator

FLAGS = ("-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", "-s -w")
SOURCES = "OPERATORS_SOURCES"
"""Names a folder with checkouts under the operators' names, for machines that cannot clone."""


def built(operator: Operator) -> dict[str, Path]:
    """Give the program of each Deployment of the operator, built if need be; or AssetsUnavailable."""
    _, version = go()
    digest = hashlib.sha256(
        f"{version} {FLAGS} {operator.source}@{operator.version}".encode()
    ).hexdigest()[:16]
    folder = cache_folder() / "operators" / f"{operator.name}-{digest}"
    programs = {deployment: folder / deployment for deployment in operator.programs}
    for deployment, path in programs.items():
        if not path.is_file():
            package, duration = operator.programs[deployment], "some minutes on 2 cores"
            build_once([*FLAGS], source(operator), package, path, duration)
    return programs


def source(operator: Operator) -> Path:
    """Give the folder of the operator's source, downloaded where it is not here yet."""
    given = Path(os.environ.get(SOURCES) or "/nonexistent") / operator.name
    if given.is_dir():
        return given
    return _cloned(operator) if operator.source.startswith("https:") else _downloaded(operator)


def _downloaded(operator: Operator) -> Path:
    command = [go()[0], "mod", "download", "-json", f"{operator.source}@{operator.version}"]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=300)
    answer = json.loads(done.stdout or "{}")
    if done.returncode != 0:
        why = answer.get("Error") or done.stderr.strip()
        raise AssetsUnavailable(f"{' '.join(command)}: {why}")
    return Path(answer["Dir"])


def _cloned(operator: Operator) -> Path:
    folder = cache_folder() / "operators" / f"{operator.name}-{operator.version}"
    if not (folder / "go.mod").is_file():
        branch = ("--branch", operator.version, "--depth", "1")
        command = ["git", "clone", "--quiet", *branch, operator.source, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            told = f"{done.stderr.strip()}; {SOURCES} may name a folder with a checkout"
            raise AssetsUnavailable(f"{' '.join(command)}: {told} `{operator.name}`")
    return folder
