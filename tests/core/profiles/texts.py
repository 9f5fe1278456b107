"""Texts of profiles.yaml, what they are read as, and what is told of those that are wrong."""

from __future__ import annotations

import pytest

from webhook.core.errors import ProfilesError
from webhook.core.profiles import (
    Multus,
    Profile,
    ProfileNetwork,
    Profiles,
    RendezvousSettings,
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
            networks=(
                ProfileNetwork(
                    "default", "rdma-net-ipam", resources=("rdma/rdma_shared_device_a",)
                ),
            ),
            shared_memory=SharedMemory(size_limit="16Gi"),
        ),
        "hostdev": Profile(
            name="hostdev",
            networks=(ProfileNetwork("default", "hostdev-net"),),
            env={"NCCL_IB_HCA": "mlx5"},
        ),
        "eight-rails": Profile(
            name="eight-rails",
            networks=tuple(ProfileNetwork("rails", f"rail-{rail}") for rail in range(8)),
            rendezvous=RendezvousSettings(
                network=ProfileNetwork("rails", "rail-0"), ip_family="IPv4", timeout_seconds=600
            ),
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


def assert_says(text: str, message: str) -> None:
    """See that the first fault of these profiles is told in these words, in lines that show."""
    found = faults(text)
    assert message in found[0], found
    assert all(line.isprintable() for line in found)


def fault_rows(table: str) -> dict[str, tuple[str, str]]:
    """Read a table of faults: a line ``name | profiles``, and below it what is told of them."""
    lines = table.strip().splitlines()
    rows = {}
    for given, told in zip(lines[::2], lines[1::2], strict=True):
        name, text = given.split(" | ", 1)
        rows[name] = (text, told.strip())
    return rows
