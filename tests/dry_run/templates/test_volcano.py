"""The pods of a Volcano Job, and what its plugins add."""

from __future__ import annotations

import pytest

from tests.dry_run.templates.kinds import container, env, find, template, volcano_job
from webhook.core import podspec
from webhook.core.model import Object


def test_passes_scheduler_and_priority_of_a_volcano_job_on() -> None:
    manifest = volcano_job(("a", 1), ("b", 1), priorityClassName="high", schedulerName="own")
    manifest["spec"]["tasks"][1]["template"] = template(
        container("b"), schedulerName="mine", priorityClassName="low"
    )
    first, second = (each.pod["spec"] for each in find(manifest).pods)
    assert (first["schedulerName"], first["priorityClassName"]) == ("own", "high")
    assert (second["schedulerName"], second["priorityClassName"]) == ("mine", "low")


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        ({"svc": []}, ["VC_MAIN_HOSTS", "VC_MAIN_NUM"]),
        ({"env": []}, ["VK_TASK_INDEX", "VC_TASK_INDEX"]),
        ({"svc": ["--inject-hosts-env=false"]}, []),
        (
            {"pytorch": ["--master", "main"]},
            ["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "VC_MAIN_HOSTS", "VC_MAIN_NUM"],
        ),
        ({"pytorch": []}, ["VC_MAIN_HOSTS", "VC_MAIN_NUM"]),
        ({"tensorflow": []}, ["VC_MAIN_HOSTS", "VC_MAIN_NUM"]),
        (None, []),
    ],
    ids=[
        "svc",
        "env",
        "svc without hosts",
        "pytorch",
        "pytorch without a master",
        "tensorflow",
        "none",
    ],
)
def test_runs_the_plugins_of_a_volcano_job(plugins: Object | None, expected: list[str]) -> None:
    [found] = find(volcano_job(("main", 1), plugins=plugins)).pods
    assert [entry["name"] for entry in podspec.env(found.pod["spec"]["containers"][0])] == expected


def test_takes_host_and_subdomain_of_the_master_from_its_template() -> None:
    manifest = volcano_job(
        ("master", 1),
        ("worker", 1),
        plugins={"pytorch": ["--port=1234", "-wait-master-enabled=true"]},
    )
    manifest["spec"]["tasks"][0]["template"] = template(container("m"), hostname="h", subdomain="s")
    master, worker = (each.pod for each in find(manifest).pods)
    assert (env(worker, "MASTER_ADDR"), env(worker, "MASTER_PORT")) == ("h.s", "1234")
    assert (master["spec"]["hostname"], master["spec"]["subdomain"]) == ("h", "s")
    assert [each["name"] for each in worker["spec"]["initContainers"]] == ["wait-for-master"]


def test_a_task_that_is_neither_master_nor_worker_gets_no_rank() -> None:
    found = find(
        volcano_job(("master", 1), ("worker", 2), ("monitor", 1), plugins={"pytorch": []})
    ).pods
    assert [env(each.pod, "RANK") for each in found] == ["0", "1", None]
    assert {env(each.pod, "MASTER_ADDR") for each in found} == {"bert-master-0.bert"}
    assert {env(each.pod, "WORLD_SIZE") for each in found} == {"3"}
