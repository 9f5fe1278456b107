"""Accelerators are counted where their number is certain: the devices for them are asked for."""

import pytest

from webhook.core.accelerators import count_accelerators
from webhook.core.model import Object

GPU = "nvidia.com/gpu"
COUNTED: list[tuple[Object, int]] = [
    ({GPU: 8}, 8),
    ({GPU: "8"}, 8),
    ({"amd.com/gpu": 4, "cpu": 3, "rdma/gpu0_nic": 1}, 4),
    ({"aws.amazon.com/neuron": 16}, 16),
    ({GPU: 2, "nvidia.com/gpumem": 3000, "nvidia.com/gpucores": 50}, 2),
    ({GPU: "8", "amd.com/gpu": "0"}, 8),
]
UNCERTAIN: list[Object] = [
    {},
    {"cpu": 4},
    {"aliyun.com/gpu-mem": 16},
    {"tencent.com/vcuda-core": 100},
]
UNCERTAIN += [
    {GPU: 4, "nvidia.com/mig-1g.5gb": 2},
    *({GPU: each} for each in ("x", "500m", "-1", "0")),
]


@pytest.mark.parametrize(("limits", "expected"), [*COUNTED, *((each, None) for each in UNCERTAIN)])
def test_counts_accelerators_where_that_is_certain(limits: Object, expected: int | None) -> None:
    assert count_accelerators({"resources": {"limits": limits}}) == expected
    assert count_accelerators({"resources": {"requests": limits}}) == expected
