"""Choose the container of a pod that trains: the one that gets devices, memory and variables."""

from webhook.core import names, podspec
from webhook.core.accelerators import find_accelerator
from webhook.core.errors import Denied
from webhook.core.model import Object, Reason
from webhook.core.podspec import claims, containers, display_name, init_containers
from webhook.core.profiles import Profile
from webhook.core.workloads.launchers import shows_torch_launcher
from webhook.core.workloads.training_pod import TrainingPod

STEP = "container"

_PROXIES = frozenset({names.ISTIO_PROXY_CONTAINER, "linkerd-proxy"})
"""Sidecars that their own injectors put in front of the pod's containers."""


def choose_container(pod: Object, profile: Profile, training_pod: TrainingPod | None) -> int:
    """Return the training container's index in ``spec.containers``.

    Precedence: the pod's annotation; the profile; the first with an accelerator or resource claims;
    the training system's own. Then the first that starts a torch launcher; the first that is not a
    known proxy. Init containers and sidecars never.

    Raises Denied where the annotation names a container that is not there.
    """
    found = containers(pod)
    there = {each["name"]: index for index, each in enumerate(found) if each.get("name")}
    wanted = podspec.annotations(pod).get(names.CONTAINER)
    if wanted:
        if wanted not in there:
            raise Denied(STEP, Reason.INVALID_POD, _absent(pod, wanted))
        return there[wanted]
    if profile.training_container in there:
        return there[profile.training_container]
    for index, container in enumerate(found):
        if claims(container) or find_accelerator(container):
            return index
    if training_pod and training_pod.container in there:
        return there[training_pod.container]
    if len(found) > 1:
        for index, container in enumerate(found):
            if shows_torch_launcher(container):
                return index
    for index, container in enumerate(found):
        if container.get("name") not in _PROXIES:
            return index
    return 0


def _absent(pod: Object, wanted: str) -> str:
    kind = "no container of the pod"
    if wanted in [each.get("name") for each in init_containers(pod)]:
        kind = "an init container"
    there = ", ".join(str(container.get("name")) for container in containers(pod))
    return (
        f"pod {display_name(pod)}: annotation {names.CONTAINER}: {wanted!r} is {kind}; "
        f"write one of {there}, or remove the annotation"
    )
