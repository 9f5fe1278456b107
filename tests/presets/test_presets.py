"""Each preset gives a plain job what the vendor's manifest asks for, nothing less, and names what it adds and leaves out."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml

from tests import ROOT
from tests.presets.comparison import Items, gives, items_of
from webhook.core import names, podspec
from webhook.core.claim_templates import template_name, template_spec
from webhook.core.profiles import Profiles, parse_profiles
from webhook.core.review import Verdict, decide
from webhook.dry_run import PodResult, dry_run
from webhook.presets import VERIFIED, preset_names, read_preset
from webhook.validate.text import find_faults
from webhook.world.objects import ObjectsWorld

HERE = ROOT / "tests/presets"
NAMES = preset_names()
GPU = "nvidia.com/gpu"
each_preset = pytest.mark.parametrize("name", NAMES)


@cache
def facts(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((HERE / f"vendor/{name}.yaml").read_text())
    return read


def spec(name: str) -> dict[str, Any]:
    found: dict[str, Any] = read_preset(name).profile["spec"]
    return found


@cache
def profiles(name: str) -> Profiles:
    """Read the preset."""
    return parse_profiles(read_preset(name).text)


@cache
def world(name: str) -> ObjectsWorld:
    """Return the cluster with a labelled namespace, and the vendor's networks as its operator makes them."""
    objects: list[dict[str, Any]] = [
        {"kind": "Namespace", "metadata": {"name": "research", "labels": {names.PROFILE: name}}}
    ]
    for network, resource in facts(name).get("networks", {}).items():
        namespace, _, short = network.partition("/")
        annotations = {names.RESOURCE_NAME: resource} if resource else {}
        objects.append(
            {
                "kind": "NetworkAttachmentDefinition",
                "metadata": {"name": short, "namespace": namespace, "annotations": annotations},
                "spec": {"config": json.dumps({"type": "macvlan", "ipam": {"type": "nv-ipam"}})},
            }
        )
    return ObjectsWorld(objects)


@cache
def training_pods(name: str) -> list[PodResult]:
    """Return the pods of the preset's plain jobs that have accelerators."""
    text = (HERE / f"jobs/{name}.yaml").read_text()
    run = dry_run(
        text,
        namespace="research",
        profile=None,
        profiles=profiles(name),
        world=world(name),
    )
    return [pod for pod in run.pods if _trains(pod.before)]


def _trains(pod: dict[str, Any]) -> bool:
    return any(
        GPU in each.get("resources", {}).get("limits", {}) for each in pod["spec"]["containers"]
    )


def verdicts(name: str, **fields: Any) -> Iterator[Verdict]:
    """Decide about each of these pods, with other fields of its spec."""
    for pod in training_pods(name):
        job = copy.deepcopy(pod.before)
        job["spec"] |= fields
        yield decide(job, "research", profiles(name), world(name))


def items(pod: dict[str, Any]) -> Items:
    return items_of(pod, pod["spec"]["containers"][0]["name"])


@each_preset
def test_the_pods_ask_for_what_the_vendors_manifest_asks_for(name: str) -> None:
    left_out = set(read_preset(name).about["leavesOut"])
    found_pods = training_pods(name)
    assert found_pods
    for pod in found_pods:
        assert pod.allowed, pod.message
        found = items(pod.after)
        for item, asked in facts(name)["asks"].items():
            if item not in left_out:
                assert item in found, f"{pod.source}: {item} is missing"
                assert gives(item, asked, found[item]), (
                    f"{pod.source}: {item} is {found[item]!r}, not {asked!r}"
                )


@each_preset
def test_what_it_leaves_out_is_named(name: str) -> None:
    asks = facts(name)["asks"]
    for item in read_preset(name).about["leavesOut"]:
        if item.startswith("selector "):  # of a claim
            assert item.removeprefix("selector ") in str(facts(name)["templates"])
            continue
        assert item in asks, f"the vendor's manifest does not ask for {item}"
        for pod in training_pods(name):
            added = set(items(pod.after)) - set(items(pod.before))
            assert item not in added, f"{item} is not left out"


@each_preset
def test_what_it_adds_is_named(name: str) -> None:
    added: set[str] = set()
    for pod in training_pods(name):
        before, after = items(pod.before), items(pod.after)
        assert set(before) <= set(after)
        added |= set(after) - set(before) - set(facts(name)["asks"])
        added |= {f"new value of {item}" for item in before if before[item] != after[item]}
        old, new = (each["spec"]["containers"][0] for each in (pod.before, pod.after))
        assert old.get("command") == new.get("command")
    assert added == set(read_preset(name).about["adds"])


