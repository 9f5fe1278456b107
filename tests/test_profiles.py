"""profiles.yaml: what is read, with which defaults; and every fault at once, with its path and line."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.errors import Problem, ProfilesError
from webhook.profiles import (
    Multus,
    PodInfo,
    Profile,
    ProfileNetwork,
    Profiles,
    Rendezvous,
    SharedMemory,
    parse_profiles,
)

DESIGN_SAMPLE = """
multus: {namespaceIsolation: false, globalNamespaces: [default], defaultNetworks: 0}     # as this cluster's Multus is configured
profiles:
  rdma-shared:                                  # NVIDIA MacvlanNetwork + RDMA shared device plugin
    networks:
      - network: default/rdma-net-ipam          # [namespace/]name[@interface]
        resource: rdma/rdma_shared_device_a     # macvlan and ipoib networks never say it, so it is written here
    sharedMemory: {sizeLimit: 16Gi}
  hostdev:                                      # NVIDIA HostDeviceNetwork: resource comes from the network itself
    networks: [{network: default/hostdev-net}]  # its NetworkAttachmentDefinition carries k8s.v1.cni.cncf.io/resourceName
    env: {NCCL_IB_HCA: mlx5}
  eight-rails:
    networks: [{network: rails/rail-0}, {network: rails/rail-1}, {network: rails/rail-2}, {network: rails/rail-3},
               {network: rails/rail-4}, {network: rails/rail-5}, {network: rails/rail-6}, {network: rails/rail-7}]
    rendezvous: {network: rails/rail-0, ipFamily: IPv4, timeout: 10m}
"""

SAMPLE = Profiles(
    profiles={
        "rdma-shared": Profile(
            name="rdma-shared",
            networks=(ProfileNetwork("default", "rdma-net-ipam", resources=("rdma/rdma_shared_device_a",)),),
            shared_memory=SharedMemory(size_limit="16Gi"),
        ),
        "hostdev": Profile(
            name="hostdev", networks=(ProfileNetwork("default", "hostdev-net"),), env={"NCCL_IB_HCA": "mlx5"}
        ),
        "eight-rails": Profile(
            name="eight-rails",
            networks=tuple(ProfileNetwork("rails", f"rail-{rail}") for rail in range(8)),
            rendezvous=Rendezvous(network=ProfileNetwork("rails", "rail-0"), ip_family="IPv4", timeout_seconds=600),
        ),
    },
    multus=Multus(),
)


def one(fields: str) -> Profile:
    """Read a profile ``a`` of these fields, written in YAML's flow style."""
    return parse_profiles(f"profiles: {{a: {{{fields}}}}}").profiles["a"]


def faults(text: str) -> list[str]:
    with pytest.raises(ProfilesError) as raised:
        parse_profiles(text)
    return [str(problem) for problem in raised.value.problems]


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
                networks=(ProfileNetwork(namespace=None, name="b", interface=None, resources=(), count=1),),
                resources={},
                existing_devices="complete",
                ipc_lock=True,
                pod_security="deny",
                shared_memory=SharedMemory(enabled=True, size_limit=None, limit_existing=False),
                env={},
                annotations={},
                container=None,
                node_selector={},
                pod_info=PodInfo(hugepages=False, labels=False, annotations=False),
                rendezvous=Rendezvous(
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
        podInfo: {hugepages: true, labels: true, annotations: true}
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
                pod_info=PodInfo(True, True, True),
                rendezvous=Rendezvous(False, ProfileNetwork(None, "rail-0"), "IPv6", 5400, "busybox:1.37", "name"),
                allowed_namespaces=frozenset({"research", "ml"}),
            )
        },
        multus=Multus(True, ("default", "openshift-multus"), 2, ("example.com/a", "example.com/b")),
    )


