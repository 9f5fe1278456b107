"""Count the jobs of real manifests that a preset serves: `make presets-fit CORPUS="FOLDER…"`.

Each preset is filled in for a set of nodes, as `presets show --instance-type` does. It is asked
about every accelerator pod of a job of several pods, in the folders of that cloud. A pod is
*injected*, or *complete*: it asks for the fabric itself, and keeps its number; or it brings GKE's
plugin or daemon, and has all cards of the node, since it is privileged on the node's own network.
Not counted are pods that cannot run on such nodes or their fabric, and what Kubernetes refuses by
itself; the preset must change none of these. A number is *wrong* where a node has fewer that the
pod may go to, or where it is not the share of the node that the pod names. Exit status 1: a number
is wrong, or less than 90 % of a cloud's pods are served. FULL=1 names the others.
"""

import copy
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.compare.answers import World
from webhook.core import names, podspec
from webhook.core.accelerators import count_accelerators, may_have_accelerator
from webhook.core.errors import InputError
from webhook.core.model import Object, Reason
from webhook.core.profiles import Profiles, parse_profiles
from webhook.core.quantity import stored_quantity
from webhook.core.review import decide
from webhook.core.workloads import NotTraining, recognise
from webhook.dry_run.templates import find_templates, parse_documents
from webhook.presets import read_preset

EFA = "vpc.amazonaws.com/efa"
GKE = "networking.gke.io/interfaces"
AWS = {  # devices and accelerators of a node
    "p4d.24xlarge": (4, 8),
    "p5.48xlarge": (32, 8),
    "g5.8xlarge": (1, 1),
    "g5.12xlarge": (1, 4),
    "g5.48xlarge": (1, 8),
}
ARM = "a4x-highgpu-4g"  # GKE taints its nodes as arm64; 4 accelerators are all of one
GKE_TYPES = {
    "nvidia-h100-80gb": "a3-highgpu-8g",
    "nvidia-h200-141gb": "a3-ultragpu-8g",
    "nvidia-b200": "a4-highgpu-8g",
    "nvidia-h100-mega-80gb": "a3-megagpu-8g",
    "nvidia-gb200": ARM,
}
G5 = [name for name in AWS if name.startswith("g5.")]
SETS = {
    "eks-efa": [["p4d.24xlarge"], ["p5.48xlarge"], G5, [*AWS]],
    "gke-rdma": [["a3-ultragpu-8g"], ["a4-highgpu-8g"]],
    "gke-rdma-a4x": [[ARM]],
    "gke-tcpx": [["a3-highgpu-8g"]],
    "gke-tcpxo": [["a3-megagpu-8g"]],
}
CLOUDS = {"eks": ("aws",), "gke": ("google", "ai-hypercomputer")}
FABRICS = {"tcpx-daemon": "tcpx", "tcpxo-daemon": "tcpxo", "/usr/local/gib": "rdma"}
TYPE_LABELS = (names.INSTANCE_TYPE, "beta.kubernetes.io/instance-type")
ARCH = "kubernetes.io/arch"
ON_NODE = "complete on the node's network"
SERVED = ("injected", "complete", ON_NODE)
NOT_COUNTED = ELSEWHERE, OTHER, LARGER, FABRIC, INVALID = (
    "is for other nodes",
    "asks for other accelerators",
    "needs a larger node",
    "brings another fabric",
    "refused by Kubernetes itself",
)


def pods_of(folders: list[str], cloud: tuple[str, ...]) -> Iterator[tuple[str, Object]]:
    """Yield the accelerator pods of jobs of several pods, each with where it stands."""
    for file in sorted(path for folder in folders for path in Path(folder).rglob("*.*")):
        if not any(part.lower().startswith(cloud) for part in file.parts[-3:]):
            continue
        try:
            found = find_templates(parse_documents(file.read_text(errors="replace")), "research")
        except InputError:
            continue
        for template in found.pods:
            asks = any(count_accelerators(one) for one in podspec.containers(template.pod))
            job = recognise(template.pod) if asks or may_have_accelerator(template.pod) else None
            if job is not None and not isinstance(job, NotTraining):
                yield f"{file.name} {template.source}", template.pod


def named(pod: Object, labels: tuple[str, ...]) -> set[str]:
    """Return the values of one of these labels that the pod's node must have one of."""
    spec = pod["spec"]
    found = {value for key, value in (spec.get("nodeSelector") or {}).items() if key in labels}
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for each in term.get("matchExpressions") or ():
            found |= set(each["values"]) if each["key"] in labels and "values" in each else set()
    return found


def accelerators_of(pod: Object) -> int:
    """Return how many accelerators the containers of the pod ask for together."""
    return sum(count_accelerators(one) or 0 for one in podspec.containers(pod))


def is_privileged(pod: Object) -> bool:
    """Tell whether a container that asks for accelerators may use every device of its node."""
    return any(
        count_accelerators(one) and (one.get("securityContext") or {}).get("privileged")
        for one in podspec.containers(pod)
    )


def devices(pod: Object) -> int:
    """Return how many EFA devices the containers of the pod ask for together."""
    asked = [
        {**podspec.requests(one), **podspec.limits(one)}.get(EFA, 0)
        for one in podspec.containers(pod)
    ]
    return int(sum(stored_quantity(each) for each in asked))


def claims_cards(pod: Object) -> bool:
    """Tell whether the pod claims network cards itself."""
    claims = pod["spec"].get("resourceClaims") or ()
    return not all(map(podspec.is_compute_domain_channel, claims))


