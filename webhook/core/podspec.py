"""Read a pod: every reader takes what is missing, and null, as empty."""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from webhook.core import names
from webhook.core.model import Object

_NOTHING: Mapping[str, Any] = {}
_PUBLISHED: Final = f"metadata.annotations['{names.PREFIX}"
_RANK_ZERO = [f"metadata.annotations['{key}']" for key in (names.MASTER_ADDR, names.MASTER_HOST)]
_DEVICES = [f"metadata.annotations['{key}']" for key in (names.NCCL_IB_HCA, names.UCX_NET_DEVICES)]
_LONGEST_NAME: Final = 253
"""Source: k8s.io/apimachinery pkg/util/validation DNS1123SubdomainMaxLength."""


def _map(holder: str, key: str) -> Callable[[Object], Mapping[str, Any]]:
    """Return a reader of a map below another."""
    return lambda of: (of.get(holder) or _NOTHING).get(key) or _NOTHING


def _list(holder: str, key: str) -> Callable[[Object], list[Object]]:
    """Return a reader of a list below a map."""
    return lambda of: (of.get(holder) or _NOTHING).get(key) or []


def _own_list(key: str) -> Callable[[Object], list[Object]]:
    """Return a reader of a list."""
    return lambda of: of.get(key) or []


labels: Final[Callable[[Object], Mapping[str, str]]] = _map("metadata", "labels")
annotations: Final[Callable[[Object], Mapping[str, str]]] = _map("metadata", "annotations")
containers: Final = _list("spec", "containers")
init_containers: Final = _list("spec", "initContainers")
volumes: Final = _list("spec", "volumes")

# of a container
env: Final = _own_list("env")
mounts: Final = _own_list("volumeMounts")
limits: Final = _map("resources", "limits")
requests: Final = _map("resources", "requests")
claims: Final = _list("resources", "claims")


def own_name(pod: Object) -> str:
    """Return the name by which peers know the pod: its hostname, else its own."""
    hostname: str | None = (pod.get("spec") or _NOTHING).get("hostname")
    return hostname or (pod.get("metadata") or _NOTHING).get("name") or ""


def own_names(pod: Object) -> frozenset[str]:
    """Return all names that the pod goes by: hostname and metadata.name."""
    hostname = (pod.get("spec") or _NOTHING).get("hostname")
    return frozenset(filter(None, (hostname, (pod.get("metadata") or _NOTHING).get("name"))))


def display_name(pod: Object) -> str:
    """Return a name for messages: the pod's, else ``generateName`` with a star; cut where long."""
    metadata = pod.get("metadata") or _NOTHING
    name: str = metadata.get("name") or ""
    generate: str = metadata.get("generateName") or ""
    return name[:_LONGEST_NAME] or generate[:_LONGEST_NAME] + "*"


def controller(pod: Object) -> Mapping[str, Any]:
    """Return the ownerReference with ``controller: true``, else an empty map."""
    for owner in (pod.get("metadata") or _NOTHING).get("ownerReferences") or ():
        if owner.get("controller"):
            return owner  # type: ignore[no-any-return]  # JSON boundary
    return _NOTHING


def every_container(pod: Object) -> list[Object]:
    """Return ``spec.containers``, and after them ``spec.initContainers``."""
    return [*containers(pod), *init_containers(pod)]


def is_sidecar(init_container: Object) -> bool:
    """Tell whether an init container runs beside the app containers."""
    return init_container.get("restartPolicy") == "Always"


def running_containers(pod: Object) -> Iterator[Object]:
    """Yield the containers whose devices count together: app containers and sidecars.

    Source: kubernetes pkg/kubelet/apis/podresources/server_v1.go.
    """
    yield from containers(pod)
    yield from filter(is_sidecar, init_containers(pod))


def env_value(container: Object, name: str) -> str | None:
    """Return the literal of the last entry *name*; None where it is absent or by valueFrom."""
    for entry in reversed(env(container)):
        if entry.get("name") == name:
            return literal(entry)
    return None