OTHER_WAYS: list[tuple[str, Profile]] = [
    ("sharedMemory: {sizeLimit: none}", Profile("a")),
    ("rendezvous: {waitImage: none}", Profile("a")),
    ("allowedNamespaces: all", Profile("a")),
    ("container: null, networks: null, sharedMemory: ~, env: null, rendezvous: {network: null}", Profile("a")),
    ("allowedNamespaces: []", Profile("a", allowed_namespaces=frozenset())),
    ("allowedNamespaces: [all]", Profile("a", allowed_namespaces=frozenset({"all"}))),
    ("sharedMemory: {sizeLimit: 1073741824}", Profile("a", shared_memory=SharedMemory(size_limit="1073741824"))),
    ("resources: {rdma/a: 0}", Profile("a", resources={"rdma/a": "0"})),
    ("resources: {rdma/a: 2k, rdma/b: 1000m}", Profile("a", resources={"rdma/a": "2k", "rdma/b": "1000m"})),
    (
        "rendezvous: {network: any/where}",
        Profile("a", rendezvous=Rendezvous(network=ProfileNetwork("any", "where"))),
    ),
    ("networks: [{network: a/b.c}]", Profile("a", networks=(ProfileNetwork("a", "b.c"),))),
    ("networks: [{network: a, count: 0}]", Profile("a", networks=(ProfileNetwork(None, "a", count=0),))),
    ("networks: [{network: a}, {network: a}]", Profile("a", networks=(ProfileNetwork(None, "a"),) * 2)),
    ('env: {"my.env-name": x, "_": "$(X)"}', Profile("a", env={"my.env-name": "x", "_": "$(X)"})),
]


@pytest.mark.parametrize(("fields", "expected"), OTHER_WAYS, ids=[fields for fields, _ in OTHER_WAYS])
def test_takes_other_ways_to_write_a_value(fields: str, expected: Profile) -> None:
    assert one(fields) == expected


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1),
        ("30m", 1800),
        ("1h30m", 5400),
        ("90s", 90),
        ("1.5h", 5400),
        ("1000ms", 1),
        ("0h1m", 60),
        ("+2m.5m", 150),
    ],
)
def test_reads_a_duration_as_go_does(text: str, seconds: int) -> None:
    assert one(f"rendezvous: {{timeout: {text}}}").rendezvous.timeout_seconds == seconds


def test_follows_anchors_and_merges() -> None:
    text = """
    profiles:
      a: &a
        env: &env {X: "1", Y: "2"}
        ipcLock: false
      b:
        <<: *a
        env: {<<: [{X: "3"}, *env], Z: "4"}
        pods: all
    """
    b = parse_profiles(text).profiles["b"]
    assert (b.env, b.ipc_lock, b.pods) == ({"X": "3", "Y": "2", "Z": "4"}, False, "all")


def test_hands_out_what_nobody_can_change() -> None:
    profiles: Any = parse_profiles(DESIGN_SAMPLE)
    with pytest.raises(dataclasses.FrozenInstanceError):
        profiles.profiles["hostdev"].pods = "all"
    with pytest.raises(TypeError):
        profiles.profiles["hostdev"].env["X"] = "1"
    with pytest.raises(TypeError):
        del profiles.profiles["hostdev"]


