"""Count the jobs of real manifests that a preset serves: `make presets-fit CORPUS="FOLDER…"`.

Each preset is filled in for a set of nodes, as `presets show --instance-type` does. It is asked
about every accelerator pod of a job of several pods, in the folders of that cloud. A pod is
*injected*, or *complete*: it asks for the fabric itself, and keeps its number. Not counted are pods
that name other nodes than the set has or need larger ones, and what Kubernetes refuses by itself.
A number is *wrong* where a node has fewer that the pod may go to, or where it is not the share of
the node that the pod names. Exit status 1: a number is wrong, or less than 90 % are served. FULL=1
names the others.
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
CLOUDS = {"eks-efa": ("aws",), "gke": ("google", "ai-hypercomputer")}
TYPE_LABELS = (names.INSTANCE_TYPE, "beta.kubernetes.io/instance-type")
SERVED = ("injected", "complete")
ELSEWHERE = "names other nodes"
LARGER = "needs a larger node"
INVALID = "refused by Kubernetes itself"


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


def tolerates_arm(pod: Object) -> bool:
    """Tell whether the pod may go to nodes that GKE taints as arm64."""
    tolerations = pod["spec"].get("tolerations") or ()
    return any(each.get("key") == "kubernetes.io/arch" for each in tolerations)


def is_wrong(number: int, accelerators: int, types: set[str], nodes: list[str]) -> bool:
    """Tell whether a number of EFA devices is not that of the nodes that the pod may go to."""
    may_go = [AWS[name] for name in types or nodes if name in AWS]
    fitting = [node for node in may_go if node[1] >= accelerators]
    shares = [min(has, max(1, has * accelerators // of)) for has, of in fitting]
    return any(number > share or (types and number < share) for share in shares)


def judge(pod: Object, profiles: Profiles, world: Any, nodes: list[str]) -> str:
    """Say what the preset does for the pod, in a word or two."""
    is_aws = world.profile == "eks-efa"
    types = {each.removeprefix("ml.") for each in named(pod, TYPE_LABELS)}
    types |= {
        GKE_TYPES.get(each, each) for each in named(pod, ("cloud.google.com/gke-accelerator",))
    }
    verdict = decide(copy.deepcopy(pod), "research", profiles, world)
    before, after = (
        (devices(each) if is_aws else podspec.annotations(each).get(GKE))
        for each in (pod, verdict.pod)
    )
    if not is_aws and ARM not in nodes and tolerates_arm(pod):
        return ELSEWHERE if before == after else "WRONG: for other nodes"
    if before or (not is_aws and claims_cards(pod)):
        return "complete" if verdict.allowed and before == after else "WRONG: its own has changed"
    reason = next((str(one.reason) for one in verdict.decisions), "")
    accelerators = sum(count_accelerators(one) or 0 for one in podspec.containers(pod))
    if is_aws and after and is_wrong(int(after), accelerators, types, nodes):
        return f"WRONG: {after} for {accelerators} accelerators"
    if types and not types & set(nodes) and not (is_aws and after):
        return "WRONG: for other nodes" if after else ELSEWHERE
    if not is_aws and not after and accelerators > (4 if ARM in nodes else 8):
        return LARGER
    if reason == Reason.INVALID_POD:
        return INVALID
    return "injected" if verdict.allowed and after else f"not served: {reason}"


def fits(name: str, nodes: list[str], folders: list[str], *, is_full: bool) -> bool:
    """Print a paragraph for a preset and a set of nodes; tell whether it fits."""
    world = World()
    world.profile = name
    profiles = parse_profiles(read_preset(name).for_nodes(nodes).text)
    pods = pods_of(folders, CLOUDS["eks-efa" if name == "eks-efa" else "gke"])
    told = [(judge(pod, profiles, world, nodes), where) for where, pod in pods]
    sums = Counter(cause for cause, _ in told)
    served = sum(sums[each] for each in SERVED)
    counted = sum(sums.values()) - sum(sums[each] for each in (ELSEWHERE, LARGER, INVALID))
    share = f"{served} of {counted} pods, {served / max(counted, 1):.0%}"
    print(f"{name} on {', '.join(nodes)}: {share}")
    for cause, count in sums.most_common():
        print(f"{count:7,} {cause}")
    for cause, where in told if is_full else ():
        if cause not in SERVED:
            print(f"        {cause}: {where}")
    return served >= 0.9 * counted and not any(cause.startswith("WRONG") for cause in sums)


if __name__ == "__main__":
    words = sys.argv[1:]
    corpus = [word for word in words if word != "-v"]
    found = [
        fits(name, nodes, corpus, is_full="-v" in words)
        for name, sets in SETS.items()
        for nodes in sets
    ]
    sys.exit(not all(found))
