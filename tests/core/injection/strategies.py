"""Draw pods and plans for property tests: odd but well-formed, as a user, an operator or another injector may have left them."""

from typing import Any

from hypothesis import strategies as st

from tests.core.builders import Step, attachment, carry_out, plan, profile
from tests.pods import minimal_container, minimal_pod
from webhook.core import names
from webhook.core.errors import Denied
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.profiles import ProfileQuantity, SharedMemory
from webhook.core.profiles.grammar import NodeDevices, Size

RESOURCES = ("rdma/ib", "nvidia.com/hostdev", "nvidia.com/gpu", "hugepages-2Mi", "memory")
INTERFACES = ("net1", "net2", "rail0")
_NONE = Decision("rendezvous", Outcome.SKIPPED, Reason.DISABLED, "the profile asks for none")

_quantities = st.sampled_from(
    ["0", "1", "2", "8", "1k", "1000m", "4Gi", 1, 3, 2.0, "1500m", "x", "-1", ""]
)
_amounts = st.dictionaries(st.sampled_from(RESOURCES), _quantities, max_size=3)
_paths = st.sampled_from(["/etc/nccl.conf", "/dev/shm", "//dev/shm/", "/dev/./shm", "/data"])
_volume_names = st.sampled_from(["dshm", names.SHM_VOLUME, names.NCCL_CONF_VOLUME, "data"])
_sources = st.sampled_from(
    [
        {"emptyDir": {"medium": "Memory"}},
        {"emptyDir": {"medium": "Memory", "sizeLimit": "4Gi"}},
        {"emptyDir": {}},
        {"hostPath": {"path": "/dev/shm"}},
        {"downwardAPI": {}},
        {
            "downwardAPI": {
                "items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
            }
        },
        {"downwardAPI": {"items": None, "defaultMode": 420}},
    ]
)
_variables = st.sampled_from(
    [
        {"name": "NCCL_SOCKET_IFNAME", "value": "=net1"},
        {"name": "NCCL_SOCKET_IFNAME", "value": "^net"},
        {"name": "NCCL_SOCKET_IFNAME"},
        {"name": "NCCL_SOCKET_IFNAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "GLOO_SOCKET_IFNAME", "value": "eth0"},
        {"name": "NCCL_IB_HCA", "value": "mlx5"},
    ]
)


_VOLUMES = (
    {"name": "data", "hostPath": {"path": "/dev/shm"}},
    {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "4Gi"}},
    {"name": "topology", "configMap": {"name": "topology"}},
)
_MOUNTS = (
    {"name": "data", "mountPath": "/data"},
    {"name": "dshm", "mountPath": "/dev/shm"},
    {"name": "topology", "mountPath": "/etc/nccl.conf", "readOnly": True},
    {"name": "gone", "mountPath": "/etc/gone"},
)
_SIDECARS = (
    {"name": "side", "image": "example.com/side"},
    {"name": "daemon", "image": "example.com/daemon:1", "volumeMounts": list(_MOUNTS[:2])},
    {"name": "root", "image": "other.com/daemon", "securityContext": {"privileged": True}},
)
_TOLERATIONS = (
    {"key": "gpu", "operator": "Exists"},
    {"key": "gpu", "value": "a", "effect": "NoExecute"},
)
_QUANTITIES = (
    ProfileQuantity("rdma/ib", per_accelerator=2),
    ProfileQuantity(
        "nvidia.com/hostdev",
        by_node_type={"a": NodeDevices((3, 0)), "b": NodeDevices((4, 8))},
        otherwise=NodeDevices((2, 4)),
        node_label="rack",
    ),
)


def _optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    """Draw a map in which any field may be missing or null."""
    return st.fixed_dictionaries(
        {}, optional={key: st.none() | value for key, value in fields.items()}
    )


_resources = _optional(limits=_amounts, requests=_amounts, claims=st.just([{"name": "gpu"}]))
_capabilities = _optional(
    add=st.lists(st.sampled_from(["IPC_LOCK", "ALL", "SYS_PTRACE"]), max_size=2),
    drop=st.lists(st.sampled_from(["IPC_LOCK", "ALL"]), max_size=2),
)
_security = _optional(
    privileged=st.booleans(),
    runAsUser=st.sampled_from([0, 1000]),
    runAsNonRoot=st.booleans(),
    capabilities=_capabilities,
)
_node_terms = _optional(
    nodeSelectorTerms=st.lists(
        _optional(
            matchExpressions=st.lists(
                _optional(
                    key=st.sampled_from(["rack", "fabric"]),
                    operator=st.sampled_from(["In", "NotIn"]),
                    values=st.lists(st.sampled_from(["a", "b"]), max_size=2),
                ),
                max_size=2,
            )
        ),
        max_size=2,
    )
)
_mounts = st.lists(st.fixed_dictionaries({"name": _volume_names, "mountPath": _paths}), max_size=2)


@st.composite
def containers(draw: st.DrawFn, name: str) -> Object:
    fields = draw(
        _optional(
            resources=_resources,
            securityContext=_security,
            volumeMounts=_mounts,
            env=st.lists(_variables, max_size=3),
        )
    )
    return minimal_container(name, **fields)