FAULTS = {
    "unknown-top": ("profile: {}", "profile: is no field; did you mean profiles?"),
    "unknown-far": ("data: {}", "data: is no field; the fields here are multus, profiles"),
    "config-map": (
        "apiVersion: v1\nkind: ConfigMap\ndata: {profiles.yaml: ''}",
        'line 2: kind: found "ConfigMap"; give the text that its data holds under profiles.yaml',
    ),
    "unknown-case": ("profiles: {a: {ipclock: true}}", "profiles.a.ipclock: is no field; did you mean ipcLock?"),
    "unknown-null": (
        "profiles: {a: {foo: }}",
        "profiles.a.foo: is no field; the fields here are pods, podLabels, networks, ",
    ),
    "unknown-deep": (
        "profiles: {networks: {rendezvous: {ip_family: any}}}",
        "profiles.networks.rendezvous.ip_family: is no field; did you mean ipFamily?",
    ),
    "unknown-in-list": (
        "profiles: {a: {networks: [{network: b, resources: rdma/a}]}}",
        "profiles.a.networks[0].resources: is no field; did you mean resource?",
    ),
    "profile-none": ("profiles: {none: {}}", 'profiles.none: found "none"; the label fabric-injector.io/profile: none'),
    "profile-name": ("profiles: {a/b: {}}", 'profiles[a/b]: found "a/b"; it is a label\'s value; write 1 to 63'),
    "profile-long": (f"profiles: {{{'a' * 64}: {{}}}}", "it is a label's value; write 1 to 63"),
    "profile-empty": ('profiles: {"": {}}', 'profiles[]: found ""; it is a label\'s value'),
    "profile-key": (
        "profiles: {on: {}}",
        'profiles.on: the key is on, which YAML reads as true or false; write it in quotes: "on"',
    ),
    "profile-list": ("profiles: [a]", "profiles: found a list; write a mapping"),
    "profile-text": ("profiles: {a: b}", 'profiles.a: found "b"; write a mapping of fields'),
    "network-missing": ("profiles: {a: {networks: [{count: 1}]}}", "profiles.a.networks[0].network: is missing; write"),
    "network-null": ("profiles: {a: {networks: [{network: }]}}", "profiles.a.networks[0].network: is missing; write"),
    "network-slashes": (
        "profiles: {a: {networks: [{network: a/b/c}]}}",
        'profiles.a.networks[0].network: found "a/b/c"; "a/b" is no name of a namespace; write [namespace/]name[@interface]',
    ),
    "network-no-namespace": ("profiles: {a: {networks: [{network: /c}]}}", '"" is no name of a namespace'),
    "network-dotted-namespace": ("profiles: {a: {networks: [{network: a.b/c}]}}", '"a.b" is no name of a namespace'),
    "network-case": ("profiles: {a: {networks: [{network: a/Rail}]}}", '"Rail" is no name of a network'),
    "network-underscore": ("profiles: {a: {networks: [{network: rail_0}]}}", '"rail_0" is no name of a network'),
    "network-empty": ('profiles: {a: {networks: [{network: ""}]}}', '"" is no name of a network'),
    "network-comma": ("profiles: {a: {networks: [{network: 'a,b'}]}}", '"a,b" is no name of a network'),
    "network-ats": ("profiles: {a: {networks: [{network: a@b@c}]}}", '"b@c" is no portable interface name'),
    "network-at-end": ("profiles: {a: {networks: [{network: a@}]}}", '"" is no portable interface name'),
    "interface-long": ("profiles: {a: {networks: [{network: a@abcdefghijklmnop}]}}", "is no portable interface name"),
    "interface-underscore": (
        "profiles: {a: {networks: [{network: a@my_if}]}}",
        '"my_if" is no portable interface name',
    ),
    "interface-taken": ("profiles: {a: {networks: [{network: a@eth0}]}}", "every pod already has an interface eth0"),
    "interface-twice": (
        "profiles: {a: {networks: [{network: a@r0}, {network: b@r1}, {network: c@r0}]}}",
        "profiles.a.networks[2].network: interface r0 is that of networks[0] already; write another",
    ),
    "network-number": (
        "profiles: {a: {networks: [{network: 8}]}}",
        'profiles.a.networks[0].network: found 8, which YAML reads as a number; write it in quotes: "8"',
    ),
    "network-text": (
        "profiles: {a: {networks: default/rail}}",
        'profiles.a.networks: found "default/rail"; write a list',
    ),
    "resource-plain": (
        "profiles: {a: {networks: [{network: a, resource: hostdev}]}}",
        'profiles.a.networks[0].resource: found "hostdev"; "hostdev" has no domain; write domain/name',
    ),
    "resource-list": (
        "profiles: {a: {networks: [{network: a, resource: 'rdma/a,'}]}}",
        '"" is empty; write names with',
    ),
    "resource-twice": (
        "profiles: {a: {networks: [{network: a, resource: 'r/a, r/a'}]}}",
        "r/a is there twice; write it once, with count: 2",
    ),
    "resource-yaml-list": (
        "profiles: {a: {networks: [{network: a, resource: [rdma/a]}]}}",
        "profiles.a.networks[0].resource: found a list; write text in quotes",
    ),
    "count-negative": ("profiles: {a: {networks: [{network: a, count: -1}]}}", "count: found -1; write 0 or more"),
    "count-beyond": (
        "profiles: {a: {networks: [{network: a, count: 9223372036854776}]}}",
        "count: found 9223372036854776; write 9223372036854775 or less",
    ),
    "count-bool": (
        "profiles: {a: {networks: [{network: a, count: yes}]}}",
        "found yes, which YAML reads as true or false; write a whole number",
    ),
    "count-text": (
        "profiles: {a: {networks: [{network: a, count: '2'}]}}",
        'found "2"; write a whole number, without quotes',
    ),
    "count-fraction": (
        "profiles: {a: {networks: [{network: a, count: 1.5}]}}",
        "found 1.5, which YAML reads as a number",
    ),
    "resources-native": (
        "profiles: {a: {resources: {cpu: 4}}}",
        'profiles.a.resources.cpu: found "cpu"; it belongs to the job',
    ),
    "resources-plain": ("profiles: {a: {resources: {gpu: 4}}}", 'found "gpu"; the resource\'s name has no domain'),
    "resources-native-domain": (
        "profiles: {a: {resources: {kubernetes.io/a: 4}}}",
        "which Kubernetes keeps for itself",
    ),
    "resources-negative": (
        "profiles: {a: {resources: {rdma/a: -1}}}",
        'profiles.a.resources[rdma/a]: found "-1"; write a whole number of rdma/a, 0 or more',
    ),
    "resources-fraction": (
        "profiles: {a: {resources: {rdma/a: 1500m}}}",
        'found "1500m"; write a whole number of rdma/a',
    ),
    "resources-suffix": (
        "profiles: {a: {resources: {rdma/a: 1K}}}",
        'found "1K"; write a number with an optional suffix',
    ),
    "resources-bool": (
        "profiles: {a: {resources: {rdma/a: on}}}",
        "found on, which YAML reads as true or false; write a number with an optional suffix",
    ),
    "resources-null": (
        "profiles: {a: {resources: {rdma/a: }}}",
        "found nothing; write a number with an optional suffix",
    ),
    "resources-space": ("profiles: {a: {resources: {rdma/a: ' 1'}}}", 'found " 1"; write the quantity without spaces'),
    "hugepages-part": (
        "profiles: {a: {resources: {hugepages-2Mi: 3Mi}}}",
        'profiles.a.resources.hugepages-2Mi: found "3Mi"; write a multiple of the page size, 2Mi',
    ),
    "hugepages-size": ("profiles: {a: {resources: {hugepages-big: 1}}}", "write hugepages- and the size of a page"),
    "hugepages-zero": ("profiles: {a: {resources: {hugepages-0: 0}}}", "write hugepages- and the size of a page"),
    "amount-beyond": (
        "profiles: {a: {resources: {a.b/c: 9223372036854776}}}",
        'resources[a.b/c]: found "9223372036854776"; write at most 9223372036854775',
    ),
    "amount-exponent": ("profiles: {a: {resources: {a.b/c: 1e400}}}", 'found "1e400"; write at most 9223372036854775'),
    "size-beyond": ("profiles: {a: {sharedMemory: {sizeLimit: 1e400}}}", 'found "1e400"; write at most 8Ei, or none'),
    "size-milli": (
        "profiles: {a: {sharedMemory: {sizeLimit: 512m}}}",
        'profiles.a.sharedMemory.sizeLimit: found "512m"; write a whole number of bytes above 0, such as 16Gi, or none '
        "(the suffix m means thousandths; M and Mi mean mega)",
    ),
    "size-zero": ("profiles: {a: {sharedMemory: {sizeLimit: 0}}}", 'found "0"; write a whole number of bytes above 0'),
    "size-unit": (
        "profiles: {a: {sharedMemory: {sizeLimit: 16GB}}}",
        'found "16GB"; write a number with an optional suffix',
    ),
    "memory-text": (
        "profiles: {a: {sharedMemory: 16Gi}}",
        'profiles.a.sharedMemory: found "16Gi"; write a mapping of fields',
    ),
    "bool-text": (
        "profiles: {a: {ipcLock: 'true'}}",
        'profiles.a.ipcLock: found "true"; write true or false, without quotes',
    ),
    "bool-number": ("profiles: {a: {ipcLock: 1}}", "found 1, which YAML reads as a number; write true or false"),
    "literal": (
        "profiles: {a: {podSecurity: Deny}}",
        'profiles.a.podSecurity: found "Deny"; write one of deny, skip, ignore; did you mean deny?',
    ),
    "literal-far": ("profiles: {a: {pods: some}}", 'profiles.a.pods: found "some"; write one of training, all'),
    "literal-bool": ("profiles: {a: {pods: true}}", "found true, which YAML reads as true or false; write one of"),
    "env-number": (
        "profiles: {a: {env: {NCCL_DEBUG: 1}}}",
        'profiles.a.env.NCCL_DEBUG: found 1, which YAML reads as a number; write it in quotes: "1"',
    ),
    "env-on": (
        "profiles: {a: {env: {X: on}}}",
        'profiles.a.env.X: found on, which YAML reads as true or false; write it in quotes: "on"',
    ),
    "env-date": (
        "profiles: {a: {env: {X: 2026-11-21}}}",
        'which YAML reads as a date; write it in quotes: "2026-11-21"',
    ),
    "env-null": ("profiles: {a: {env: {X: }}}", 'profiles.a.env.X: found nothing; write text in quotes, "" for none'),
    "env-list": ("profiles: {a: {env: [X]}}", "profiles.a.env: found a list; write a mapping"),
    "env-nul": ('profiles: {a: {env: {X: "\\0"}}}', 'profiles.a.env.X: found "\\u0000"; a variable holds no NUL'),
    "env-name": ("profiles: {a: {env: {9A: x}}}", 'profiles.a.env.9A: found "9A"; write a variable\'s name'),
    "env-key": ("profiles: {a: {env: {NO: x}}}", "profiles.a.env.NO: the key is NO, which YAML reads as true or false"),
    "env-own": ("profiles: {a: {env: {FABRIC_INJECTOR_X: x}}}", "are set by the injector itself; write another name"),
    "container": ("profiles: {a: {container: My_C}}", 'profiles.a.container: found "My_C"; write 1 to 63 of a-z'),
    "selector-key": (
        "profiles: {a: {nodeSelector: {a/b/c: x}}}",
        'profiles.a.nodeSelector[a/b/c]: found "a/b/c"; write a label\'s key',
    ),
    "selector-value": (
        "profiles: {a: {nodeSelector: {a: '-'}}}",
        'profiles.a.nodeSelector.a: found "-"; write a label\'s value',
    ),
    "selector-bool": ("profiles: {a: {nodeSelector: {a: true}}}", 'reads as true or false; write it in quotes: "true"'),
    "info-list": ("profiles: {a: {podInfo: [labels]}}", "profiles.a.podInfo: found a list; write a mapping of fields"),
    "timeout-number": (
        "profiles: {a: {rendezvous: {timeout: 30}}}",
        "profiles.a.rendezvous.timeout: found 30, which YAML reads as a number; write a duration with its unit",
    ),
    "timeout-clock": ("profiles: {a: {rendezvous: {timeout: 1:30}}}", "found 1:30, which YAML reads as a number"),
    "timeout-bool": ("profiles: {a: {rendezvous: {timeout: off}}}", "found off, which YAML reads as true or false"),
    "timeout-short": ("profiles: {a: {rendezvous: {timeout: 500ms}}}", "write a duration of whole seconds, 1s or more"),
    "timeout-fraction": ("profiles: {a: {rendezvous: {timeout: 1.5s}}}", "write a duration of whole seconds"),
    "timeout-negative": ("profiles: {a: {rendezvous: {timeout: -1m}}}", "write a duration of whole seconds"),
    "timeout-unit": ("profiles: {a: {rendezvous: {timeout: 1d}}}", 'found "1d"; write a duration'),
    "timeout-no-digit": ("profiles: {a: {rendezvous: {timeout: .m}}}", 'found ".m"; write a duration'),
    "timeout-huge": ("profiles: {a: {rendezvous: {timeout: 9999999h}}}", 'found "9999999h"; write a duration'),
    "image-space": (
        "profiles: {a: {rendezvous: {waitImage: a b}}}",
        'waitImage: found "a b"; write an image reference',
    ),
    "image-empty": ("profiles: {a: {rendezvous: {waitImage: ''}}}", 'waitImage: found ""; write an image reference'),
    "rendezvous-network": (
        "profiles: {a: {networks: [{network: r/rail-0}, {network: r/rail-1@b}], rendezvous: {network: r/rail-9}}}",
        'profiles.a.rendezvous.network: found "r/rail-9"; write one of this profile\'s networks, r/rail-0, r/rail-1; '
        "did you mean r/rail-1?",
    ),
    "rendezvous-namespace": (
        "profiles: {a: {networks: [{network: rail-0}], rendezvous: {network: r/rail-0}}}",
        'found "r/rail-0"; write one of this profile\'s networks, rail-0',
    ),
    "rendezvous-interface": (
        "profiles: {a: {networks: [{network: rail-0@a}], rendezvous: {network: rail-0@b}}}",
        'found "rail-0@b"; write one of this profile\'s networks, rail-0',
    ),
    "namespaces-word": (
        "profiles: {a: {allowedNamespaces: research}}",
        'profiles.a.allowedNamespaces: found "research"; write a list of namespaces, such as [research], or the word all',
    ),
    "namespaces-item": (
        "profiles: {a: {allowedNamespaces: [Foo]}}",
        'profiles.a.allowedNamespaces[0]: found "Foo"; write 1 to 63',
    ),
    "namespaces-mapping": (
        "profiles: {a: {allowedNamespaces: {a: b}}}",
        "allowedNamespaces: found a mapping; write a list",
    ),
    "multus-bool": ("multus: {namespaceIsolation: 'no'}", 'multus.namespaceIsolation: found "no"; write true or false'),
    "multus-text": ("multus: {globalNamespaces: default}", 'multus.globalNamespaces: found "default"; write a list'),
    "multus-negative": ("multus: {defaultNetworks: -1}", "multus.defaultNetworks: found -1; write 0 or more"),
    "multus-many": (
        "multus: {defaultNetworks: 9999999999999999}",
        "multus.defaultNetworks: found 9999999999999999; write 100 or less",
    ),
    "keys-none": (
        "multus: {resourceNameKeys: []}",
        "multus.resourceNameKeys: found a list; write at least one item, or leave the field out",
    ),
    "keys-bad": (
        "multus: {resourceNameKeys: [a b]}",
        'multus.resourceNameKeys[0]: found "a b"; write an annotation\'s key: [domain/]name, such as k8s.v1.cni.cncf.io/resourceName',
    ),
    "existing-devices": (
        "profiles: {a: {existingDevices: honour}}",
        'profiles.a.existingDevices: found "honour"; write one of complete, keep, add',
    ),
    "pod-label-own": (
        "profiles: {a: {podLabels: {fabric-injector.io/profile: b}}}",
        'podLabels[fabric-injector.io/profile]: found "fabric-injector.io/profile"; labels of fabric-injector.io/ choose',
    ),
    "pod-label-key": ('profiles: {a: {podLabels: {a b: "true"}}}', "write a label's key"),
    "pod-label-value": ('profiles: {a: {podLabels: {a: "b c"}}}', "write a label's value"),
    "pod-labels-twice": (
        'profiles: {a: {podLabels: {x: "1", y: "2"}}, b: {podLabels: {y: "2", x: "1"}}}',
        "profiles.b.podLabels: profile a has the same; no pod could choose one of the two",
    ),
    "annotation-own": (
        "profiles: {a: {annotations: {fabric-injector.io/status: x}}}",
        "annotations of fabric-injector.io/ are set by the injector itself; write another key",
    ),
    "annotation-multus": (
        "profiles: {a: {annotations: {k8s.v1.cni.cncf.io/networks: x}}}",
        "the profile's networks are merged into it; write them under networks",
    ),
    "annotation-key": ("profiles: {a: {annotations: {a b: x}}}", "write an annotation's key"),
    "annotation-long": (f"profiles: {{a: {{annotations: {{x: {'y' * 262_145}}}}}}}", "write at most 262144 bytes"),
    "root-list": ("[a]", "document: found a list; write a mapping of fields"),
    "root-text": ("hello", 'document: found "hello"; write a mapping of fields'),
    "root-null": ("null", "document: found null, which YAML reads as nothing; write a mapping of fields"),
    "duplicate": ("profiles: {}\n# x\nprofiles: {}", "line 3: profiles: is written twice, first in line 1; keep one"),
    "duplicate-deep": ('profiles: {a: {env: {X: "1", X: "2"}}}', "profiles.a.env.X: is written twice, first in line 1"),
    "key-list": ("profiles: {[a]: {}}", "profiles: has a key that is a list; write text"),
    "tag": ("profiles: !python/name {}", "profiles: has the tag !python/name; write a plain list or mapping"),
    "tag-scalar": (
        "profiles: {a: {container: !secret x}}",
        "profiles.a.container: has the tag !secret; write a plain value",
    ),
    "merge-text": ("profiles: {a: {<<: b}}", 'profiles.a[<<]: found "b"; write the alias of a mapping'),
    "not-a-number": (f"multus: {{defaultNetworks: {'9' * 5000}}}", "but it is none; write it in quotes"),
    "long-number": (f"profiles: {{a: {{pods: {'1' * 4000}}}}}", f"found {'1' * 60}, which YAML reads as a number"),
    "tag-date": (
        "profiles:\n  a:\n    pods: !!timestamp x",
        "line 3: profiles.a.pods: found x, which YAML reads as a date, but it is none; write it in quotes",
    ),
    "tag-bool": (
        "profiles: {a: {ipcLock: !!bool x}}",
        "profiles.a.ipcLock: found x, which YAML reads as true or false",
    ),
    "tag-int": ('multus: {defaultNetworks: !!int ""}', "multus.defaultNetworks: found nothing, but it is none"),
    "not-a-date": (
        "profiles: {a: {env: {X: 2026-99-99}}}",
        "which YAML reads as a date, but it is none; write it in quotes",
    ),
}


