"""Which container of a pod trains."""

from typing import Any

import pytest

from tests.core.builders import profile
from tests.pods import minimal_container as _one
from tests.pods import minimal_pod
from tests.tables import cases
from webhook.core import names
from webhook.core.accelerators import is_accelerator
from webhook.core.errors import Denied
from webhook.core.model import Object, Reason
from webhook.core.training_container import choose_container
from webhook.core.workloads.training_pod import TrainingPod

GPU = {"limits": {"nvidia.com/gpu": "8"}}
PLAIN, PROFILED = profile(), profile(training_container="main")
TORCH = TrainingPod(system="kubeflow-pytorchjob", container="pytorch")


def _pod(*found: Object, annotation: str | None = None, **spec: Any) -> Object:
    return minimal_pod(
        *found,
        annotations={names.CONTAINER: annotation} if annotation is not None else None,
        **spec,
    )


def _read(containers: str) -> Object:
    """Read ``a b:nvidia.com/gpu c!``: names, the resource asked for, ! where a launcher starts."""
    found = []
    for text in containers.split():
        name, _, resource = text.removesuffix("!").partition(":")
        command = {"command": ["torchrun", "t.py"]} if text.endswith("!") else {}
        resources = {"resources": {"limits": {resource: "8"}}} if resource else {}
        found.append(_one(name, **command, **resources))
    return _pod(*found)


@pytest.mark.parametrize(
    ("containers", "profiled", "system", "chosen"),
    cases("""
first | a b | | | a
not a proxy | istio-proxy b | | | b
only a proxy | istio-proxy | | | istio-proxy
the system's name | log pytorch | | torch | pytorch
the system's name absent | log other | | torch | log
a launcher | log b! | | torch | b
the system's name before a launcher | a! pytorch | | torch | pytorch
an accelerator before the system's name | pytorch b:nvidia.com/gpu | | torch | b
network card beside a gpu | a:spidernet.io/shared_cx5_gpu1 b:nvidia.com/gpu | | | b
the profile's name | a:nvidia.com/gpu main | main | torch | main
the profile's name absent | a b:nvidia.com/gpu | main | | b
"""),
)
def test_chooses(containers: str, profiled: str, system: str, chosen: str) -> None:
    pod = _read(containers)
    index = choose_container(pod, PROFILED if profiled else PLAIN, TORCH if system else None)
    assert pod["spec"]["containers"][index]["name"] == chosen


SIDECAR = _one("side", resources=GPU, restartPolicy="Always")
NONE = {"requests": {"amd.com/gpu": 0}, "limits": None}


@pytest.mark.parametrize(
    ("resources", "wanted"),
    [({"requests": {"amd.com/gpu": 1}}, 1), (NONE, 2), ({"claims": [{"name": "gpu"}]}, 1)],
    ids=["requests", "no accelerator", "claims"],
)
def test_chooses_by_accelerators_of_containers(resources: Object, wanted: int) -> None:
    middle, last = _one("b", resources=resources), _one("c", resources=GPU)
    pod = _pod(_one("a"), middle, last, annotation="", initContainers=[SIDECAR])
    assert choose_container(pod, PLAIN, None) == wanted


def test_an_annotation_is_stronger_than_all() -> None:
    pod = _pod(_one("a", resources=GPU), _one("main"), _one("c"), annotation="c")
    assert choose_container(pod, PROFILED, TORCH) == 2


def test_follows_its_own_choice_when_another_injector_adds_a_container() -> None:
    pod = _pod(_one("a", resources=GPU))
    index = choose_container(pod, PLAIN, None)
    chosen = pod["spec"]["containers"][index]["name"]
    later = _pod(_one("injected", resources=GPU), *pod["spec"]["containers"], annotation=chosen)
    assert choose_container(later, PLAIN, None) == 1


@pytest.mark.parametrize(
    ("wanted", "found"), [("c", "no container of the pod"), ("side", "an init container")]
)
def test_denies_an_annotation_that_names_no_container(wanted: str, found: str) -> None:
    pod = _pod(_one("a"), _one("b"), annotation=wanted, initContainers=[SIDECAR])
    with pytest.raises(Denied) as caught:
        choose_container(pod, PLAIN, None)
    assert caught.value.reason is Reason.INVALID_POD
    told = f"{wanted!r} is {found}; write one of a, b, or remove the annotation"
    assert caught.value.message == f"pod train-0: annotation {names.CONTAINER}: {told}"


ACCELERATORS = """
nvidia.com/gpu nvidia.com/gpu.shared nvidia.com/mig-1g.5gb nvidia.com/mig-3g.20gb.me
nvidia.com/gpumem amd.com/gpu amd.com/cpx_nps4 gpu.intel.com/i915 gpu.intel.com/xe
npu.intel.com/accel habana.ai/gaudi aws.amazon.com/neuron aws.amazon.com/neuroncore
aws.amazon.com/neurondevice google.com/tpu cloud-tpus.google.com/v3 huawei.com/Ascend910
huawei.com/ascend-1980 huawei.com/npu cambricon.com/mlu cambricon.com/mlu370
metax-tech.com/gpu metax-tech.com/sgpu mthreads.com/vgpu hygon.com/dcu enflame.com/gcu
kunlunxin.com/xpu furiosa.ai/rngd rebellions.ai/ATOM tenstorrent.com/n150 graphcore.ai/ipu
qualcomm.com/qaic aliyun.com/gpu-mem aliyun.com/gpu-core.percentage
tke.cloud.tencent.com/qgpu-core tencent.com/vcuda-core volcano.sh/vgpu-number
koordinator.sh/gpu-memory-ratio k8s.amazonaws.com/vgpu alpha.kubernetes.io/nvidia-gpu
dra.llm-d.io/gpu-nic-pair
"""


@pytest.mark.parametrize("resource", ACCELERATORS.split())
def test_takes_for_an_accelerator(resource: str) -> None:
    assert is_accelerator(resource)


OTHERS = """
cpu memory gpu hugepages-2Mi rdma/ib rdma/hca rdma/rdma_shared_device_a rdma/gpu0_nic
rdma/gpu0 spidernet.io/shared_cx5_gpu1 spidernet.io/gpu1_rdma nvidia.com/gpu0-rail
nvidia.com/hostdev nvidia.com/rdma-vf nvidia.com/sriov_resource_rail_0 nvidia.com/mlnxnics
openshift.io/eth_rail0 openshift.io/gpu0_vf vpc.amazonaws.com/efa
networking.gke.io.networks/rdma-0 aliyun/erdma intel.com/qat
intel.com/intel_sriov_netdevice gpu.intel.com/i915_monitoring devices.kubevirt.io/kvm
example.com/xelink
"""


@pytest.mark.parametrize("resource", OTHERS.split())
def test_does_not_take_for_an_accelerator(resource: str) -> None:
    assert not is_accelerator(resource)