def is_for_arm(pod: Object) -> bool:
    """Tell whether the pod may go to nodes that GKE taints as arm64."""
    tolerations = pod["spec"].get("tolerations") or ()
    return "arm64" in named(pod, (ARCH,)) or any(each.get("key") == ARCH for each in tolerations)


def types_of(pod: Object) -> set[str]:
    """Return the types of nodes that the pod is for; none where it does not say."""
    types = {each.removeprefix("ml.") for each in named(pod, TYPE_LABELS)}
    labels = named(pod, ("cloud.google.com/gke-accelerator",))
    return types | {GKE_TYPES.get(each, each) for each in labels}


def fabrics_of(pod: Object) -> set[str]:
    """Return the fabrics of GKE that the pod brings the daemon or the plugin of."""
    mounts = [each for one in podspec.containers(pod) for each in podspec.mounts(one)]
    found = {one["name"] for one in podspec.every_container(pod)}
    found |= {each["mountPath"] for each in mounts}
    return {FABRICS[each] for each in found if each in FABRICS}


def why_not_counted(pod: Object, preset: str, types: set[str], nodes: list[str]) -> str | None:
    """Return why the pod cannot run on these nodes, or on their fabric."""
    asked = [{*podspec.limits(one), *podspec.requests(one)} for one in podspec.containers(pod)]
    if not any("nvidia.com/gpu" in each for each in asked):
        return OTHER
    if preset == "eks-efa":
        return ELSEWHERE if types and not types & set(nodes) else None
    if (types and not types & set(nodes)) or is_for_arm(pod) != (ARM in nodes):
        return ELSEWHERE
    brought = fabrics_of(pod)
    if brought and preset.split("-")[1] not in brought:
        return FABRIC
    return LARGER if accelerators_of(pod) > (4 if ARM in nodes else 8) else None


def is_wrong(number: int, accelerators: int, types: set[str], nodes: list[str]) -> bool:
    """Tell whether a number of EFA devices is not that of the nodes that the pod may go to."""
    may_go = [AWS[name] for name in types or nodes if name in AWS]
    fitting = [node for node in may_go if node[1] >= accelerators]
    shares = [min(has, max(1, has * accelerators // of)) for has, of in fitting]
    return any(number > share or (types and number < share) for share in shares)


def judge(pod: Object, profiles: Profiles, world: Any, nodes: list[str]) -> str:
    """Say what the preset does for the pod, in a word or two."""
    is_aws = world.profile == "eks-efa"
    types = types_of(pod)
    verdict = decide(copy.deepcopy(pod), "research", profiles, world)
    before, after = (
        (devices(each) if is_aws else podspec.annotations(each).get(GKE))
        for each in (pod, verdict.pod)
    )
    asks = bool(before) or (not is_aws and claims_cards(pod))
    if asks and (not verdict.allowed or before != after):
        return "WRONG: its own has changed"
    accelerators = accelerators_of(pod)
    if is_aws and before != after and is_wrong(devices(verdict.pod), accelerators, types, nodes):
        return f"WRONG: {after} for {accelerators} accelerators"
    if cause := why_not_counted(pod, world.profile, types, nodes):
        by_type = is_aws and cause == ELSEWHERE  # byNodeType knows more types than the set has
        return cause if before == after or by_type else f"WRONG: {cause}"
    if asks:
        return "complete"
    if fabrics_of(pod) and podspec.is_host_network(pod) and is_privileged(pod):
        return ON_NODE
    reason = next((str(one.reason) for one in verdict.decisions), "")
    if reason == Reason.INVALID_POD:
        return INVALID
    return "injected" if verdict.allowed and after else f"not served: {reason}"


def count(name: str, nodes: list[str], folders: list[str], *, is_full: bool) -> Counter[str]:
    """Print a paragraph for a preset and a set of nodes; return how many pods there are of each."""
    world = World()
    world.profile = name
    profiles = parse_profiles(read_preset(name).for_nodes(nodes).text)
    told = [
        (judge(pod, profiles, world, nodes), where)
        for where, pod in pods_of(folders, CLOUDS[name.split("-")[0]])
    ]
    sums = Counter(cause for cause, _ in told)
    print_share(f"{name} on {', '.join(nodes)}", sums)
    for cause, number in sums.most_common():
        print(f"{number:7,} {cause}")
    for cause, where in told if is_full else ():
        if cause not in SERVED:
            print(f"        {cause}: {where}")
    return sums


def print_share(of: str, sums: Counter[str]) -> bool:
    """Print which share of the pods is served; tell whether that is enough, and no number wrong."""
    served = sum(sums[each] for each in SERVED)
    counted = sum(sums.values()) - sum(sums[each] for each in NOT_COUNTED)
    print(f"{of}: {served} of {counted} pods, {served / max(counted, 1):.0%}")
    return served >= 0.9 * counted and not any(cause.startswith("WRONG") for cause in sums)


if __name__ == "__main__":
    words = sys.argv[1:]
    corpus = [word for word in words if word != "-v"]
    totals = {cloud: Counter[str]() for cloud in CLOUDS}
    for name, sets in SETS.items():
        for nodes in sets:
            totals[name.split("-")[0]] += count(name, nodes, corpus, is_full="-v" in words)
    fitting = [print_share(f"{cloud} in all", sums) for cloud, sums in totals.items()]
    sys.exit(not all(fitting))