@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS)
def test_says_what_is_wrong_and_what_is_allowed(text: str, message: str) -> None:
    found = faults(text)
    assert message in found[0], found
    assert all(line.isprintable() for line in found)


UNREADABLE = {
    "empty": ("", "line 1: document: is empty; write at least `profiles: {}`"),
    "comment": ("# profiles\n", "line 1: document: is empty"),
    "two-documents": ("profiles: {}\n---\nprofiles: {}\n", "line 2: document: holds more than one document"),
    "open-list": ("profiles:\n  a: [", "document: is not valid YAML: "),
    "tab": (
        "profiles:\n\ta: {}\n",
        "line 2: document: is not valid YAML: found character that cannot start any token (a tab",
    ),
    "two-colons": ("a: b: c", "line 1: document: is not valid YAML: mapping values are not allowed"),
    "no-such-alias": ("profiles: *a", "line 1: document: is not valid YAML: found undefined alias"),
    "control": ("profiles:\n  a: \x01", "line 2: document: holds the character U+0001, which YAML does not allow"),
    "surrogate": ("profiles:\n  a: \ud800", "line 2: document: holds half a surrogate pair"),
    "loop": ("profiles: &a\n  b: *a", "line 1: document: holds an alias inside its own anchor"),
    "loop-by-merge": ("profiles: &a\n  <<: *a", "line 1: document: is nested too deeply"),
    "deep": ("[" * 5000 + "]" * 5000, "line 1: document: is nested too deeply"),
    "bomb": (
        "a: &a [1,1,1,1,1,1,1,1,1]\n"
        + "".join(f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)),
        "document: holds more than 100000 values, aliases followed",
    ),
}


