"""Say what a PodSecurity level refuses of a pod, and what of that the injection has added.

Of what a profile may write: host namespaces, procMount and Windows' options are none of a fabric.

Source: kubernetes/pod-security-admission policy/check_*.go.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from webhook.core import names, podspec
from webhook.core.injection.ipc_lock import CAPABILITY
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan
from webhook.core.profiles import Profile

STEP: Final = Row("profile")
IPC_LOCK: Final = f"capability {CAPABILITY}"
REFUSING_LEVELS: Final = ("baseline", "restricted")
_OF_BASELINE: Final = (
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID "
    "SETPCAP SETUID SYS_CHROOT"
)
_CAPABILITIES: Final = {"baseline": _OF_BASELINE.split(), "restricted": ["NET_BIND_SERVICE"]}
_SYSCTLS: Final = (
    "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.ip_local_reserved_ports "
    "net.ipv4.ip_unprivileged_port_start net.ipv4.ping_group_range net.ipv4.tcp_fin_timeout "
    "net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes net.ipv4.tcp_keepalive_time "
    "net.ipv4.tcp_rmem net.ipv4.tcp_syncookies net.ipv4.tcp_wmem"
)
_VOLUMES: Final = (
    "name configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret"
)
_SELINUX_TYPES: Final = (
    *(None, "", "container_t", "container_init_t"),
    *("container_kvm_t", "container_engine_t"),
)


class Refusal(NamedTuple):
    """Hold *what* is refused, ``capability IPC_LOCK``, and *whose* it is, ``container trainer``."""

    what: str
    whose: str

    def __str__(self) -> str:
        return f"{self.whose} ({self.what})"


def refuse(plan: Plan, refused: list[Refusal]) -> Decision:
    """Return the warning of what is left out, or raise Denied for ``podSecurity: deny``."""
    label, space = names.POD_SECURITY_ENFORCE, plan.namespace
    named = ", ".join(map(str, refused))
    message = (
        f"label {label}: {space.labels[label]} of namespace {space.name} refuses {named} of "
        f"profile {plan.profile.name}"
    )
    if plan.profile.pod_security == "skip":
        return STEP.warned(plan, Reason.POD_SECURITY, message)
    lock = "ipcLock: false or " if any(each.what == IPC_LOCK for each in refused) else ""
    cure = (
        f"label the namespace privileged, or set {lock}podSecurity: skip or ignore in the profile"
    )
    raise STEP.denied(plan, Reason.POD_SECURITY, f"{message}; {cure}")


def refused_parts(profile: Profile, level: str) -> list[str]:
    """Name what the level refuses of a profile in a pod that asks for nothing itself."""
    spec = profile.pod.get("spec") or {}
    container = {"securityContext": profile.container.get("securityContext")}
    bare = {"spec": {"containers": [{"name": "of the job"}]}}
    merged = {"spec": {**spec, "containers": [{"name": "of the job", **container}]}}
    parts = [CAPABILITY] if profile.ipc_lock and level in REFUSING_LEVELS else []
    return parts + [str(each) for each in refused_additions(bare, merged, level)]


def refused_additions(before: Object, after: Object, level: str) -> list[Refusal]:
    """Return what the level refuses of a pod as it leaves, and not as it came."""
    if level not in REFUSING_LEVELS:
        return []
    found = list(refused(after, level))
    already = {each.what for each in refused(before, level)} if found else set()
    return [each for each in found if each.what not in already]


def refused(pod: Object, level: str) -> Iterator[Refusal]:
    """Yield what the level refuses of a pod."""
    spec = pod.get("spec") or {}
    context = spec.get("securityContext") or {}
    sysctls = [each.get("name") for each in context.get("sysctls") or ()]
    of_pod = [f"sysctl {name}" for name in sysctls if name not in _SYSCTLS.split()]
    for what in (*of_pod, *_of_context(context, level)):
        yield Refusal(what, "pod")
    for volume in podspec.volumes(pod):
        for kind in {"hostPath"} if level == "baseline" else {*volume} - {*_VOLUMES.split()}:
            if volume.get(kind) is not None:
                yield Refusal(kind, f"volume {volume.get('name')}")
    for container in podspec.every_container(pod):
        for what in _of_container(container, context, level):
            yield Refusal(what, f"container {container.get('name')}")


def _of_container(container: Object, above: Object, level: str) -> Iterator[str]:
    """Yield what is refused of a container; *above*: the pod's securityContext."""
    own = container.get("securityContext") or {}
    capabilities = own.get("capabilities") or {}
    yield from _of_context(own, level)
    for capability in capabilities.get("add") or ():
        if capability not in _CAPABILITIES[level]:
            yield f"capability {capability}"
    if own.get("privileged"):
        yield "privileged"
    if any(port.get("hostPort") for port in container.get("ports") or ()):
        yield "hostPort"
    if level == "restricted":
        if own.get("allowPrivilegeEscalation") is not False:
            yield "allowPrivilegeEscalation"
        if "ALL" not in (capabilities.get("drop") or ()):
            yield "capabilities.drop without ALL"
        if not podspec.of_context(own, above, "runAsNonRoot"):
            yield "runAsNonRoot"
        profile = own.get("seccompProfile") or above.get("seccompProfile") or {}
        if profile.get("type") not in ("RuntimeDefault", "Localhost"):
            yield "seccompProfile"


def _of_context(context: Object, level: str) -> Iterator[str]:
    """Yield what is refused alike of a pod's and of a container's securityContext."""
    for key in ("seccompProfile", "appArmorProfile"):
        if (context.get(key) or {}).get("type") == "Unconfined":
            yield f"{key} Unconfined"
    options = context.get("seLinuxOptions") or {}
    if options.get("type") not in _SELINUX_TYPES or options.get("user") or options.get("role"):
        yield "seLinuxOptions"
    if level == "restricted" and context.get("runAsUser") == 0:
        yield "runAsUser 0"
