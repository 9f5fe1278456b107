"""Host devices: a mounted /dev/infiniband that the device cgroup refuses to open is told, and nothing else."""

from tests.core.test_review import judge
from tests.pods import minimal_container, minimal_pod
from tests.profiles import profiles
from tests.worlds import world
from webhook.core import names
from webhook.core.model import Reason


def test_a_second_pass_tells_the_same_of_a_volume_that_a_sidecar_brings() -> None:
    """The training container mounts it by the profile's name for it."""
    using = profiles(
        """
rdma:
  container: {resources: {limits: {rdma/hca: 1}}}
  pod:
    spec:
      volumes: [{name: ib, hostPath: {path: /dev/infiniband}}]
      initContainers:
        - {name: daemon, image: "a.io/b:1", volumeMounts: [{name: ib, mountPath: /ib}]}
"""
    )
    container = minimal_container(
        "trainer", volumeMounts=[{"name": "ib", "mountPath": "/dev/infiniband"}]
    )
    pod = minimal_pod(container, metadata={"labels": {names.PROFILE: "rdma"}})
    verdict = judge(pod, world(profile="rdma"), using)
    [decision] = [each for each in verdict.decisions if each.step == "host-devices"]
    assert (verdict.allowed, decision.reason) == (True, Reason.ALREADY_THERE)
