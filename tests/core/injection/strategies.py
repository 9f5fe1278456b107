"""Draw pods and plans for property tests: odd but well-formed, as others may have left them.

``drawn.yaml`` holds what is drawn.
"""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from tests.core.builders import Step, attachment, carry_out, plan
from tests.pods import minimal_container, minimal_pod
from tests.profiles import read_profile
from tests.tables import read
from webhook.core import names
from webhook.core.errors import Denied
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.profiles import Profile

RESOURCES = ("rdma/ib", "nvidia.com/hostdev", "nvidia.com/gpu", "hugepages-2Mi", "memory")
INTERFACES = ("net1", "net2", "rail0")
_NONE = Decision("rendezvous", Outcome.SKIPPED, Reason.DISABLED, "the profile asks for none")
_DRAWN = read(__file__, "drawn.yaml")


def _optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    """Draw a map in which any field may be missing or null."""
    return st.fixed_dictionaries(
        {}, optional={key: st.none() | value for key, value in fields.items()}
    )


def _some(*values: Any) -> st.SearchStrategy[list[Any]]:
    """Draw up to two of the values, each once."""
    return st.lists(st.sampled_from(values), max_size=2, unique_by=repr)


def _map(keys: Sequence[str], values: Sequence[Any]) -> st.SearchStrategy[Object]:
    return st.dictionaries(st.sampled_from(keys), st.sampled_from(values), max_size=3)


_amounts = _map(RESOURCES, _DRAWN["quantities"])
_resources = _optional(limits=_amounts, requests=_amounts, claims=st.just([{"name": "gpu"}]))
_selectors = _map(["rack", "fabric"], ["a", "b"])
_volume_names = st.sampled_from(["dshm", names.SHM_VOLUME, names.NCCL_CONF_VOLUME, "data"])
_paths = st.sampled_from(["/etc/nccl.conf", "/dev/shm", "//dev/shm/", "/dev/./shm", "/data"])
_mounts = st.lists(st.fixed_dictionaries({"name": _volume_names, "mountPath": _paths}), max_size=2)
_security = _optional(
    privileged=st.booleans(),
    runAsUser=st.sampled_from([0, 1000]),
    runAsNonRoot=st.booleans(),
    capabilities=_optional(
        add=_some("IPC_LOCK", "ALL", "SYS_PTRACE"), drop=_some("IPC_LOCK", "ALL")
    ),
)
_expression = _optional(
    key=st.sampled_from(["rack", "fabric"]),
    operator=st.sampled_from(["In", "NotIn"]),
    values=_some("a", "b"),
)
_term = _optional(matchExpressions=st.lists(_expression, max_size=2))
_affinity = _optional(
    nodeAffinity=_optional(
        requiredDuringSchedulingIgnoredDuringExecution=_optional(
            nodeSelectorTerms=st.lists(_term, max_size=2)
        )
    )
)
_metadata = _optional(
    annotations=_map(
        [names.ISTIO_EXCLUDE_INTERFACES, names.ISTIO_INJECT, names.ADDED_DEVICES],
        _DRAWN["annotations"],
    ),
    labels=_map([names.ISTIO_INJECT], ["true", "false"]),
)


def containers(name: str) -> st.SearchStrategy[Object]:
    """Draw a container."""
    fields = _optional(
        resources=_resources,
        securityContext=_security,
        volumeMounts=_mounts,
        env=st.lists(st.sampled_from(_DRAWN["variables"]), max_size=3),
    )
    return fields.map(lambda drawn: minimal_container(name, **drawn))


_INIT = ("early", names.WAIT_CONTAINER, names.ISTIO_INIT_CONTAINER)
_spec = _optional(
    initContainers=st.lists(st.one_of(*map(containers, _INIT)), max_size=2),
    volumes=st.lists(
        st.builds(
            lambda name, source: {"name": name, **source},
            _volume_names,
            st.sampled_from(_DRAWN["sources"]),
        ),
        max_size=3,
    ),
    securityContext=_security,
    nodeSelector=_selectors,
    hostIPC=st.booleans(),
    hostUsers=st.booleans(),
    resourceClaims=st.just([{"name": "gpu"}]),
    tolerations=_some({"key": "gpu"}, {"operator": "Exists"}),
    affinity=_affinity,
)


@st.composite
def pods(draw: st.DrawFn) -> Object:
    """Draw a pod of one to three containers."""
    among = draw(st.sampled_from([("trainer",), ("side", "trainer", "log")]))
    found = [draw(containers(name)) for name in among]
    return minimal_pod(*found, metadata=draw(_metadata), **draw(_spec))


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """Draw a profile."""
    pages = draw(st.sampled_from([{}, {"hugepages-2Mi": "2Gi"}]))
    limits = draw(_map(["rdma/ib", "nvidia.com/gpu"], ["1", "2"])) | pages
    some = {key: draw(_some(*_DRAWN[key])) for key in ("volumes", "mounts", "sidecars")}
    container = {
        "env": draw(_some({"name": "NCCL_IB_HCA", "value": "mlx5"})),
        "resources": {"limits": limits},
        "securityContext": draw(st.sampled_from(_DRAWN["contexts"])),
        "volumeMounts": some["mounts"],
    }
    spec = {
        "initContainers": some["sidecars"],
        "nodeSelector": draw(_map(["rack"], ["a", "b"])),
        "tolerations": draw(_some(*_DRAWN["tolerations"])),
        "volumes": some["volumes"],
    }
    annotations = draw(_map([names.ISTIO_INJECT, "note"], ["", "true"]))
    drawn = {key: draw(st.sampled_from(values)) for key, values in _DRAWN["profiles"].items()}
    pod = {"metadata": {"annotations": annotations}, "spec": spec}
    return read_profile("rdma", {**drawn, "container": container, "pod": pod})


@st.composite
def plans(draw: st.DrawFn, pod: Object) -> Plan:
    """Draw a plan of *pod*: zero to two attachments, a profile, a namespace."""
    interfaces = draw(st.permutations(INTERFACES))
    attachments = [
        attachment(
            f"default/rail-{number}",
            interfaces[number],
            resource=draw(st.sampled_from(["", "rdma/ib", "nvidia.com/hostdev"])),
            has_ipam=draw(st.booleans()),
            node_selector=draw(st.sampled_from([{}, {"rack": "a"}, {"fabric": "b"}])),
        )
        for number in range(draw(st.integers(0, 2)))
    ]
    labels = _map(
        [names.POD_SECURITY_ENFORCE, names.ISTIO_INJECTION],
        ["baseline", "restricted", "enabled", "privileged"],
    )
    among = [container["name"] for container in pod["spec"]["containers"]]
    return plan(
        pod,
        *attachments,
        profile=draw(profiles()),
        container=among.index("trainer"),
        labels=draw(labels),
        why_no_rendezvous=_NONE,
    )


def planned_pods() -> st.SearchStrategy[tuple[Object, Plan]]:
    """Draw a pod and a plan for it."""
    return pods().flatmap(lambda pod: st.tuples(st.just(pod), plans(pod)))


def check_promises(step: Step, case: tuple[Object, Plan]) -> None:
    """Carry *step* out and check what every step promises; a denial leaves the pod as it is."""
    pod, drawn = case
    before = repr(pod)
    refused = ""
    try:
        carry_out(step, pod, drawn)
    except Denied as denied:
        refused = denied.message
    assert repr(pod) == before
    assert not refused or (refused.startswith("pod train-0: ") and refused.isprintable())
