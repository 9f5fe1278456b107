"""The jobs of rows.yaml, run: all meet, none waits in vain, all train on the fabric."""

import json

import pytest

from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.node.pods import Report
from tests.cluster.operators.cluster import Cluster
from tests.cluster.operators.expectations import assert_trained_on_the_fabric
from tests.cluster.operators.manifests import with_image
from tests.cluster.operators.rows import ROWS
from webhook.core.injection import wait

CASES = [(name, version) for name, row in ROWS.items() for version in row.versions]
OPERATORS = {
    "kubeflow.org/v1": "training-operator",
    "jobset.x-k8s.io/v1alpha2": "jobset",
    "batch.volcano.sh/v1alpha1": "volcano",
    "leaderworkerset.x-k8s.io/v1": "lws",
}


@pytest.mark.parametrize(
    ("name", "version"), CASES, ids=[f"{name}, torch {version}" for name, version in CASES]
)
def test_a_job_meets_and_trains_on_the_fabric(
    cluster: Cluster, namespace: NamespaceFactory, name: str, version: str
) -> None:
    row, space = ROWS[name], namespace("rdma-shared")
    for manifest in row.manifests:
        if operator := OPERATORS.get(manifest["apiVersion"]):
            cluster.install(operator)
    image = cluster.torch(version)
    for manifest in row.manifests:
        space.submit(with_image(manifest, image))
    reports = space.reports(len(row.master_addr))
    assert_trained_on_the_fabric(reports)
    assert reports[0].pod.name.startswith(row.rank_zero), [report.pod.name for report in reports]
    expected = [address(each, reports[0], version) for each in row.master_addr]
    assert [report.master_addr for report in reports] == expected
    ordered = reports if row.rank_zero else sorted(reports, key=lambda report: report.pod.name)
    written = json.dumps(row.manifests)
    for report, needs in zip(ordered, row.waits, strict=True):
        pod = report.pod.get()
        assert set(wait.needs(pod)) == needs
        for one in pod["spec"]["containers"]:
            assert json.dumps(one["command"]) in written, "no text is ever changed"


def address(expected: str, zero: Report, version: str) -> str:
    """Give what MASTER_ADDR must be, for the symbols of a row."""
    if expected == "C10D":  # 2.4 tells its own host's name, whatever address it was given
        return str(zero.train["host"]) if version.startswith("2.4.") else zero.pod.fabric_address()
    symbols = {
        "ADDRESS": zero.pod.fabric_address(),
        "LOCAL_ADDR": zero.environment.get("PET_LOCAL_ADDR") or zero.train["host"],
        "LEADER": f"{zero.pod.name}.ddp.{zero.pod.namespace}",
        "POD_IP": zero.pod.get()["status"]["podIP"],
    }
    return str(symbols.get(expected, expected))
