"""What the server says that it knows."""

from __future__ import annotations

import json

from tests.world.test_held import pod
from tests.worlds import namespace, network, profiles
from webhook.core.model import Object
from webhook.page.state import state_document
from webhook.world.objects import ObjectsWorld

PROFILES = """
profiles:
  rails:
    networks: [{network: rails/rail-0, count: 2}, {network: here@net7, resource: "a.io/x,a.io/y"}]
    rendezvous: {network: rails/rail-0, timeout: 10m}
    sharedMemory: {sizeLimit: 16Gi}
    env: {NCCL_IB_HCA: mlx5}
    allowedNamespaces: [b, a]
  bare: {}
"""


def document(*objects: Object, problems: tuple[str, ...] = (), text: str = PROFILES) -> Object:
    return state_document(profiles(text), ObjectsWorld(objects).snapshot(), problems)


def test_knows_nothing_of_an_empty_cluster() -> None:
    found = document(text="profiles: {}")
    assert {key: value for key, value in found.items() if key != "version"} == {
        "problems": [],
        "namespaces": [],
        "profiles": [],
        "networks": [],
        "jobs": [],
    }


def test_describes_profiles_in_the_words_of_their_file_without_defaults() -> None:
    assert document()["profiles"] == [
        {"name": "bare", "networks": [], "settings": {}},
        {
            "name": "rails",
            "networks": [
                {"network": "rails/rail-0", "resources": [], "count": 2},
                {"network": "here@net7", "resources": ["a.io/x", "a.io/y"], "count": 1},
            ],
            "settings": {
                "sharedMemory.sizeLimit": "16Gi",
                "env": {"NCCL_IB_HCA": "mlx5"},
                "rendezvous.network": "rails/rail-0",
                "rendezvous.timeout": "600s",
                "allowedNamespaces": ["a", "b"],
            },
        },
    ]


def test_describes_the_parts_that_a_profile_gives() -> None:
    parts = """
  parts:
    volumes: [{name: sys, hostPath: {path: /sys}}, {name: tmp, emptyDir: {}}]
    sidecars: [{name: s, image: a/b, env: {A: b}, mounts: [{name: sys, mountPath: /sys}], capabilities: [NET_ADMIN]}]
    quantities: [{resource: a/b, byNodeType: {big: 4}}]
"""
    [found] = [
        each for each in document(text=f"profiles:{parts}")["profiles"] if each["name"] == "parts"
    ]
    assert json.loads(json.dumps(found))["settings"] == {
        "volumes": [{"name": "sys", "hostPath": {"path": "/sys"}}, {"name": "tmp", "emptyDir": {}}],
        "sidecars": [
            {
                "name": "s",
                "image": "a/b",
                "env": {"A": "b"},
                "mounts": [{"name": "sys", "mountPath": "/sys"}],
                "capabilities": ["NET_ADMIN"],
            }
        ],
        "quantities": [
            {
                "resource": "a/b",
                "byNodeType": {"big": 4},
                "nodeLabel": "node.kubernetes.io/instance-type",
            }
        ],
    }


def test_describes_namespaces_by_name() -> None:
    assert document(namespace("b", mode="observe"), namespace("a", None))["namespaces"] == [
        {"name": "a", "profile": "", "observed": False, "podSecurity": ""},
        {"name": "b", "profile": "shared", "observed": True, "podSecurity": ""},
    ]


def test_describes_networks() -> None:
    assert document(network("x/b", "a.io/x"), network("x/a", ipam={}))["networks"] == [
        {
            "namespace": "x",
            "name": "a",
            "resources": [],
            "nodeSelector": {},
            "givesAddresses": False,
            "problem": "",
        },
        {
            "namespace": "x",
            "name": "b",
            "resources": ["a.io/x"],
            "nodeSelector": {},
            "givesAddresses": True,
            "problem": "",
        },
    ]


def test_describes_jobs_by_their_live_ranks_0() -> None:
    new, old = (
        {"kind": "Pod", **pod(name, addr=addr)}
        for name, addr in (("new", None), ("old", "10.0.0.1"))
    )
    gone = {"kind": "Pod", **pod("gone", deletionTimestamp="2026-01-01T00:00:00Z")}
    assert document(old, new, gone)["jobs"] == [
        {
            "namespace": "ml",
            "job": "j",
            "pod": "new",
            "created": "2026-01-01T00:00:00Z",
            "address": "",
        },
        {
            "namespace": "ml",
            "job": "j",
            "pod": "old",
            "created": "2026-01-01T00:00:00Z",
            "address": "10.0.0.1",
        },
    ]


def test_tells_what_is_not_to_be_trusted() -> None:
    assert document(problems=("pods: not listed yet",))["problems"] == ["pods: not listed yet"]
