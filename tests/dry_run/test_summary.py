"""A dry run says of each workload who is in it, where they meet and train, and what goes wrong.

What it says of each manifest of summaries.yaml stands beside the manifest.
"""

import json
from typing import Any

import yaml

from tests.dry_run.runs import OBJECTS, PYTORCH_JOB, run
from tests.dry_run.templates.cases import each_row, rows
from tests.pods import FIXTURES
from tests.profiles import profiles
from webhook.core.model import Object
from webhook.dry_run import DryRun, dry_run
from webhook.world.objects import ObjectsWorld


def judged(row: Object) -> DryRun:
    """Judge the manifest of a row."""
    found = row["manifest"]
    text = (FIXTURES / row["file"]).read_text() if "file" in row else json.dumps(found)
    if "by" in row:
        known, world = profiles(json.dumps({"p": row["by"]})), ObjectsWorld(OBJECTS)
        return dry_run(text, namespace="research", profile="p", profiles=known, world=world)
    if "in" in row:
        found["metadata"]["namespace"] = row["in"]
        return run(json.dumps(found))
    return run(text, profile="rdma-shared")


def short(warning: str) -> str:
    """Leave out what admission says."""
    first, publishes, _ = warning.partition("publishes no address: ")
    return f"{first}{publishes}…" if publishes else warning


@each_row(rows("../summaries", "by", "in", "file", "says"))
def test_says_of_a_workload_what_it_is_together(row: Object) -> None:
    found = judged(row).workloads
    said = [text for each in found for text in (each.text, *map(short, each.warnings))]
    assert said == row["says"], "\n".join(said)


def test_takes_saved_pods_of_one_job_together() -> None:
    both: Any = yaml.safe_dump_all(pod.before for pod in run().pods)
    worker: Any = json.dumps(run().pods[1].before)
    [summary], [alone] = run(both).workloads, run(worker).workloads
    assert summary.source == alone.source == "Pods of job train-t4rcs9x6sv1m-4f39bf4dad"
    assert (summary.roles, alone.roles) == ({"rank 0": 1, "worker": 1}, {"worker": 1})


def test_writes_the_entry_of_the_document() -> None:
    [summary] = run(PYTORCH_JOB).workloads
    assert summary.as_json() == {
        "source": "PyTorchJob/bert",
        "namespace": "research",
        "pods": 9,
        "roles": {"rank 0": 1, "worker": 8},
        "agents": "",
        "meets": "net1 of default/rdma-net",
        "trains": "net1 of default/rdma-net",
        "problem": "",
        "summary": summary.text,
        "warnings": [],
    }
