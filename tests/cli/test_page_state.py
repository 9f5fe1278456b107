"""What the server says that it knows."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tests.pods import member_pod
from tests.worlds import namespace, network, profiles, snapshot
from webhook.core import names
from webhook.core.model import Object
from webhook.page.state import state_document


def pod(name: str, addr: str = "", **metadata: str) -> Object:
    annotations = {names.MASTER_ADDR: addr} if addr else {}
    metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return member_pod(name, "master", "j", annotations=annotations, **metadata)


def document(*objects: Object, problems: tuple[str, ...] = (), text: str = "{}") -> Any:
    known = profiles(f"profiles: {text}")
    found = state_document(known, snapshot(objects), problems)
    return json.loads(json.dumps(found))


def test_knows_nothing_of_an_empty_cluster() -> None:
    parts = ("problems", "namespaces", "profiles", "networks", "jobs")
    found = document()
    assert found.pop("version")
    assert found == {part: [] for part in parts}


RAILS = """
rails:
  networks: [{network: rails/rail-0, count: 2}, {network: here@net7, resource: "a.io/x,a.io/y"}]
  rendezvous: {network: rails/rail-0, timeout: 10m}
  sharedMemory: {sizeLimit: 16Gi}
  env: {NCCL_IB_HCA: mlx5}
  allowedNamespaces: [b, a]
bare: {}
"""
SHOWN = """
- {name: bare, networks: [], settings: {}}
- name: rails
  networks:
  - {network: rails/rail-0, resources: [], count: 2}
  - {network: here@net7, resources: [a.io/x, a.io/y], count: 1}
  settings:
    sharedMemory.sizeLimit: 16Gi
    env: {NCCL_IB_HCA: mlx5}
    rendezvous.network: rails/rail-0
    rendezvous.timeout: 600s
    allowedNamespaces: [a, b]
"""
PARTS = """
volumes: [{name: sys, hostPath: {path: /sys}}, {name: tmp, emptyDir: {}}]
sidecars: [{name: s, image: a/b, env: {A: b}, mounts: [{name: sys, mountPath: /sys}], capabilities: [NET_ADMIN]}]
quantities: [{resource: a/b, byNodeType: {big: 4}}]
"""


def test_describes_profiles_in_the_words_of_their_file_without_defaults() -> None:
    made = json.dumps(yaml.safe_load(RAILS))
    assert document(text=made)["profiles"] == yaml.safe_load(SHOWN)


def test_describes_the_parts_that_a_profile_gives() -> None:
    given = yaml.safe_load(PARTS)
    [found] = document(text=json.dumps({"parts": given}))["profiles"]
    given["quantities"][0]["nodeLabel"] = "node.kubernetes.io/instance-type"
    assert found["settings"] == given


def test_describes_namespaces_by_name() -> None:
    found = document(namespace("b", mode="observe"), namespace("a", None))["namespaces"]
    assert found == [
        {"name": "a", "profile": "", "observed": False, "podSecurity": ""},
        {"name": "b", "profile": "shared", "observed": True, "podSecurity": ""},
    ]


def test_describes_networks() -> None:
    both = {"namespace": "x", "nodeSelector": {}, "problem": ""}
    assert document(network("x/b", "a.io/x"), network("x/a", ipam={}))["networks"] == [
        {**both, "name": "a", "resources": [], "givesAddresses": False},
        {**both, "name": "b", "resources": ["a.io/x"], "givesAddresses": True},
    ]


def test_describes_jobs_by_their_live_ranks_0() -> None:
    made = [pod("new"), pod("old", "10.0.0.1")]
    made.append(pod("gone", deletionTimestamp="2026-01-01T00:00:00Z"))
    both = {"namespace": "ml", "job": "j", "created": "2026-01-01T00:00:00Z"}
    assert document(*({"kind": "Pod", **each} for each in made))["jobs"] == [
        {**both, "pod": "new", "address": ""},
        {**both, "pod": "old", "address": "10.0.0.1"},
    ]


def test_tells_what_is_not_to_be_trusted() -> None:
    assert document(problems=("pods: not listed yet",))["problems"] == ["pods: not listed yet"]
