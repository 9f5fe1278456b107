"""What another process has read of the profiles comes back as it was."""

import json

import pytest

from tests.worlds import profiles
from webhook.serve.plain import from_plain, to_plain

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


def over_the_wire(value: object) -> object:
    return from_plain(json.loads(json.dumps(to_plain(value))))


@pytest.mark.parametrize("text", ["profiles: {}", EVERYTHING], ids=["nothing", "everything"])
def test_profiles_come_back_as_they_were(text: str) -> None:
    known = profiles(text)
    found = [over_the_wire(each) for each in known.profiles.values()]
    assert found == list(known.profiles.values())
    assert sorted(repr(found)) == sorted(
        repr([*known.profiles.values()])
    )  # the same types; a set has an order of its own
    assert over_the_wire(known.settings) == known.settings


def test_plain_data_stays_as_it_is() -> None:
    for value in (None, True, 0, 1.5, "", (), ("a", (1,)), frozenset(("b", "a"))):
        assert over_the_wire(value) == value
