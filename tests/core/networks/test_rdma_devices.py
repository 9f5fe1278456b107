"""The names of a pod's RDMA devices in network-status, and how NCCL and UCX are told them."""

import json
from typing import Any

import pytest

from tests.pods import FIXTURES
from tests.tables import read
from webhook.core.networks.rdma_devices import (
    MAX_VALUE,
    MOST_DEVICES,
    nccl_ib_hca,
    rdma_devices,
    ucx_net_devices,
)

TABLES = read(__file__, "rdma_devices.yaml")


def entry(device: Any, interface: str = "net1", **info: Any) -> dict[str, Any]:
    pci = {"pci-address": "0000:03:00.3", "rdma-device": device}
    return {
        "name": "default/sriov",
        "interface": interface,
        "device-info": {"type": "pci", "pci": pci, **info},
    }


def named(*entries: Any) -> tuple[str, ...]:
    return rdma_devices(json.dumps(entries))


def test_reads_what_a_cluster_wrote() -> None:
    assert rdma_devices(
        (FIXTURES / "networking/network-status/05-sriov-device-info-rdma.json").read_text()
    ) == ("mlx5_4",)


def test_names_each_once_in_the_order_of_the_interfaces() -> None:
    found = named(entry("mlx5_7"), entry("mlx5_4,mlx5_5", "net2"), entry("mlx5_7", "net3"))
    assert found == ("mlx5_7", "mlx5_4", "mlx5_5")
    assert nccl_ib_hca(found) == "=mlx5_7,mlx5_4,mlx5_5"
    assert ucx_net_devices(found) == "mlx5_7:1,mlx5_4:1,mlx5_5:1"


def test_without_a_name_both_choose_among_all_as_without_the_variable() -> None:
    assert (nccl_ib_hca(()), ucx_net_devices(())) == ("=", "all")


def test_neither_the_cluster_network_nor_an_entry_without_a_device_counts() -> None:
    cluster = entry("mlx5_0", "eth0"), {**entry("mlx5_1"), "default": True}
    plain = {"name": "default/macvlan", "interface": "net1"}
    assert named(*cluster, plain, entry("mlx5_4", "net2")) == ("mlx5_4",)


@pytest.mark.parametrize("info", TABLES["no_device"], ids=str)
def test_what_names_no_rdma_device(info: Any) -> None:
    assert named({"name": "default/a", "interface": "net1", "device-info": info}) == ()


@pytest.mark.parametrize("name", [*TABLES["no_name"], "x" * 65], ids=str)
def test_one_that_cannot_be_a_name_leaves_all_unknown(name: Any) -> None:
    """To publish the rest would rule out the device that could not be read."""
    assert named(entry("mlx5_0"), entry(name, "net2")) == ()


@pytest.mark.parametrize(
    "status", ["", "{", "{}", "[1]", "[" * 70_000, "null", '[{"interface":' * 10_000]
)
def test_a_status_that_cannot_be_read_names_none(status: str) -> None:
    assert rdma_devices(status) == ()


def test_no_more_are_named_than_the_libraries_read() -> None:
    def listed(count: int) -> str:
        return ",".join(f"{number:064d}" for number in range(count))

    most = named(entry(listed(MOST_DEVICES)))
    assert len(most) == MOST_DEVICES
    assert len(ucx_net_devices(most)) < MAX_VALUE
    assert len(nccl_ib_hca(most)) < MAX_VALUE
    assert named(entry(listed(MOST_DEVICES + 1))) == ()
