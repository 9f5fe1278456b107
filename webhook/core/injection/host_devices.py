"""Warn of a trap: the files of /dev/infiniband mounted from the node, which the device cgroup then refuses to open."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from webhook.core.draft import Draft
from webhook.core.model import Decision, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import containers, limits, mounts, volumes

STEP: Final = "host-devices"
_FOLDER: Final = "/dev/infiniband"
_EFA: Final = "vpc.amazonaws.com/efa"


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Change nothing; look at hostPath volumes of the training container, once its devices are asked for.

    A privileged container may open every device; a device plugin allows those that it allots. Nothing allows what is only mounted.
    libfabric drops EFA where it cannot open one of the cards that it sees, such as the Mellanox cards of a B200 node.
    Source: https://github.com/aws-samples/aws-do-eks/pull/63
    """
    mounted = {
        volume.get("name")
        for volume in volumes(draft.pod)
        if _is_host_devices(volume.get("hostPath"))
    }
    if not mounted:
        return [
            Decision(
                STEP, Outcome.SKIPPED, Reason.NOT_ASKED, f"the pod mounts no {_FOLDER} of the node"
            )
        ]
    own = containers(draft.pod)[plan.container]
    if not any(mount.get("name") in mounted for mount in mounts(own)):
        message = f"container {plan.container_name} mounts no {_FOLDER}"
        return [Decision(STEP, Outcome.SKIPPED, Reason.NOT_ASKED, message)]
    if (own.get("securityContext") or {}).get("privileged"):
        message = f"container {plan.container_name} is privileged: it may open what {_FOLDER} of the node holds"
        return [Decision(STEP, Outcome.KEPT, Reason.PRIVILEGED, message)]
    if _EFA in (*plan.fabric_resources, *limits(own)):
        message = (
            f"pod {plan.pod_name}: container {plan.container_name} mounts {_FOLDER} of the node beside {_EFA}: it may not open "
            "all cards that it sees there, so libfabric drops EFA and NCCL uses TCP; remove the mount: the plugin brings the devices"
        )
        return [Decision(STEP, Outcome.WARNED, Reason.HOST_DEVICES, message)]
    fabric = [name for name in plan.fabric_resources if name in limits(own)]
    if fabric:
        message = f"container {plan.container_name} asks for {', '.join(fabric)}, which allows the devices of {_FOLDER}"
        return [Decision(STEP, Outcome.KEPT, Reason.ALREADY_THERE, message)]
    message = (
        f"pod {plan.pod_name}: container {plan.container_name} mounts {_FOLDER} of the node, but may open nothing there: it is not "
        f"privileged and asks for no device; name a network with a resource in profile {plan.profile.name}, and remove the mount"
    )
    return [Decision(STEP, Outcome.WARNED, Reason.HOST_DEVICES, message)]


def _is_host_devices(source: object) -> bool:
    if not isinstance(source, dict):
        return False
    path = str(source.get("path") or "").rstrip("/")
    return path in ("/dev", _FOLDER) or path.startswith(f"{_FOLDER}/")
