"""Devices whose number depends on the node's type, or on the accelerators: asked for where the number is certain."""

import pytest

from webhook.core.accelerators import count_accelerators
from webhook.core.model import Object


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"nvidia.com/gpu": 8}, 8),
        ({"nvidia.com/gpu": "8"}, 8),
        ({"amd.com/gpu": 4, "cpu": 3, "rdma/gpu0_nic": 1}, 4),
        ({"aws.amazon.com/neuron": 16}, 16),
        ({"nvidia.com/gpu": 2, "nvidia.com/gpumem": 3000, "nvidia.com/gpucores": 50}, 2),
        ({"nvidia.com/gpu": 8, "amd.com/gpu": 0}, 8),
        ({"nvidia.com/gpu": "8", "amd.com/gpu": "0"}, 8),
        ({}, None),
        ({"cpu": 4}, None),
        ({"aliyun.com/gpu-mem": 16}, None),
        ({"tencent.com/vcuda-core": 100}, None),
        ({"nvidia.com/gpu": 4, "nvidia.com/mig-1g.5gb": 2}, None),
        ({"nvidia.com/gpu": "x"}, None),
        ({"nvidia.com/gpu": "500m"}, None),
        ({"nvidia.com/gpu": "-1"}, None),
        ({"nvidia.com/gpu": "0"}, None),
    ],
)
def test_counts_accelerators_where_that_is_certain(limits: Object, expected: int | None) -> None:
    assert count_accelerators({"resources": {"limits": limits}}) == expected
    assert count_accelerators({"resources": {"requests": limits}}) == expected
