"""What shows a pod of a general-purpose workload to be one of several nodes, and what does not."""

import re
from typing import Any

import pytest

from tests.core.workloads.rows import build, each
from tests.tables import read
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise
from webhook.core.workloads.nodes import find_mark, shows_member

ROWS = read(__file__, "marks.yaml")
REFERENCE = {"valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}


def running(text: str, *env: Object) -> Object:
    return {"name": "main", "command": ["sh", "-c", text], "env": list(env)}


@pytest.mark.parametrize("source", [{"value": "x"}, REFERENCE], ids=["value", "reference"])
@pytest.mark.parametrize("name", [*ROWS["several"], *ROWS["other"]])
def test_knows_variables_of_several_nodes(name: str, source: Object) -> None:
    found = find_mark(running("./run.sh", {"name": "A", "value": "b"}, {"name": name, **source}))
    assert found == (f"sets {name}" if name in ROWS["several"] else "")


@pytest.mark.parametrize("row", [*ROWS["names"], *ROWS["names_none"]], ids=str)
def test_knows_a_container_that_names_a_pod_of_the_job(row: dict[str, Any]) -> None:
    entry = {"name": "HEAD", **{key: row[key] for key in row if key != "run"}}
    text = row.get("run", "./run.sh")

    def shows(text: str) -> bool:
        container = running(text, entry)
        return shows_member(container, lambda name: re.fullmatch(r"ddp-\d+", name) is not None)

    assert shows(text) is (row in ROWS["names"])
    assert shows(text + " x" * 40_000) is (row in ROWS["names"] and "run" not in row)


@each(read(__file__, "jobs.yaml")["counts"])
def test_counts_pods_by_their_marks(row: Object) -> None:
    trains = row.pop("trains")
    assert isinstance(recognise(build(row)), TrainingPod) is trains
    assert not isinstance(recognise(build({**row, "bare": True})), TrainingPod)
