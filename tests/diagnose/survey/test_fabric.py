"""What shows that a pod has the fabric already."""

from __future__ import annotations

from typing import Any

import pytest

from tests.pods import minimal_container, minimal_pod
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.survey.fabric import Transport, find_transport, is_fabric_device

GPU = {"nvidia.com/gpu": "8"}


@pytest.mark.parametrize(
    "resource",
    [
        "rdma/hca_shared_devices_a",
        "rdma/ib",
        "nvidia.com/hostdev",
        "nvidia.com/mlnxnics",
        "openshift.io/sriov_rdma_net",
        "vpc.amazonaws.com/efa",
        "networking.gke.io.networks/rdma-0",
        "intel.com/vf",
        "rdma/gpu0_nic",
    ],
)
def test_knows_network_cards(resource: str) -> None:
    assert is_fabric_device(resource)


@pytest.mark.parametrize(
    "resource",
    [
        "nvidia.com/gpu",
        "nvidia.com/mig-1g.5gb",
        "cpu",
        "hugepages-2Mi",
        "devices.kubevirt.io/kvm",
        "example.net/license",
        "fabric/x",
    ],
)
def test_takes_nothing_else_for_one(resource: str) -> None:
    assert not is_fabric_device(resource)


def pod(limits: Object | None = None, **more: Any) -> Object:
    return minimal_pod(minimal_container(resources={"limits": limits or GPU}), **more)


def mounting(*, privileged: bool) -> Object:
    container = minimal_container(
        resources={"limits": GPU},
        securityContext={"privileged": privileged},
        volumeMounts=[{"name": "ib", "mountPath": "/dev/infiniband"}],
    )
    return minimal_pod(container, volumes=[{"name": "ib", "hostPath": {"path": "/dev/infiniband"}}])


def claiming(template: str) -> Object:
    container = minimal_container(resources={"limits": GPU, "claims": [{"name": "c"}]})
    return minimal_pod(container, resourceClaims=[{"name": "c", "resourceClaimTemplateName": template}])


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (pod(), Transport.POD_NETWORK),
        (pod({**GPU, "rdma/hca": "1"}), Transport.OWN_FABRIC),
        (pod({**GPU, "rdma/hca": "0"}), Transport.POD_NETWORK),
        (pod({**GPU, "example.com/card": "1"}), Transport.OWN_FABRIC),
        (pod(annotations={names.NETWORKS: "default/rdma-net"}), Transport.OWN_FABRIC),
        (pod(annotations={names.NETWORKS: ""}), Transport.POD_NETWORK),
        (pod(annotations={names.STATUS: "{}"}), Transport.INJECTED),
        (pod(labels={names.PROFILE: names.PROFILE_NONE}), Transport.OPTED_OUT),
        (pod(hostNetwork=True), Transport.HOST_NETWORK),
        (pod({**GPU, "rdma/hca": "1"}, hostNetwork=True), Transport.OWN_FABRIC),
        (mounting(privileged=True), Transport.OWN_FABRIC),
        (mounting(privileged=False), Transport.POD_NETWORK),
        (claiming("rdma-nics"), Transport.CLAIMS),
        (claiming("compute-domain-channel"), Transport.POD_NETWORK),
    ],
)
def test_says_what_a_pod_uses(given: Object, found: Transport) -> None:
    assert find_transport(given, {"example.com/card"}) is found
