"""profiles.yaml: what is read, with which defaults."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.core.profiles.texts import DESIGN_SAMPLE, SAMPLE, one
from webhook.core.errors import ProfilesError
from webhook.core.profiles import (
    ClaimConfig,
    ClaimConstraint,
    ClaimRequest,
    ConfigMapSource,
    EmptyDirSource,
    HostPathSource,
    Multus,
    Profile,
    ProfileClaim,
    ProfileMount,
    ProfileNetwork,
    ProfileQuantity,
    Profiles,
    ProfileSidecar,
    ProfileToleration,
    ProfileVolume,
    RendezvousSettings,
    SharedMemory,
    parse_profiles,
)


def test_reads_the_sample_of_the_design() -> None:
    assert parse_profiles(DESIGN_SAMPLE) == SAMPLE


@pytest.mark.parametrize("nothing", ["{}", "", "null", "~"], ids=repr)
def test_wants_no_field_of_a_profile(nothing: str) -> None:
    assert parse_profiles(f"profiles:\n  a: {nothing}\n").profiles == {"a": Profile(name="a")}


def test_gives_each_field_its_default() -> None:
    assert parse_profiles("profiles: {a: {networks: [{network: b}]}}") == Profiles(
        profiles={
            "a": Profile(
                name="a",
                pods="training",
                pod_labels={},
                networks=(
                    ProfileNetwork(namespace=None, name="b", interface=None, resources=(), count=1),
                ),
                resources={},
                existing_devices="complete",
                ipc_lock=True,
                pod_security="deny",
                shared_memory=SharedMemory(enabled=True, size_limit=None, limit_existing=False),
                env={},
                annotations={},
                container=None,
                node_selector={},
                rendezvous=RendezvousSettings(
                    enabled=True,
                    network=None,
                    ip_family="any",
                    timeout_seconds=1800,
                    wait_image=None,
                    rank_zero="address",
                ),
                allowed_namespaces=None,
            )
        },
        multus=Multus(
            namespace_isolation=False,
            global_namespaces=("default",),
            default_networks=0,
            resource_name_keys=("k8s.v1.cni.cncf.io/resourceName",),
        ),
    )


def test_reads_every_field() -> None:
    text = """
    multus: {namespaceIsolation: true, globalNamespaces: [default, openshift-multus], defaultNetworks: 2,
             resourceNameKeys: [example.com/a, example.com/b, example.com/a]}
    profiles:
      all.of_it:
        pods: all
        podLabels: {feature.pod.kubernetes.io/sriov-network: "true"}
        existingDevices: add
        annotations: {v1.multus-cni.io/default-network: fabric/primary, note: ""}
        networks: [{network: rail-0@rail0, resource: "rdma/a, rdma/b", count: 2}, {network: rails/rail-1}]
        resources: {nvidia.com/hostdev: 8, hugepages-2Mi: 1Gi, rdma/ib: "1"}
        ipcLock: false
        podSecurity: skip
        sharedMemory: {enabled: false, sizeLimit: 1.5Gi, limitExisting: true}
        env: {NCCL_DEBUG: "1", EMPTY: ""}
        container: trainer
        nodeSelector: {node.example.com/fabric: "true", empty: ""}
        rendezvous: {enabled: false, network: rail-0, ipFamily: IPv6, timeout: 1h30m, waitImage: busybox:1.37, rankZero: name}
        allowedNamespaces: [research, ml]
    """
    assert parse_profiles(text) == Profiles(
        profiles={
            "all.of_it": Profile(
                name="all.of_it",
                pods="all",
                pod_labels={"feature.pod.kubernetes.io/sriov-network": "true"},
                networks=(
                    ProfileNetwork(None, "rail-0", "rail0", ("rdma/a", "rdma/b"), 2),
                    ProfileNetwork("rails", "rail-1"),
                ),
                resources={"nvidia.com/hostdev": "8", "hugepages-2Mi": "1Gi", "rdma/ib": "1"},
                existing_devices="add",
                ipc_lock=False,
                pod_security="skip",
                shared_memory=SharedMemory(False, "1.5Gi", True),
                env={"NCCL_DEBUG": "1", "EMPTY": ""},
                annotations={"v1.multus-cni.io/default-network": "fabric/primary", "note": ""},
                container="trainer",
                node_selector={"node.example.com/fabric": "true", "empty": ""},
                rendezvous=RendezvousSettings(
                    False, ProfileNetwork(None, "rail-0"), "IPv6", 5400, "busybox:1.37", "name"
                ),
                allowed_namespaces=frozenset({"research", "ml"}),
            )
        },
        multus=Multus(True, ("default", "openshift-multus"), 2, ("example.com/a", "example.com/b")),
    )


OTHER_WAYS: list[tuple[str, Profile]] = [
    ("sharedMemory: {sizeLimit: none}", Profile("a")),
    ("rendezvous: {waitImage: none}", Profile("a")),
    ("allowedNamespaces: all", Profile("a")),
    (
        "container: null, networks: null, sharedMemory: ~, env: null, rendezvous: {network: null}",
        Profile("a"),
    ),
    ("allowedNamespaces: []", Profile("a", allowed_namespaces=frozenset())),
    ("allowedNamespaces: [all]", Profile("a", allowed_namespaces=frozenset({"all"}))),
    (
        "sharedMemory: {sizeLimit: 1073741824}",
        Profile("a", shared_memory=SharedMemory(size_limit="1073741824")),
    ),
    ("resources: {rdma/a: 0}", Profile("a", resources={"rdma/a": "0"})),
    (
        "resources: {rdma/a: 2k, rdma/b: 1000m}",
        Profile("a", resources={"rdma/a": "2k", "rdma/b": "1000m"}),
    ),
    (
        "volumes: [{name: v, hostPath: {path: //sys/./a/}}, {name: e, emptyDir: {}}, {name: c, configMap: {name: a.b}}]",
        Profile(
            "a",
            volumes=(
                ProfileVolume("v", host_path=HostPathSource("/sys/a")),
                ProfileVolume("e", empty_dir=EmptyDirSource()),
                ProfileVolume("c", config_map=ConfigMapSource("a.b")),
            ),
        ),
    ),
    (
        "volumes: [{name: e, emptyDir: {medium: Memory, sizeLimit: 1Gi}, hostPath: null}]",
        Profile("a", volumes=(ProfileVolume("e", empty_dir=EmptyDirSource("Memory", "1Gi")),)),
    ),
    (
        "mounts: [{name: v, mountPath: /a//b/, subPath: c/d, readOnly: true}]",
        Profile("a", mounts=(ProfileMount("v", "/a/b", read_only=True, sub_path="c/d"),)),
    ),
    (
        "sidecars: [{name: s, image: 'a.io:5000/b/c:1.2', resources: {cpu: 500m, memory: 1Gi, a/b: 1}, privileged: true}]",
        Profile(
            "a",
            sidecars=(
                ProfileSidecar(
                    "s",
                    "a.io:5000/b/c:1.2",
                    privileged=True,
                    resources={"cpu": "500m", "memory": "1Gi", "a/b": "1"},
                ),
            ),
        ),
    ),
    (
        "tolerations: [{operator: Exists}]",
        Profile("a", tolerations=(ProfileToleration(operator="Exists"),)),
    ),
    (
        "tolerations: [{key: a/b, value: c, effect: NoExecute, tolerationSeconds: 5}]",
        Profile("a", tolerations=(ProfileToleration("a/b", "Equal", "c", "NoExecute", 5),)),
    ),
    (
        "quantities: [{resource: a/b, byNodeType: {p5.48xlarge: 32}, nodeLabel: c/d}, {resource: a/c, perAccelerator: 4}]",
        Profile(
            "a",
            quantities=(
                ProfileQuantity("a/b", by_node_type={"p5.48xlarge": 32}, node_label="c/d"),
                ProfileQuantity("a/c", per_accelerator=4),
            ),
        ),
    ),
    (
        "claims: [{name: nic, requests: [{name: r, deviceClassName: dranet.net}, "
        "{name: s, deviceClassName: c, allocationMode: All, selectors: ['device.driver == \"d\"']}], "
        "constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot}], "
        "config: [{driver: dra.net, parameters: {b: 1.0, a: {c: [true]}}, requests: [r]}]}]",
        Profile(
            "a",
            claims=(
                ProfileClaim(
                    "nic",
                    (
                        ClaimRequest("r", "dranet.net"),
                        ClaimRequest(
                            "s", "c", allocation_mode="All", selectors=('device.driver == "d"',)
                        ),
                    ),
                    (ClaimConstraint("resource.kubernetes.io/pcieRoot"),),
                    (ClaimConfig("dra.net", '{"a":{"c":[true]},"b":1}', ("r",)),),
                ),
            ),
        ),
    ),
    (
        "rendezvous: {network: any/where}",
        Profile("a", rendezvous=RendezvousSettings(network=ProfileNetwork("any", "where"))),
    ),
    (
        "networks: [{network: a@x}], rendezvous: {network: a@x}",
        Profile(
            "a",
            networks=(ProfileNetwork(None, "a", "x"),),
            rendezvous=RendezvousSettings(network=ProfileNetwork(None, "a", "x")),
        ),
    ),
    ("networks: [{network: a/b.c}]", Profile("a", networks=(ProfileNetwork("a", "b.c"),))),
    (
        "networks: [{network: a, count: 0}]",
        Profile("a", networks=(ProfileNetwork(None, "a", count=0),)),
    ),
    (
        "networks: [{network: a}, {network: a}]",
        Profile("a", networks=(ProfileNetwork(None, "a"),) * 2),
    ),
    ('env: {"my.env-name": x, "_": "$(X)"}', Profile("a", env={"my.env-name": "x", "_": "$(X)"})),
]


@pytest.mark.parametrize(
    ("fields", "expected"), OTHER_WAYS, ids=[fields for fields, _ in OTHER_WAYS]
)
def test_takes_other_ways_to_write_a_value(fields: str, expected: Profile) -> None:
    assert one(fields) == expected


def test_hands_out_what_nobody_can_change() -> None:
    profiles: Any = parse_profiles(DESIGN_SAMPLE)
    with pytest.raises(dataclasses.FrozenInstanceError):
        profiles.profiles["hostdev"].pods = "all"
    with pytest.raises(TypeError):
        profiles.profiles["hostdev"].env["X"] = "1"
    with pytest.raises(TypeError):
        del profiles.profiles["hostdev"]


def test_a_network_of_gke_is_none_of_those_that_multus_attaches() -> None:
    text = "profiles: {a: {networks: [{network: f/one}], rendezvous: {addressSource: gke, network: rdma-0}}}"
    settings = parse_profiles(text).profiles["a"].rendezvous
    assert (settings.address_source, str(settings.network)) == ("gke", "rdma-0")


def test_a_network_to_meet_on_is_told_where_the_job_meets_on_none() -> None:
    text = "profiles: {a: {networks: [{network: f/one}], rendezvous: {addressSource: none, network: f/one}}}"
    [told] = parse_profiles(text).profiles["a"].inert_settings()
    assert told.startswith("rendezvous.network is not used: ")


@pytest.mark.parametrize(
    ("rendezvous", "setting"),
    [("enabled: false", "{enabled: false}"), ("addressSource: gke", "addressSource: gke")],
)
def test_variables_of_devices_are_told_where_no_pod_waits(rendezvous: str, setting: str) -> None:
    text = f"networks: [{{network: f/one}}], deviceVariables: [NCCL_IB_HCA], rendezvous: {{{rendezvous}}}"
    [told] = one(text).inert_settings()
    assert told.startswith(
        f"deviceVariables gives nothing: with rendezvous: {setting} no pod waits for what is published"
    )


@pytest.mark.parametrize(
    "text", ["profiles: {a: {pods: all}}", "profiles:\n  a:\n    pods: 'all'  # of them"]
)
def test_a_revision_is_of_the_content_alone_and_the_same_in_every_version(text: str) -> None:
    assert parse_profiles(text).profiles["a"].revision == "504a88c0ca16"


@pytest.mark.parametrize(
    ("settings", "given"),
    [
        ("multus: {defaultNetworks: 0}, allowed: {}", ""),
        ("multus: {defaultNetworks: 1}", "multus"),
        ("allowed: {hostPaths: [/sys]}", "allowed"),
        ("multus: {namespaceIsolation: true}, allowed: {hostPaths: [/sys]}", "multus, allowed"),
    ],
)
def test_names_the_settings_that_are_given(settings: str, given: str) -> None:
    assert parse_profiles(f"{{profiles: {{}}, {settings}}}").given_settings() == given


def test_takes_a_value_as_long_as_the_bound() -> None:
    assert (
        one(f"env: {{X: {'y' * 32_768}}}, annotations: {{x: {'y' * 262_144}}}").annotations["x"]
        == "y" * 262_144
    )


def test_refuses_parameters_of_a_claim_that_the_api_server_would_not_store() -> None:
    """No schema bounds an object of any fields, so the definition takes it, and the webhook refuses it."""
    fields = (
        "name: nic, requests: [{name: r, deviceClassName: c}], config: [{driver: d, parameters: {a: "
        + 10_240 * "x"
        + "}}]"
    )
    with pytest.raises(ProfilesError) as raised:
        parse_profiles(f"profiles: {{a: {{claims: [{{{fields}}}]}}}}")
    [problem] = raised.value.problems
    assert (
        problem.message == "found an object of more than 10240 bytes, which the API server refuses"
    )