@pytest.mark.parametrize("name", [name for name in NAMES if "claims" in spec(name)])
def test_the_claims_are_the_vendors_templates(name: str) -> None:
    """But for selectors that the preset names as left out; a field's default may be written or not."""
    left_out = read_preset(name).about["leavesOut"]
    wanted = copy.deepcopy(facts(name)["templates"])
    for template in wanted.values():
        for request in template["devices"]["requests"]:
            exactly = request["exactly"]
            exactly.setdefault("allocationMode", "ExactCount")
            if exactly["allocationMode"] == "ExactCount":
                exactly.setdefault("count", 1)
            selectors = exactly.pop("selectors", [])
            kept = [
                each
                for each in selectors
                if f"selector {each['cel']['expression']}" not in left_out
            ]
            exactly |= {"selectors": kept} if kept else {}
    claims = profiles(name).profiles[name].claims
    assert {claim.name: template_spec(claim)["spec"] for claim in claims} == wanted
    for pod in training_pods(name):
        named = [each["resourceClaimTemplateName"] for each in pod.after["spec"]["resourceClaims"]]
        assert named == [template_name(claim) for claim in claims]


@each_preset
def test_a_second_look_changes_nothing(name: str) -> None:
    for pod in training_pods(name):
        again = decide(copy.deepcopy(pod.after), "research", profiles(name), world(name))
        assert (again.allowed, again.operations) == (True, [])


@each_preset
def test_the_jobs_own_variables_win(name: str) -> None:
    variables = [each["name"] for each in spec(name).get("container", {}).get("env", ())]
    own = [{"name": variable, "value": "own"} for variable in variables]
    for pod in training_pods(name):
        job = copy.deepcopy(pod.before)
        job["spec"]["containers"][0]["env"] = [*job["spec"]["containers"][0].get("env", []), *own]
        verdict = decide(job, "research", profiles(name), world(name))
        found = items(verdict.pod)
        assert {variable: found[f"variable {variable}"] for variable in variables} == dict.fromkeys(
            variables, "own"
        )


@pytest.mark.parametrize(
    "name", ["eks-efa-dra", "gke-rdma", "gke-rdma-dra", "gke-tcpx", "gke-tcpxo"]
)
@pytest.mark.parametrize("asked", [0, 2])
def test_what_a_whole_node_has_is_not_given_to_a_part_of_it(name: str, asked: int) -> None:
    verdict = changed(name, {"asks": {GPU: asked}, "labels": {names.PROFILE: name}})
    assert (verdict.allowed, verdict.operations) == (True, [])
    assert "other-accelerators" in [decision.reason for decision in verdict.decisions]


def changed(name: str, case: dict[str, Any]) -> Verdict:
    """Decide about the first plain pod of the preset, changed as *case* says."""
    job = copy.deepcopy(training_pods(name)[0].before)
    own = job["spec"]["containers"][0]["resources"]
    for key in own:
        own[key] |= case.get("asks", {})
    job["metadata"]["annotations"] = case.get("annotations", {})
    job["metadata"]["labels"] = {**job["metadata"].get("labels", {}), **case.get("labels", {})}
    job["spec"]["nodeSelector"] = case.get("nodes", {})
    filled = read_preset(name).for_nodes(case.get("types", ()))
    return decide(job, "research", parse_profiles(filled.text), world(name))


TYPE, GKE_TYPE = "node.kubernetes.io/instance-type", "cloud.google.com/gke-accelerator"
EFA, INTERFACES = "resource vpc.amazonaws.com/efa", "annotation networking.gke.io/interfaces"
TCPX = "mount /run/tcpx"
OWN = '[{"interfaceName":"eth0","network":"default"}]'


@pytest.mark.parametrize(
    ("name", "case", "item", "value"),
    [
        ("eks-efa", {"nodes": {TYPE: "p5.48xlarge"}, "asks": {GPU: 2}}, EFA, "8"),
        ("eks-efa", {"nodes": {TYPE: "ml.p5en.48xlarge"}}, EFA, "16"),
        ("eks-efa", {"nodes": {TYPE: "g7.48xlarge"}, "asks": {GPU: 4}}, EFA, "1"),
        ("eks-efa", {"nodes": {TYPE: "p6e-gb200.36xlarge"}, "asks": {GPU: 4}}, EFA, "4"),
        ("eks-efa", {"nodes": {TYPE: "p5.48xlarge"}, "asks": {EFA[9:]: 2}}, EFA, 2),
        ("eks-efa", {"asks": {EFA[9:]: 2, GPU: 1}}, EFA, 2),
        ("eks-efa", {"types": ["p5.48xlarge", "p5en.48xlarge"]}, EFA, "16"),
        ("eks-efa", {"types": ["p4d.24xlarge"], "asks": {GPU: 4}}, EFA, "2"),
        ("eks-efa", {"types": ["g5.12xlarge", "p5.48xlarge"], "asks": {GPU: 4}}, EFA, "1"),
        ("gke-rdma", {"annotations": {INTERFACES[11:]: OWN}}, INTERFACES, OWN),
        ("gke-tcpx", {"nodes": {GKE_TYPE: "nvidia-h100-80gb"}}, TCPX, "hostPath /run/tcpx"),
        ("gke-tcpxo", {"annotations": {INTERFACES[11:]: OWN}}, INTERFACES, OWN),
    ],
)
def test_gives_the_number_of_the_node_and_leaves_the_jobs_own(
    name: str, case: dict[str, Any], item: str, value: Any
) -> None:
    verdict = changed(name, case)
    assert verdict.allowed, verdict.message
    found = items(verdict.pod)
    assert found[item] == value
    variables = {f"variable {each}" for each in profiles(name).profiles[name].env}
    assert variables <= set(found)


