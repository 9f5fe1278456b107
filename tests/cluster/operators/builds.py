"""Sources and programs of the operators, built once and kept in the user's cache."""

import hashlib
import os
from pathlib import Path

from tests.cluster.assets import (
    AssetsUnavailable,
    build_once,
    cache_folder,
    go_module,
    go_version,
    run,
)

from .programs import Operator

FLAGS = ("-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", "-s -w")
SOURCES = "OPERATORS_SOURCES"
"""Names a folder with checkouts under the operators' names, for machines that cannot clone."""


def built(operator: Operator) -> dict[str, Path]:
    """Give the program of each Deployment of the operator, built if need be; or AssetsUnavailable."""
    digest = hashlib.sha256(
        f"{go_version()} {FLAGS} {operator.source}@{operator.version}".encode()
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
    if operator.source.startswith("https:"):
        return _cloned(operator)
    return go_module(f"{operator.source}@{operator.version}")


def _cloned(operator: Operator) -> Path:
    folder = cache_folder() / "operators" / f"{operator.name}-{operator.version}"
    if not (folder / "go.mod").is_file():
        branch = ("--branch", operator.version, "--depth", "1")
        try:
            run(["git", "clone", "--quiet", *branch, operator.source, str(folder)], Path("/"))
        except AssetsUnavailable as problem:
            told = f"{SOURCES} may name a folder with a checkout `{operator.name}`"
            raise AssetsUnavailable(f"{problem}\n{told}") from problem
    return folder
