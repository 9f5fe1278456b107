"""The process that reads the profiles: the same profiles and the same faults as where they are read at once, and none of its own."""

import sys
from typing import Any

import pytest

from webhook.core.errors import InputError, ProfilesError
from webhook.core.profiles import ClusterSettings, Multus, parse_profiles
from webhook.core.profiles.load import read_profile
from webhook.core.profiles.objects import SETTINGS_API_VERSION
from webhook.serve.profile_contents import read_contents_apart
from webhook.serve.profiles_process import (
    parse_configuration_apart,
    parse_objects_apart,
    parse_profiles_apart,
)
from webhook.serve.slot import Slot

EVERYTHING = """
multus: {namespaceIsolation: true, globalNamespaces: [a, b], defaultNetworks: 2, resourceNameKeys: [x.io/y]}
profiles:
  bare: {}
  full:
    podLabels: {"x.io/y": "z"}
    networks: [{network: rails/rail-0@rail0, resource: "a.io/x,a.io/y", count: 2}, {network: here}]
    resources: {a.io/x: 1, hugepages-2Mi: 1Gi}
    sharedMemory: {sizeLimit: 16Gi, limitExisting: true}
    env: {NCCL_IB_HCA: "mlx5 \U0001f600"}
    annotations: {a.io/b: "c"}
    nodeSelector: {a.io/b: "c"}
    rendezvous: {network: rails/rail-0, timeout: 10m, ipFamily: IPv6}
    allowedNamespaces: [b, a]
    volumes:
      - {name: sys, hostPath: {path: /sys, type: Directory}}
      - {name: scratch, emptyDir: {medium: Memory, sizeLimit: 1Gi}}
      - {name: topology, configMap: {name: topology, optional: true}}
    mounts: [{name: topology, mountPath: /etc/topology, subPath: a/b, readOnly: true}]
    sidecars:
      - name: daemon
        image: a.io/b:1
        command: [a]
        args: [b]
        env: {A: b}
        mounts: [{name: sys, mountPath: /hostsysfs}]
        capabilities: [NET_ADMIN]
        resources: {cpu: 1}
    tolerations: [{key: a.io/b, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]
    quantities: [{resource: a.io/z, perAccelerator: 2, byNodeType: {big: 4}, nodeLabel: a.io/type}]
allowed: {hostPaths: [/sys, /dev/], sidecarImages: ["a.io/*"]}
"""
FAULTY = b"multus: {defaultNetworks: -1}\nprofiles:\n  two: {pods: some, colour: red}\n  one: {networks: [{network: '!'}]}\n"


def test_reads_what_is_read_at_once() -> None:
    assert parse_profiles_apart(EVERYTHING.encode(), Slot()) == parse_profiles(EVERYTHING)


@pytest.mark.parametrize(
    "content", [FAULTY, b"\xff", b"a: [", b""], ids=["faults", "no text", "no YAML", "nothing"]
)
def test_tells_the_same_faults(content: bytes) -> None:
    with pytest.raises(ProfilesError) as here:
        parse_profiles(content)
    with pytest.raises(ProfilesError) as apart:
        parse_profiles_apart(content, Slot())
    assert apart.value.problems == here.value.problems
    assert str(apart.value) == str(here.value)


def test_reads_the_configuration() -> None:
    content = f"apiVersion: {SETTINGS_API_VERSION}\nkind: Configuration\nmultus: {{defaultNetworks: %s}}\n"
    assert parse_configuration_apart((content % 2).encode(), Slot()) == ClusterSettings(
        Multus(default_networks=2)
    )
    with pytest.raises(ProfilesError, match=r"line 3: Configuration: multus\.defaultNetworks: "):
        parse_configuration_apart((content % "two").encode(), Slot())


def test_reads_objects_each_for_itself() -> None:
    found = parse_objects_apart(
        {"good": b'{"pods": "all"}', "bad": b'{"pods": 1, "colour": "red"}'}, Slot()
    )
    assert found["good"] == read_profile("good", {"pods": "all"})
    with pytest.raises(ProfilesError) as here:
        read_profile("bad", {"pods": 1, "colour": "red"})
    assert isinstance(found["bad"], ProfilesError)
    assert found["bad"].problems == here.value.problems


def test_says_that_they_need_too_much_memory() -> None:
    content = b"profiles:\n" + b"".join(
        b"  p%d: {env: {A: b}}\n" % number for number in range(60_000)
    )
    with pytest.raises(InputError, match="the profiles cannot be read with 96 MiB of memory"):
        parse_profiles_apart(content, Slot(), 200)


def test_says_that_it_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    slot = Slot()
    with pytest.raises(InputError, match="cannot be started: No such file or directory"):
        parse_profiles_apart(b"profiles: {}", slot)
    with slot.held(0):
        pass


def test_says_that_it_takes_too_long() -> None:
    with pytest.raises(InputError, match=r"the profiles cannot be read in 0\.01 s; try again"):
        parse_profiles_apart(b"profiles: {}", Slot(), 0.01)


def test_reads_each_object_as_if_there_were_no_other() -> None:
    same = {"podLabels": {"fabric": "fast"}}
    specs: dict[str, Any] = {
        "a": {**same, "networks": [{"network": "rails/rail-0"}]},
        "b": same,
        "bad": {"networks": [{"network": "a/b", "resource": "rdma/a,rdma/a"}]},
        "odd": "text",
        "z": {},
    }
    read = read_contents_apart(specs, Slot())
    assert {name: content.profile for name, content in read.items() if content.profile} == {
        name: read_profile(name, specs[name]) for name in ("a", "b", "z")
    }
    assert read["bad"].problem.startswith("spec.networks[0].resource: found ")
    assert read["odd"].problem.startswith("spec: ")
    assert all(content.is_read for content in read.values())
    assert read_contents_apart({}, Slot()) == {}


def test_a_process_that_fails_says_nothing_of_the_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    read = read_contents_apart({"a": {}, "b": {}}, Slot())
    assert {name: (content.profile, content.is_read) for name, content in read.items()} == {
        "a": (None, False),
        "b": (None, False),
    }
    assert "has ended (status 1)" in read["a"].problem


def test_says_that_the_one_before_it_does_not_end() -> None:
    slot = Slot()
    with (
        slot.held(0),
        pytest.raises(InputError, match=r"another process of ours has not ended in 0\.1 s"),
    ):
        parse_profiles_apart(b"profiles: {}", slot, 0.1)
