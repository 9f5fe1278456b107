"""Jobs whose rank 0 is named in one way or another, and how they must meet: rows.yaml, read."""

import re
from typing import Any, NamedTuple

from tests.tables import read
from webhook.core.model import Object

from . import manifests

_FILE: Any = read(__file__, "rows.yaml")
EVERY: tuple[str, ...] = tuple(_FILE["rows"]["TrainJob"]["versions"])
"""Versions of torch between which the meeting changed."""
NEWEST = EVERY[-1]
"""The version of torch that runs all rows."""
NAME = "ddp-0.ddp"


class Row(NamedTuple):
    """The objects of a job, and what a line of rows.yaml says of it."""

    manifests: tuple[Object, ...]
    rank_zero: str
    master_addr: tuple[str, ...]
    waits: tuple[frozenset[str], ...]
    versions: tuple[str, ...]


def _row(line: Any) -> Row:
    waits = tuple(map(frozenset, line["waits"]))
    versions = tuple(line.get("versions", (NEWEST,)))
    made = [_made(**job) for job in line.get("jobs", ())]
    if "pods_of" in line:
        made = manifests.pods_of(line["pods_of"])
    return Row(tuple(made), line["rank_zero"], tuple(line["master_addr"]), waits, versions)


def _made(size: int = 0, order: str = "", **job: Any) -> Object:
    [(kind, given)] = job.items()
    roles = {"main": given} if "run" in given else given
    made = {role: _container(**one) for role, one in roles.items()}
    return manifests.job(kind, size, order, **made)


def _container(run: str, name: str = "main", env: Any = None) -> Object:
    start = re.compile(r"static\((\S+), (.+)\)$")
    text = start.sub(lambda found: manifests.torchrun(found[1], found[2]), run)
    return manifests.container(text, name, **(env or {}))


ROWS = {name: _row(line) for name, line in _FILE["rows"].items()}
