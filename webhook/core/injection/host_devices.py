"""Warn of a trap: files of /dev/infiniband mounted from the node, which nothing may open."""

from collections.abc import Iterator
from typing import Final

from webhook.core.draft import Draft
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import limits, mounts, volumes

STEP: Final = Row("host-devices")
_FOLDER: Final = "/dev/infiniband"
_EFA: Final = "vpc.amazonaws.com/efa"


def inject(draft: Draft, plan: Plan) -> Iterator[Decision]:
    """Change nothing; look at hostPath volumes of the trainer, once its devices are asked for.

    A privileged container may open every device; a device plugin allows those that it allots.
    Nothing allows what is only mounted. libfabric drops EFA where it cannot open one of the cards
    that it sees, such as the Mellanox cards of a B200 node.
    Source: https://github.com/aws-samples/aws-do-eks/pull/63
    """
    mounted = {volume.get("name") for volume in volumes(draft.pod) if _is_host_devices(volume)}
    if not mounted:
        return
    own, who = plan.trainer(draft.pod), f"container {plan.container_name}"
    is_mounted = any(mount.get("name") in mounted for mount in mounts(own))
    if not is_mounted or (own.get("securityContext") or {}).get("privileged"):
        return
    if _EFA in (*plan.fabric_resources, *limits(own)):
        message = (
            f"{who} mounts {_FOLDER} of the node beside {_EFA}: it may not open all cards that it "
            "sees there, so libfabric drops EFA and NCCL uses TCP; remove the mount: the plugin "
            "brings the devices"
        )
        yield STEP.warned(plan, Reason.HOST_DEVICES, message)
    elif not any(name in limits(own) for name in plan.fabric_resources):
        message = (
            f"{who} mounts {_FOLDER} of the node, but may open nothing there: it is not privileged "
            "and asks for no device; name a network with a resource in profile "
            f"{plan.profile.name}, and remove the mount"
        )
        yield STEP.warned(plan, Reason.HOST_DEVICES, message)


def _is_host_devices(volume: Object) -> bool:
    path = ((volume.get("hostPath") or {}).get("path") or "").rstrip("/")
    return path in ("/dev", _FOLDER) or path.startswith(f"{_FOLDER}/")
