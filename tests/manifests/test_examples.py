"""Each example profile completes each example job, as the dry run of the command line shows."""

import json
import re
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests import ROOT, pods
from tests.worlds import namespace
from webhook.cli import main
from webhook.core import names
from webhook.core.profiles import parse_profiles
from webhook.core.review import decide
from webhook.world.objects import ObjectsWorld

EXAMPLES = ROOT / "manifests" / "examples"
FABRICS: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "macvlan": ("default/rdma-macvlan", {"rdma/rdma_shared_device_a": "1"}, {}),
    "hostdevice": ("default/hostdev-net", {"nvidia.com/hostdev": "1"}, {"NCCL_IB_HCA": "mlx5"}),
    "ipoib": ("default/ipoib-net", {"rdma/rdma_shared_device_b": "1"}, {}),
    "sriov": (
        "default/rail-0,default/rail-1",
        {"nvidia.com/sriov_rail_0": "1", "nvidia.com/sriov_rail_1": "1"},
        {},
    ),
}
"""What each gives a pod: networks annotation, devices, environment."""
MADE_OF = {"MacvlanNetwork", "HostDeviceNetwork", "IPoIBNetwork", "SriovNetwork"}
"""Kinds of which the operators make a NetworkAttachmentDefinition of the same name."""
JOBS = {
    "jobs/torchx": ("torchx", "MASTER_ADDR"),
    "jobs/pytorchjob": ("pytorchjob", "MASTER_ADDR"),
    "jobs/jobset": ("jobset", "MASTER_ADDR"),
    "fabric-test/job": ("job", "MASTER_ADDR"),
}
"""The training system of each, and the worker's variable that leads to rank 0."""


def test_no_example_goes_untested() -> None:
    assert {folder.name for folder in EXAMPLES.iterdir()} == {*FABRICS, "jobs", "fabric-test"}
    jobs = {f"jobs/{file.stem}" for file in (EXAMPLES / "jobs").iterdir()}
    assert jobs == {job for job in JOBS if "jobs/" in job}


def dry_run(fabric: str, job: str) -> list[dict[str, Any]]:
    folder = EXAMPLES / fabric
    files = (f"--profiles={folder}/profiles.yaml", f"--objects={folder}/cluster.yaml")
    manifest = f"--file={EXAMPLES}/{job}.yaml"
    done = CliRunner().invoke(
        main, ["dry-run", manifest, *files, "--namespace=research", "--output=json"]
    )
    assert done.exit_code == 0, done.output
    pods: list[dict[str, Any]] = json.loads(done.stdout)["pods"]
    return pods


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("fabric", FABRICS)
def test_completes_the_job(fabric: str, job: str) -> None:
    networks, devices, variables = FABRICS[fabric]
    system, leads = JOBS[job]
    master, worker = dry_run(fabric, job)
    assert [each["rendezvous"] for each in (master, worker)] == ["master", "worker"]
    assert master["job"] == worker["job"] != ""
    for each in (master, worker):
        assert (each["allowed"], each["system"], each["warnings"]) == (True, system, [])
        pod = each["pod"]
        assert pod["metadata"]["annotations"][names.NETWORKS] == networks
        (container,) = pod["spec"]["containers"]
        assert devices.items() <= container["resources"]["limits"].items()
        assert devices.items() <= container["resources"]["requests"].items()
        assert container["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]
        assert "/dev/shm" in {mount["mountPath"] for mount in container["volumeMounts"]}
        env = {variable["name"]: variable for variable in container["env"]}
        socket = {"NCCL_SOCKET_IFNAME": "=net1", "GLOO_SOCKET_IFNAME": "net1"}
        wanted = {**socket, **variables}
        assert {name: env[name].get("value") for name in wanted} == wanted
        assert pod["spec"]["initContainers"][-1]["name"] == names.WAIT_CONTAINER
    env = {each["name"]: each for each in worker["pod"]["spec"]["containers"][0]["env"]}
    assert "fabric-injector.io/master-" in env[leads]["valueFrom"]["fieldRef"]["fieldPath"]


@pytest.mark.parametrize("fabric", FABRICS)
def test_the_workers_of_nccl_tests_are_injected_and_its_launcher_is_not(fabric: str) -> None:
    launcher, *workers = (
        each["pod"]["metadata"] for each in dry_run(fabric, "fabric-test/nccl-tests")
    )
    assert names.NETWORKS not in launcher.get("annotations", {})
    assert [each["annotations"][names.NETWORKS] for each in workers] == [FABRICS[fabric][0]] * 2


@pytest.mark.parametrize("fabric", FABRICS)
def test_the_networks_are_those_that_the_operator_makes(fabric: str) -> None:
    """By name, namespace and device; the label of the namespace is one of the profiles."""
    namespace, *definitions = yaml.safe_load_all((EXAMPLES / fabric / "cluster.yaml").read_text())
    made = [
        each
        for each in yaml.safe_load_all((EXAMPLES / fabric / "network.yaml").read_text())
        if each["kind"] in MADE_OF
    ]
    assert [(each["metadata"]["name"], each["metadata"]["namespace"]) for each in definitions] == [
        (each["metadata"]["name"], each["spec"]["networkNamespace"]) for each in made
    ]
    for definition, cr in zip(definitions, made, strict=True):
        annotated = definition["metadata"].get("annotations", {}).get(names.RESOURCE_NAME)
        stated = cr["spec"].get("resourceName")
        assert annotated == (f"nvidia.com/{stated}" if stated else None)
        assert json.loads(definition["spec"]["config"])["ipam"] == json.loads(cr["spec"]["ipam"])
    profile = yaml.safe_load((EXAMPLES / fabric / "profiles.yaml").read_text())
    assert profile["metadata"]["name"] == namespace["metadata"]["labels"][names.PROFILE]


def test_the_manuals_profile_gives_a_pod_all_that_it_says() -> None:
    manual = (ROOT / "docs/profiles.md").read_text()
    section = manual.partition("## Whatever a pod can say\n")[2]
    profile = re.findall(r"^```yaml\n(.*?)^```", section, re.DOTALL | re.MULTILINE)[0]
    read = parse_profiles(profile)
    pod = pods.minimal_pod()
    pod["metadata"].setdefault("labels", {})[names.PROFILE] = "cloud"
    pod["spec"]["nodeSelector"] = {names.INSTANCE_TYPE: "p5.48xlarge"}
    pod["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 8}}
    verdict = decide(pod, "ml", read, ObjectsWorld([namespace("ml", "cloud")]))
    assert verdict.allowed, verdict.message
    spec = verdict.pod["spec"]
    assert spec["containers"][0]["resources"]["limits"]["vpc.amazonaws.com/efa"] == "32"
    assert [each["name"] for each in spec["initContainers"]][-1] == "fabric-daemon"
    assert {"node-sys", "libraries", "topology"} <= {each["name"] for each in spec["volumes"]}
    assert "nvidia.com/gpu" in {each["key"] for each in spec["tolerations"]}
