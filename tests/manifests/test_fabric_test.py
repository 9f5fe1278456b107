"""The script that tests the fabric: what it counts, and when it fails.

tests/operators runs all of it, with torch.
"""

import runpy
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT

SCRIPT = ROOT / "manifests" / "examples" / "fabric-test" / "fabric_test.py"
MIB = 1 << 20


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_bytes_of_interfaces_and_of_rdma_devices_are_counted(
    script: dict[str, Any], tmp_path: Path
) -> None:
    counters = {
        "net/eth0/statistics/tx_bytes": 7,
        "net/net1/statistics/tx_bytes": 9,
        "infiniband/mlx5_0/ports/1/counters/port_xmit_data": 10,
        "infiniband/mlx5_0/ports/2/counters/port_xmit_data": 1,
        "infiniband/rdmap0/ports/1/hw_counters/tx_bytes": 5,
    }
    for name, value in counters.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(f"{value}\n")
    assert script["sent"](tmp_path) == {"eth0": 7, "net1": 9, "mlx5_0": 44, "rdmap0": 5}


@pytest.mark.parametrize(
    ("by", "percent"),
    [
        pytest.param({"eth0": 0, "net1": 110 * MIB, "lo": 50 * MIB}, 100, id="fabric"),
        pytest.param({"eth0": 0, "net1": 0, "mlx5_0": 100 * MIB}, 100, id="rdma"),
        pytest.param({"eth0": 100 * MIB, "net1": 0}, 0, id="pod-network"),
        pytest.param({"eth0": 50 * MIB, "net1": 50 * MIB}, 50, id="both"),
        pytest.param({"eth0": 0, "net1": 1 * MIB}, 1, id="a-way-that-nothing-counts"),
    ],
)
def test_the_share_is_of_all_bytes_that_had_to_be_sent(
    script: dict[str, Any], by: dict[str, int], percent: int
) -> None:
    assert script["share"](by, 100 * MIB) == percent
