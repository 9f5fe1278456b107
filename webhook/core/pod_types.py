"""Name every field of a pod that is read, with its type and the most that is read of it.

A pod is checked by these types, and stays what it is. Other fields pass, whatever they hold.

A bound holds for one list, map or text; `bounds` counts what several containers hold together. All
are far above what real pods hold. Of a thousand public training manifests the largest has 6
containers, 42 variables, 9 volumes and 7,000 characters of text.
"""

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct, field

LONGEST_NAME = 4_096
"""Characters of a name or a path. Kubernetes takes 253 of most names; Linux 4,096 of a path."""
LONGEST_LABEL = 512
"""Characters of a label's key or value, or of an owner's field; Kubernetes takes 317 of a key."""
LABELS = 1_000
OWNERS = 100
VOLUMES = 500
QUANTITIES = 1_000
CONTAINERS = 200
"""Containers and init containers, also together."""
NODE_VALUES = 10_000
"""Terms of the required node affinity, expressions of a term, values of an expression."""

Name: TypeAlias = Annotated[str, Meta(max_length=LONGEST_NAME)]
Label: TypeAlias = Annotated[str, Meta(max_length=LONGEST_LABEL)]
Labels: TypeAlias = Annotated[dict[Label, Label], Meta(max_length=LABELS)]
Int64: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A whole number that Go and orjson can hold; a manifest of the dry run may have others."""
Quantities: TypeAlias = Annotated[dict[Name, Name | Int64 | float], Meta(max_length=QUANTITIES)]
Names: TypeAlias = Annotated[list[Name], Meta(max_length=QUANTITIES)]
Confinement: TypeAlias = Annotated[dict[str, str], Meta(max_length=QUANTITIES)]


class Read(Struct, rename="camel", gc=False, omit_defaults=True):
    """Hold what is read of an object; missing and null are the same."""


class _Reference(Read):
    field_path: str | None = None


class _Source(Read):
    field_ref: _Reference | None = None


class Variable(Read):
    """Read a variable of a container."""

    name: Name
    value: str | None = None
    value_from: _Source | None = None


class Mount(Read):
    """Read a mount of a container."""

    name: Name
    mount_path: Name
    sub_path_expr: Name | None = None


class _BlockDevice(Read):
    device_path: Name


class _Claim(Read):
    name: Name | None = None
    resource_claim_name: Name | None = None
    resource_claim_template_name: Name | None = None


Claims: TypeAlias = Annotated[list[_Claim], Meta(max_length=QUANTITIES)]


class Resources(Read):
    """Read the resources of a container, or of the whole pod."""

    limits: Quantities | None = None
    requests: Quantities | None = None
    claims: Claims | None = None


class _Capabilities(Read):
    add: Names | None = None
    drop: Names | None = None


class SecurityContext(Read):
    """Read the security context of a pod or container."""

    privileged: bool | None = None
    run_as_non_root: bool | None = None
    allow_privilege_escalation: bool | None = None
    run_as_user: Int64 | None = None
    run_as_group: Int64 | None = None
    se_linux_options: Confinement | None = None
    seccomp_profile: Confinement | None = None
    app_armor_profile: Confinement | None = None
    windows_options: Annotated[dict[str, Any], Meta(max_length=QUANTITIES)] | None = None
    sysctls: Annotated[list[dict[str, Any]], Meta(max_length=QUANTITIES)] | None = None
    capabilities: _Capabilities | None = None


class _Exec(Read):
    command: Annotated[list[str], Meta(max_length=QUANTITIES)] | None = None


class _Hook(Read):
    exec: _Exec | None = None


class _Lifecycle(Read):
    post_start: _Hook | None = None
    pre_stop: _Hook | None = None


class Container(Read):
    """Read a container."""

    name: Name | None = None
    image: Name | None = None
    image_pull_policy: Name | None = None
    restart_policy: Name | None = None
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[Variable] | None = None
    env_from: Any = None
    volume_mounts: list[Mount] | None = None
    volume_devices: list[_BlockDevice] | None = None
    ports: list[dict[str, Any]] | None = None
    resources: Resources | None = None
    security_context: SecurityContext | None = None
    liveness_probe: _Hook | None = None
    readiness_probe: _Hook | None = None
    startup_probe: _Hook | None = None
    lifecycle: _Lifecycle | None = None


class _Owner(Read):
    api_version: Label | None = None
    kind: Label | None = None
    name: Label | None = None
    uid: Label | None = None
    controller: bool | None = None


class Metadata(Read):
    """Read the metadata of a pod."""

    name: Name | None = None
    generate_name: Name | None = None
    namespace: Name | None = None
    labels: Labels | None = None
    annotations: dict[str, str] | None = None
    owner_references: Annotated[list[_Owner], Meta(max_length=OWNERS)] | None = None


class _HostPath(Read):
    path: str | None = None


class _File(Read):
    path: str | None = None
    field_ref: Any = None


class _DownwardAPI(Read):
    items: Annotated[list[_File], Meta(max_length=2_000)] | None = None


class Volume(Read):
    """Read a volume."""

    name: Name | None = None
    empty_dir: dict[str, Any] | None = None
    host_path: _HostPath | None = None
    config_map: Any = None
    downward_api: _DownwardAPI | None = field(name="downwardAPI", default=None)


class Toleration(Read):
    """Read a toleration."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class _Expression(Read):
    key: str | None = None
    operator: str | None = None
    values: Annotated[list[str], Meta(max_length=NODE_VALUES)] | None = None


class _NodeTerm(Read):
    match_expressions: Annotated[list[_Expression], Meta(max_length=NODE_VALUES)] | None = None


class _RequiredNodes(Read):
    node_selector_terms: Annotated[list[_NodeTerm], Meta(max_length=NODE_VALUES)] | None = None


class _NodeAffinity(Read):
    required: _RequiredNodes | None = field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )


class Affinity(Read):
    """Read what a pod asks of its node."""

    node_affinity: _NodeAffinity | None = None


class _SchedulingGroup(Read):
    pod_group_name: Name | None = None


class Spec(Read):
    """Read the spec of a pod."""

    hostname: Name | None = None
    subdomain: Name | None = None
    restart_policy: Name | None = None
    host_network: bool | None = None
    host_users: bool | None = None
    host_ipc: bool | None = field(name="hostIPC", default=None)
    host_pid: bool | None = field(name="hostPID", default=None)
    dns_config: dict[str, Any] | None = None
    os: dict[str, Any] | None = None
    node_selector: Annotated[dict[str, str], Meta(max_length=LABELS)] | None = None
    affinity: Affinity | None = None
    tolerations: Annotated[list[Toleration], Meta(max_length=1_000)] | None = None
    security_context: SecurityContext | None = None
    scheduling_group: _SchedulingGroup | None = None
    resource_claims: Claims | None = None
    resources: Resources | None = None
    volumes: Annotated[list[Volume], Meta(max_length=VOLUMES)] | None = None
    containers: Annotated[list[Container], Meta(max_length=CONTAINERS)] | None = None
    init_containers: Annotated[list[Container], Meta(max_length=CONTAINERS)] | None = None


class Pod(Read):
    """Read a pod."""

    metadata: Metadata | None = None
    spec: Spec | None = None
