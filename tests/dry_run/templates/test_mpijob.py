"""The launcher and the workers of an MPIJob."""

from __future__ import annotations

from tests.dry_run.templates.kinds import find, mpi_job, template, workload
from webhook.core import podspec


def test_gives_an_mpi_worker_without_a_command_the_ssh_server() -> None:
    bare = {"name": "mpi", "image": "i"}
    roles = {"Worker": {"template": template(bare)}}
    [found] = find(
        workload("kubeflow.org/v2beta1", "MPIJob", "hvd", {"mpiReplicaSpecs": roles})
    ).pods
    assert found.pod["spec"]["containers"][0]["command"] == ["/usr/sbin/sshd", "-De"]


def test_gives_a_launcher_that_works_the_first_index() -> None:
    launcher, worker, _ = (
        each.pod for each in find(mpi_job("v2beta1", runLauncherAsWorker=True)).pods
    )
    index = "training.kubeflow.org/replica-index"
    assert (podspec.labels(launcher)[index], podspec.labels(worker)[index]) == ("0", "1")
