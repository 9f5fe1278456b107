"""Claims go to jobs of several pods; ``steps/claims.yaml`` has what such a pod gets."""

from typing import Any

from tests.core.test_review import judge
from tests.core.workloads.rows import build
from tests.profiles import profiles
from tests.tables import table
from tests.worlds import world
from webhook.core import names

CLAIMS = "claims: [{name: nic, requests: [{name: nic, deviceClassName: a.io}]}]"
LABELS = {names.PROFILE: "rdma"}
SERVER = {"container": {"resources": {"limits": {"nvidia.com/gpu": "1"}}}, "labels": LABELS}
ALONE = {"of": "lws-0", "annotations": {"leaderworkerset.sigs.k8s.io/size": "1"}, "labels": LABELS}


@table(
    "row, told",
    {
        "a rank": ({"of": "kubeflow-pytorchjob-1"}, "injected added"),
        "a group's member": ({"of": "lws-1"}, "injected added"),
        "a server": (SERVER, "skipped not-training"),
        "a group of one pod": (ALONE, "skipped not-training"),
    },
)
def test_only_pods_of_several_get_claims_whatever_the_profile_is_for(row: Any, told: str) -> None:
    for scope in ("training", "accelerators", "all"):
        given = profiles(f"{{rdma: {{pods: {scope}, {CLAIMS}}}}}")
        verdict = judge(build(row), world(profile="rdma"), given)
        found = [f"{each.outcome} {each.reason}" for each in verdict.decisions]
        assert told in found, scope
        gets = "resourceClaims" in verdict.pod["spec"]
        assert gets is told.startswith("injected"), scope
        assert bool(verdict.operations) is gets, "half of a fabric is worse than none"


def test_only_pods_with_claims_say_so() -> None:
    given = profiles(f"{{rdma: {{{CLAIMS}, container: {{env: [{{name: A, value: b}}]}}}}}}")
    for is_host in (False, True):
        row = {"of": "kubeflow-pytorchjob-1", "spec": {"hostNetwork": is_host}}
        pod = judge(build(row), world(profile="rdma"), given).pod
        assert names.STATUS in pod["metadata"]["annotations"]
        assert (names.CLAIMS in pod["metadata"]["labels"]) is not is_host