@pytest.mark.parametrize(
    ("name", "case", "told"),
    [
        ("eks-efa", {}, f"select nodes by {TYPE} (p4d.24xlarge"),
        ("eks-efa", {"nodes": {TYPE: "g5.xlarge"}}, "gives no number"),
        ("eks-efa", {"nodes": {TYPE: "ml.p6e-gb200.36xlarge"}}, "gives no number"),
        ("eks-efa", {"types": ["p5.48xlarge"], "nodes": {TYPE: "m5.large"}}, "gives no number"),
        ("gke-rdma", {"nodes": {GKE_TYPE: "nvidia-l4"}}, f"select nodes by {GKE_TYPE}"),
        ("gke-rdma", {"nodes": {TYPE: "a3-megagpu-8g"}}, f"select nodes by {TYPE}"),
        ("gke-tcpx", {"nodes": {GKE_TYPE: "nvidia-l4"}}, "(nvidia-h100-80gb)"),
        ("gke-tcpx", {"nodes": {GKE_TYPE: "nvidia-h100-mega-80gb"}}, "(nvidia-h100-80gb)"),
        ("gke-tcpx", {"nodes": {TYPE: "a3-highgpu-4g"}}, "(a3-highgpu-8g)"),
        ("gke-tcpxo", {"nodes": {GKE_TYPE: "nvidia-h100-80gb"}}, "(nvidia-h100-mega-80gb)"),
    ],
)
def test_leaves_a_pod_alone_where_the_number_is_not_certain_and_says_what_to_write(
    name: str, case: dict[str, Any], told: str
) -> None:
    verdict = changed(name, case)
    [warning] = verdict.warnings
    assert told in warning
    assert {each["path"] for each in verdict.operations} == {
        "/metadata/annotations/fabric-injector.io~1left-alone",
        "/metadata/labels/fabric-injector.io~1left-alone",
    }
    written = podspec.annotations(verdict.pod)[names.LEFT_ALONE]
    assert written.startswith(warning.removesuffix("…"))


def test_marks_no_pod_without_accelerators() -> None:
    assert changed("eks-efa", {"asks": {GPU: 0}}).operations == []


def test_leaves_a_pod_alone_that_wants_no_efa() -> None:
    verdict = changed("eks-efa", {"types": ["p5.48xlarge"], "asks": {EFA[9:]: "0"}})
    assert (verdict.allowed, verdict.operations, verdict.warnings) == (True, [], ())
    assert [each.outcome for each in verdict.decisions] == ["skipped"]


@pytest.mark.parametrize("name", ["gke-rdma", "gke-tcpx", "gke-tcpxo"])
def test_asks_for_no_interfaces_of_a_pod_on_the_nodes_network(name: str) -> None:
    for verdict in verdicts(name, hostNetwork=True):
        assert (verdict.allowed, verdict.operations) == (True, [])
        (decision,) = verdict.decisions
        assert (decision.outcome, decision.reason) == ("warned", "host-network")
        assert "networking.gke.io/interfaces" in decision.message


def test_names_no_interface_of_the_pod_network_to_coreweaves_pods_on_the_nodes() -> None:
    for verdict in verdicts("coreweave-infiniband", hostNetwork=True):
        found = items(verdict.pod)
        assert "variable NCCL_IB_HCA" in found
        assert "variable NCCL_SOCKET_IFNAME" not in found


@each_preset
def test_its_files_are_whole(name: str) -> None:
    preset = read_preset(name)
    about = {"gives", "verified", "note", "sources", "change", "adds", "leavesOut"}
    assert {*preset.about} - {"images"} == about
    assert preset.about["verified"] in VERIFIED
    for source in preset.about["sources"]:
        assert re.fullmatch(r"https://github\.com/[^/]+/[^/]+/blob/[0-9a-f]{40}/\S+", source["url"])
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", str(source["date"]))
        assert source["for"]
    assert preset.profile["metadata"] == {"name": name}
    assert [*find_faults(preset.profile)] == []
    assert "NCCL_IB_GID_INDEX" not in preset.text, "it differs by node"
    sidecars = spec(name).get("pod", {}).get("spec", {}).get("initContainers", [])
    assert preset.images == [sidecar["image"] for sidecar in sidecars]
    assert all(":" in image.rpartition("/")[2] for image in preset.images)


def test_each_has_a_job_and_a_vendors_manifest() -> None:
    for folder in ("jobs", "vendor"):
        assert sorted(path.stem for path in (HERE / folder).glob("*.yaml")) == NAMES
