"""``fabric-injector survey``: which profile it tries, what it prints, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.cli.dry_run_command import POD
from tests.diagnose.survey import clusters
from tests.diagnose.survey.clusters import job
from tests.diagnose.survey.test_hostile import FABRIC_PROFILES, NETWORKS, cluster, invoke
from tests.fake_apiserver import NAMESPACES, NODES, PODS
from webhook import presets
from webhook.cli import main
from webhook.core import names
from webhook.core.profiles.convert import to_objects


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    path = tmp_path / "profiles.yaml"
    path.write_text(clusters.PROFILES + "  other: {}\n")
    return path


def without(*paths: str) -> Any:
    """Return the sample cluster, where these lists are not installed."""
    connection = cluster()
    for path in paths:
        del connection.objects[path]
    return connection


def test_the_summary_the_table_and_what_to_do_next() -> None:
    connection = cluster()
    connection.objects[PODS] += [
        *job("PyTorchJob", "host", "ml", hostNetwork=True),
        *job("JobSet", "web", "ml", pods=4),
    ]
    connection.objects[NAMESPACES].append(
        {"metadata": {"name": "ml", "labels": {names.POD_SECURITY_ENFORCE: "restricted"}}}
    )
    result = invoke(connection)
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        "6 of 7 multi-pod accelerator jobs in 2 namespaces train over the pod network.",
        "Profile rdma would complete 5; 1 would be refused: pod-security (1).",
        "Others: 1 on the nodes' network (hostNetwork).",
    ]
    assert lines[4].split() == [
        "NAMESPACE",
        "KIND",
        "JOBS",
        "PODS",
        "ACCELERATORS",
        "WOULD",
        "BE",
        "CHANGES",
        "IN",
        "THE",
        "WAY",
    ]
    assert lines[5].startswith("ml         JobSet           1     4     32 nvidia.com/gpu  refused ")
    assert len([line for line in lines if line.startswith("research ")]) == 5
    assert any(line.startswith("refused     pod-security: ml/web: container pytorch needs ") for line in lines)
    assert lines[-1] == "  kubectl label namespace research fabric-injector.io/profile=rdma"
    assert result.exit_code == 1, "something is refused"
    assert "(host-network)" not in result.stdout
    verbose = invoke(connection, "-v").stdout
    assert "(host-network)" in verbose
    assert "worker jobset-0" not in verbose
    assert "devices: container pytorch asks for rdma/hca: 1" in verbose


def test_before_anything_is_installed(profiles: Path) -> None:
    connection = without(FABRIC_PROFILES)
    result = invoke(connection)
    assert result.exit_code == 0
    assert "What a profile would change for 5 of them cannot be told: name one by --profile." in result.stdout
    result = invoke(connection, "--profiles", str(profiles), "--profile", "rdma")
    assert "Profile rdma would complete 5." in result.stdout
    assert f"--profile rdma --profiles {profiles}" in result.stdout


def test_a_file_that_holds_one_profile(tmp_path: Path, profiles: Path) -> None:
    single = tmp_path / "one.yaml"
    single.write_text(yaml.safe_dump_all(to_objects(clusters.PROFILES)))
    assert "Profile rdma would complete 5." in invoke(without(FABRIC_PROFILES), "--profile", str(single)).stdout
    result = invoke(cluster(), "--profile", str(profiles))
    assert (result.exit_code, "holds 2 profiles; name one: --profiles" in result.stderr) == (2, True)
    result = invoke(cluster(), "--profile", str(single), "--profiles", str(profiles))
    assert (result.exit_code, "are two files" in result.stderr) == (2, True)


def test_a_profile_that_comes_with_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "eks").mkdir()
    text = yaml.safe_dump(to_objects(clusters.PROFILES.replace("rdma:", "eks:"))[0])
    (tmp_path / "eks" / "profile.yaml").write_text(text)
    (tmp_path / "eks" / "about.yaml").write_text("{}")
    monkeypatch.setattr(presets, "files", lambda _package: tmp_path)
    for connection in (without(FABRIC_PROFILES), cluster()):
        result = invoke(connection, "--profile", "eks")
        assert "Profile eks would complete 5." in result.stdout, result.stderr
        assert "--profile eks --profiles <(fabric-injector presets eks)\n" in result.stdout
    assert "<(" not in invoke(cluster(), "--profile", "rdma").stdout
    forbidden = cluster()
    told = b'{"message": "is forbidden"}'
    forbidden.spoil = lambda request, *answer: (403, told) if request.endswith("fabricprofiles") else answer
    assert "Profile eks would complete 5." in invoke(forbidden, "--profile", "eks").stdout
    assert "give --profiles FILE" in invoke(forbidden, "--profile", "rdma").stderr


def test_a_job_that_gets_no_device_is_not_completed(tmp_path: Path) -> None:
    efa = tmp_path / "efa.yaml"
    efa.write_text("profiles: {efa: {quantities: [{resource: vpc.amazonaws.com/efa, byNodeType: {p5.48xlarge: 32}}]}}")
    result = invoke(cluster(), "--profile", str(efa))
    assert "Profile efa would complete 0; 5 would lack a device: unknown-quantity (5)." in result.stdout
    assert result.exit_code == 1


def test_of_several_profiles_none_is_taken(profiles: Path) -> None:
    result = invoke(without(FABRIC_PROFILES), "--profiles", str(profiles))
    assert "cannot be told: name one by --profile" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--profile", "absent"], "has no profile of this name; use one of: rdma"),
        (["--profile", "/absent.yaml"], "/absent.yaml: cannot be read"),
        (["--profiles", "/absent.yaml"], "/absent.yaml: cannot be read"),
        (["-o", "yaml"], "Invalid value for '-o'"),
        (["-n", "absent"], "-n absent: there is no namespace of this name"),
    ],
    ids=lambda value: value[1] if isinstance(value, list) else "",
)
def test_refuses(arguments: list[str], told: str) -> None:
    connection = cluster()
    connection.objects["/api/v1/namespaces/absent/pods"] = []
    result = invoke(connection, *arguments)
    assert (result.exit_code, told in result.stderr) == (2, True), result.stderr


def test_one_namespace_takes_rights_in_it_alone() -> None:
    connection = cluster()
    connection.objects["/api/v1/namespaces/research/pods"] = connection.objects[PODS]
    connection.objects["/api/v1/namespaces/research"] = {"metadata": {"name": "research"}}
    wide = {f"GET {path}" for path in (PODS, NAMESPACES, NODES, NETWORKS, FABRIC_PROFILES)}
    forbidden = b'{"message": "is forbidden"}'
    connection.spoil = lambda request, *answer: (403, forbidden) if request in wide else answer
    refused = invoke(connection)
    assert refused.exit_code == 2
    assert (
        "is forbidden; survey lists pods in all namespaces: ask for it, or name a namespace of yours by -n"
        in refused.stderr
    )
    result = invoke(connection, "-n", "research")
    assert result.exit_code == 0
    assert result.stdout.startswith("5 of 5 multi-pod accelerator jobs in 1 namespace train")
    assert "warn  nodes: cannot be read" in result.stdout


def test_an_empty_cluster() -> None:
    connection = cluster()
    connection.objects[PODS] = []
    result = invoke(connection)
    assert result.stdout == "No multi-pod accelerator job runs or waits in any namespace.\n"


def test_helps_with_examples() -> None:
    assert "Examples:\n    fabric-injector survey\n" in invoke(cluster(), "--help").output


def test_asks_for_a_cluster_and_for_no_option_that_it_lacks(tmp_path: Path) -> None:
    nowhere = {"HOME": str(tmp_path), "KUBECONFIG": "", "KUBERNETES_SERVICE_HOST": ""}
    told = CliRunner().invoke(main, ["survey"], env=nowhere)
    assert (told.exit_code, told.stderr.count("no credentials for a cluster"), told.stderr.count("--objects")) == (
        2,
        1,
        0,
    )
    told = CliRunner().invoke(main, ["dry-run", "-f", "-"], input=yaml.safe_dump(POD), env=nowhere)
    assert told.stderr.endswith("set KUBECONFIG, or do without a cluster, by --objects FILE\n")
