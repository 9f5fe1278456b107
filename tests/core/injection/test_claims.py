"""Claims: what a pod that names our templates shows; ``steps/claims.yaml`` has what it gets."""

from tests import pods
from tests.core.test_review import judge
from tests.pods import minimal_pod
from tests.profiles import profiles
from tests.worlds import world
from webhook.core import names


def test_a_label_shows_the_controller_which_pods_name_our_templates() -> None:
    cluster = world(profile="rdma")
    claims = profiles(
        "{rdma: {claims: [{name: nic, requests: [{name: nic, deviceClassName: a.io}]}]}}"
    )
    member = judge(pods.load("pods/kubeflow-pytorchjob-1.yaml"), cluster, claims).pod
    assert member["metadata"]["labels"][names.CLAIMS] == names.CLAIMS_REFERENCED
    alone = judge(minimal_pod(labels={names.PROFILE: "rdma"}), cluster, claims).pod
    assert names.CLAIMS not in alone["metadata"]["labels"]
    without = judge(member, cluster, profiles("{rdma: {}}")).pod
    assert names.CLAIMS not in without["metadata"]["labels"]