@st.composite
def pods(draw: st.DrawFn) -> Object:
    """Draw a pod of one to three containers."""
    found = [
        draw(containers(name))
        for name in draw(st.sampled_from([("trainer",), ("side", "trainer", "log")]))
    ]
    init = st.lists(
        containers("early")
        | containers(names.WAIT_CONTAINER)
        | containers(names.ISTIO_INIT_CONTAINER),
        max_size=2,
    )
    volumes = st.lists(
        st.builds(lambda name, source: {"name": name, **source}, _volume_names, _sources),
        max_size=3,
    )
    spec = draw(
        _optional(
            initContainers=init,
            volumes=volumes,
            securityContext=_security,
            nodeSelector=st.dictionaries(
                st.sampled_from(["rack", "fabric"]), st.sampled_from(["a", "b"])
            ),
            hostIPC=st.booleans(),
            hostUsers=st.booleans(),
            resourceClaims=st.just([{"name": "gpu"}]),
            tolerations=st.lists(
                _optional(key=st.just("gpu"), operator=st.sampled_from(["", "Exists"])), max_size=2
            ),
            affinity=_optional(
                nodeAffinity=_optional(requiredDuringSchedulingIgnoredDuringExecution=_node_terms)
            ),
        )
    )
    metadata = draw(
        _optional(
            annotations=st.dictionaries(
                st.sampled_from(
                    [names.ISTIO_EXCLUDE_INTERFACES, names.ISTIO_INJECT, names.ADDED_DEVICES]
                ),
                st.sampled_from(
                    [
                        "",
                        "true",
                        "false",
                        "net1",
                        "eth9, net1,",
                        "rdma/ib=1",
                        "nvidia.com/hostdev=2",
                    ]
                ),
            ),
            labels=st.dictionaries(st.just(names.ISTIO_INJECT), st.sampled_from(["true", "false"])),
        )
    )
    return minimal_pod(*found, metadata=metadata, **spec)


@st.composite
def plans(draw: st.DrawFn, pod: Object) -> Plan:
    """Draw a plan of *pod*: zero to two attachments, a profile, a namespace."""
    attachments = [
        attachment(
            f"default/{name}",
            interface,
            resource=draw(st.sampled_from(["", "rdma/ib", "nvidia.com/hostdev"])),
            has_ipam=draw(st.booleans()),
            node_selector=draw(st.sampled_from([{}, {"rack": "a"}, {"fabric": "b"}])),
        )
        for name, interface in zip(
            ("rail-0", "rail-1"), draw(st.permutations(INTERFACES)), strict=False
        )
    ][: draw(st.integers(0, 2))]
    limit = Size(draw(st.sampled_from(["", "1Gi", "16Gi"])))
    context = st.sampled_from([{}, {"capabilities": {"add": ["NET_ADMIN"]}}, {"runAsUser": 0}])

    def some(given: tuple[Any, ...]) -> list[Any]:
        return draw(st.lists(st.sampled_from(given), max_size=2, unique_by=id))

    chosen = profile(
        existing_devices=draw(st.sampled_from(["complete", "keep", "add"])),
        ipc_lock=draw(st.booleans()),
        pod_security=draw(st.sampled_from(["deny", "skip", "ignore"])),
        shared_memory=SharedMemory(draw(st.booleans()), limit),
        nccl_conf=draw(st.booleans()),
        address_variables=draw(st.sampled_from([(), ("VLLM_HOST_IP", "NCCL_DEBUG")])),
        device_variables=draw(
            st.sampled_from([(), ("NCCL_IB_HCA",), ("NCCL_IB_HCA", "UCX_NET_DEVICES")])
        ),
        quantities=tuple(some(_QUANTITIES)),
        container={
            "env": draw(st.sampled_from([[], [{"name": "NCCL_IB_HCA", "value": "mlx5"}]])),
            "resources": {
                "limits": draw(
                    st.dictionaries(
                        st.sampled_from(RESOURCES),
                        st.sampled_from(["1", "2", "1k", "2Gi", "1500M"]),
                        max_size=2,
                    )
                )
            },
            "securityContext": draw(context),
            "volumeMounts": some(_MOUNTS),
        },
        pod={
            "metadata": {
                "annotations": draw(
                    st.dictionaries(
                        st.sampled_from([names.ISTIO_INJECT, "note"]), st.sampled_from(["", "true"])
                    )
                )
            },
            "spec": {
                "initContainers": some(_SIDECARS),
                "nodeSelector": draw(st.dictionaries(st.just("rack"), st.sampled_from(["a", "b"]))),
                "tolerations": some(_TOLERATIONS),
                "volumes": some(_VOLUMES),
            },
        },
    )
    labels = draw(
        st.dictionaries(
            st.sampled_from([names.POD_SECURITY_ENFORCE, names.ISTIO_INJECTION]),
            st.sampled_from(["baseline", "restricted", "enabled", "privileged"]),
        )
    )
    names_there = [container["name"] for container in pod["spec"]["containers"]]
    return plan(
        pod,
        *attachments,
        profile=chosen,
        container=names_there.index("trainer"),
        labels=labels,
        why_no_rendezvous=_NONE,
    )


def planned_pods() -> st.SearchStrategy[tuple[Object, Plan]]:
    """Draw a pod and a plan for it."""
    return pods().flatmap(lambda pod: st.tuples(st.just(pod), plans(pod)))


def check_promises(step: Step, case: tuple[Object, Plan]) -> None:
    """Carry *step* out and check what every step promises; a denial names the pod and leaves it as it is."""
    pod, drawn = case
    before = repr(pod)
    refused = ""
    try:
        carry_out(step, pod, drawn)
    except Denied as denied:
        refused = denied.message
    assert repr(pod) == before
    assert not refused or (refused.startswith("pod train-0: ") and refused.isprintable())