@pytest.mark.parametrize(("text", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_says_why_it_cannot_be_read_at_all(text: str, message: str) -> None:
    (found,) = faults(text)
    assert message in found


def test_names_every_fault_at_once_with_its_line() -> None:
    text = """\
multus:
  defaultNetworks: many
profiles:
  none: {}
  first:
    networks:
      - network: default/rail-0
        resource: rail
      - resource: rdma/a
    ipclock: true
    env:
      NCCL_DEBUG: 1
      NCCL_DEBUG: 2
  second:
    networks:
      - network: default/rail-0
    resources:
      rdma/a: 1.5
    rendezvous:
      network: default/rail-1
      timeout: 5
"""
    with pytest.raises(ProfilesError) as raised:
        parse_profiles(text)
    assert [(problem.line, problem.path) for problem in raised.value.problems] == [
        (2, "multus.defaultNetworks"),
        (4, "profiles.none"),
        (8, "profiles.first.networks[0].resource"),
        (9, "profiles.first.networks[1].network"),
        (10, "profiles.first.ipclock"),
        (12, "profiles.first.env.NCCL_DEBUG"),
        (13, "profiles.first.env.NCCL_DEBUG"),
        (18, "profiles.second.resources[rdma/a]"),
        (20, "profiles.second.rendezvous.network"),
        (21, "profiles.second.rendezvous.timeout"),
    ]


def test_says_the_same_twice() -> None:
    text = "profiles: {a: {x: 1, y: 2, z: 3, env: {A: 1, B: 2}}}"
    assert faults(text) == faults(text)


WORDS = st.sampled_from(
    [
        "profiles",
        "multus",
        "a",
        "networks",
        "network",
        "resource",
        "resources",
        "env",
        "rendezvous",
        "timeout",
        "none",
        "all",
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES | st.fixed_dictionaries({"profiles": st.fixed_dictionaries({"a": st.dictionaries(WORDS, VALUES)})}))
@settings(deadline=None)
def test_answers_any_document_with_profiles_or_faults(value: Any) -> None:
    answers(yaml.safe_dump(value))


@given(st.text(alphabet="ab:{}[],&*!<>|-#'\"\n \t\x00\ud800?%@`", max_size=40))
@settings(deadline=None)
def test_answers_any_text_with_profiles_or_faults(text: str) -> None:
    answers(text)


def answers(text: str) -> None:
    try:
        problems = [Problem("document", 1, "none")] if parse_profiles(text) else []
    except ProfilesError as error:
        problems = list(error.problems)
    assert problems
    assert all(problem.line >= 1 and problem.path and problem.message for problem in problems)