def literal(entry: Object) -> str | None:
    """Return the literal value of an environment entry; None where it is by valueFrom."""
    return None if entry.get("valueFrom") else entry.get("value") or ""


def has_env(container: Object, name: str) -> bool:
    """Tell whether variable *name* is set in any form."""
    for entry in env(container):  # noqa: SIM110  # any() would make a generator
        if entry.get("name") == name:
            return True
    return False


def references(container: Object) -> list[Object]:
    """Return the environment entries that take their value from something else."""
    return [entry for entry in env(container) if entry.get("valueFrom")]


def is_published(entry: Object) -> bool:
    """Tell whether fabric-injector publishes the value of an environment entry."""
    return field_path(entry).startswith(_PUBLISHED)


def takes_rank_zero(entry: Object) -> bool:
    """Tell whether what fabric-injector publishes there is rank 0's address."""
    return field_path(entry) in _RANK_ZERO


def names_devices(entry: Object) -> bool:
    """Tell whether what fabric-injector publishes there are the pod's RDMA devices."""
    return field_path(entry) in _DEVICES


def field_path(entry: Object) -> str:
    """Return what an environment entry's fieldRef refers to; empty where it has none."""
    source = entry.get("valueFrom")
    if not source or not (reference := source.get("fieldRef")):
        return ""
    path: str = reference.get("fieldPath") or ""
    return path


def argv(container: Object) -> list[str]:
    """Return command and args in one list."""
    return [*(container.get("command") or ()), *(container.get("args") or ())]


def mentions(container: Object, *options: str) -> bool:
    """Tell whether command or args hold one of *options* anywhere."""
    for key in ("command", "args"):
        for text in container.get(key) or ():
            if "--" in text:
                for option in options:
                    if option in text:
                        return True
    return False


def normalized_mount_path(path: str) -> str:
    """Normalise a mount path as the kubelet sees it: ``//dev/shm/`` becomes ``/dev/shm``."""
    if path.startswith("/") and not path.endswith("/") and "//" not in path and "/." not in path:
        return path
    return posixpath.normpath("/" + path.lstrip("/"))


def volume_named(pod: Object, name: str) -> Object | None:
    """Return the volume of this name."""
    return next((volume for volume in volumes(pod) if volume.get("name") == name), None)


def names_twice(pod: Object) -> str:
    """Say which name two volumes or two containers have; empty where none.

    Source: kubernetes pkg/apis/core/validation ValidateVolumes, validateContainers.
    """
    for kind, found in (("volumes", volumes(pod)), ("containers", every_container(pod))):
        given = [name for each in found if (name := each.get("name"))]
        if len(set(given)) < len(given):
            twice = next(name for name in given if given.count(name) > 1)
            return f"two {kind} are named {twice[:_LONGEST_NAME]!r}"
    return ""


def is_host_network(pod: Object) -> bool:
    """Tell whether the pod shares the node's network, so that Multus never runs for it."""
    return bool((pod.get("spec") or _NOTHING).get("hostNetwork"))


def is_ending(pod: Object) -> bool:
    """Tell a pod that is finished or being deleted; metadata tells no phase."""
    finished = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return finished or bool((pod.get("metadata") or {}).get("deletionTimestamp"))


def of_context(context: Object, pod_context: Object, field: str) -> Any:
    """Return a field of a container's securityContext, else of its pod's."""
    own = context.get(field)
    return pod_context.get(field) if own is None else own


def is_windows(pod: Object) -> bool:
    """Tell whether the pod says that it runs on Windows."""
    return bool(((pod.get("spec") or _NOTHING).get("os") or _NOTHING).get("name") == "windows")


def is_compute_domain_channel(claim: Object) -> bool:
    """Tell whether a claim is the channel of a ComputeDomain, by which GPUs share memory.

    A pod shows nothing of a claim but names. Source: NVIDIA/k8s-dra-driver-gpu, ComputeDomain.
    """
    named = f"{claim.get('name')} {claim.get('resourceClaimTemplateName')}"
    return "compute-domain" in named or "imex" in named
