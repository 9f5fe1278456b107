"""What a profile would make of the jobs of a cluster, and what stands in the way."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.survey.clusters import KINDS, NETWORK, NODE, PROFILES, job, reading, surveyed
from webhook.core import names
from webhook.core.cluster.nodes import NodeOffer
from webhook.core.model import Namespace
from webhook.diagnose.listing import Listing
from webhook.diagnose.survey.fabric import Transport
from webhook.diagnose.survey.survey import ClusterSurvey, Prospect
from webhook.diagnose.survey.world import ListedWorld

POD = Transport.POD_NETWORK
RESTRICTED = Listing((Namespace("research", {names.POD_SECURITY_ENFORCE: "baseline"}),))


def told(found: ClusterSurvey) -> list[tuple[str, str]]:
    return [(barrier.gravity, barrier.reason) for barrier, _ in found.barriers()]


@pytest.mark.parametrize("kind", KINDS)
def test_completes_the_jobs_of_each_system(kind: str) -> None:
    found = surveyed(job(kind, "first", pods=4), job(kind, "second"))
    [group] = found.groups
    assert (group.kind, group.prospect, len(group.jobs), group.pods) == (kind, Prospect.COMPLETED, 2, 6)
    assert {"networks", "devices", "ipc-lock", "rendezvous", "environment"} <= set(group.steps)
    assert found.is_free
    assert "container" in next(
        change.message for _, trial in group.tried if trial for change in trial.changes if change.step == "devices"
    )


def test_counts_by_namespace_and_kind() -> None:
    found = surveyed(job("PyTorchJob", "a", "one"), job("PyTorchJob", "b", "two"), job("JobSet", "c", "two", pods=3))
    assert [(group.namespace, group.kind, group.pods) for group in found.groups] == [
        ("one", "PyTorchJob", 2),
        ("two", "JobSet", 3),
        ("two", "PyTorchJob", 2),
    ]
    assert found.groups[1].accelerators == {"nvidia.com/gpu": 24}


@pytest.mark.parametrize(
    ("profiles", "more", "barrier", "steps"),
    [
        (PROFILES, {"networks": Listing()}, ("refused", "network-absent"), True),
        (PROFILES, {"namespaces": RESTRICTED}, ("refused", "pod-security"), True),
        (PROFILES + "    allowedNamespaces: [ml]\n", {}, ("refused", "namespace-not-allowed"), True),
        (PROFILES, {"nodes": Listing((NodeOffer("node-1"),))}, ("unplaced", "resource-nowhere"), True),
        (
            PROFILES.replace("rdma/hca}", "rdma/hca, count: 65}"),
            {},
            ("unplaced", "resource-too-small"),
            True,
        ),
        (PROFILES + "    nodeSelector: {pool: fast}\n", {}, ("unplaced", "resource-unlabelled"), True),
        (PROFILES + "    volumes: [{name: sys, hostPath: {path: /sys}}]\n", {}, ("refused", "not-allowed"), True),
        (PROFILES + "    sidecars: [{name: side, image: a.io/b}]\n", {}, ("refused", "not-allowed"), True),
        (
            PROFILES + "    quantities: [{resource: a/efa, byNodeType: {x: 1}}]\n",
            {},
            ("incomplete", "unknown-quantity"),
            True,
        ),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)
def test_says_what_stands_in_the_way_and_what_would_change_once_it_is_gone(
    profiles: str, more: dict[str, Any], barrier: tuple[str, str], steps: bool
) -> None:
    found = surveyed(job("JobSet", "ddp"), profiles=profiles, **more)
    assert told(found) == [barrier]
    [group] = found.groups
    assert str(group.prospect) == barrier[0]
    assert ("devices" in group.steps) is steps
    assert not found.is_free
    assert not group.barriers[0].message.startswith("pod ")


@pytest.mark.parametrize(
    "given",
    [
        "    volumes: [{name: sys, hostPath: {path: /sys/}}]\n    mounts: [{name: sys, mountPath: /hostsysfs}]\n",
        "    sidecars: [{name: daemon, image: 'example.com/daemon:1', resources: {cpu: 1, memory: 1Gi}}]\n",
    ],
    ids=["path", "image"],
)
def test_tells_what_would_change_once_the_configuration_allows_it(given: str) -> None:
    found = surveyed(job("JobSet", "ddp"), profiles=PROFILES + given)
    assert told(found) == [("refused", "not-allowed")]
    [group] = found.groups
    assert group.prospect is Prospect.REFUSED
    assert {"devices", "volumes" if "volumes" in given else "sidecars"} <= set(group.steps)


def test_compares_huge_pages_with_what_nodes_have_set_aside() -> None:
    profiles = PROFILES + "    resources: {hugepages-2Mi: 5120Mi}\n"
    pods = list(job("JobSet", "ddp"))
    for pod in pods:  # the API server refuses huge pages without memory or cpu
        pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = "8Gi"

    def offering(amount: str) -> ClusterSurvey:
        node = NodeOffer("node-1", {}, {**NODE.allocatable, "hugepages-2Mi": amount})
        return surveyed(pods, profiles=profiles, nodes=Listing((node,)))

    assert offering("5Gi").count(POD, Prospect.COMPLETED) == 1
    assert told(offering("0")) == [("unplaced", "resource-nowhere")]
    less = offering("1Gi")
    assert less.count(POD, Prospect.UNPLACED) == 1
    [(barrier, _)] = less.barriers()
    assert barrier.message == "a pod takes 5120Mi of hugepages-2Mi, and no node offers more than 1024Mi"


def test_tells_all_that_is_in_the_way_at_once() -> None:
    found = surveyed(
        job("JobSet", "ddp"),
        profiles=PROFILES + "    allowedNamespaces: [ml]\n",
        networks=Listing(),
        nodes=Listing((NodeOffer("n"),)),
        namespaces=RESTRICTED,
    )
    assert set(told(found)) == {
        ("refused", "namespace-not-allowed"),
        ("refused", "network-absent"),
        ("refused", "pod-security"),
        ("unplaced", "resource-nowhere"),
    }


def test_what_the_user_wrote_wrong_refuses_for_good() -> None:
    pods = list(job("JobSet", "ddp"))
    for pod in pods:
        pod["metadata"].setdefault("annotations", {})[names.CONTAINER] = "absent"
    [group] = surveyed(pods).groups
    assert (group.prospect, group.steps) == (Prospect.REFUSED, ())
    assert [barrier.reason for barrier in group.barriers] == ["invalid-pod"]


def test_a_wait_step_needs_a_shell_that_can_be_seen() -> None:
    def without_shell(**spec: Any) -> list[dict[str, Any]]:
        pods = list(job("JobSet", "ddp", **spec))
        for pod in pods:
            pod["spec"]["containers"][0] |= {"command": ["torchrun", "--nnodes=2", "train.py"], "args": []}
        return pods

    assert told(surveyed(without_shell())) == [("doubt", "shell-unseen")]
    installed = PROFILES + "    rendezvous: {waitImage: installed}\n"
    assert told(surveyed(without_shell(), profiles=installed)) == []
    assert surveyed(without_shell()).is_free, "a doubt is no refusal"


def test_jobs_that_have_the_fabric_are_told_apart() -> None:
    def changed(name: str, **metadata: Any) -> list[dict[str, Any]]:
        pods = list(job("JobSet", name))
        for pod in pods:
            for key, value in metadata.items():
                pod["metadata"].setdefault(key, {}).update(value)
        return pods

    found = surveyed(
        job("JobSet", "plain"),
        job("JobSet", "host", hostNetwork=True),
        changed("own", annotations={names.NETWORKS: "default/rdma-net"}),
        changed("done", annotations={names.STATUS: "{}"}),
        changed("out", labels={names.PROFILE: names.PROFILE_NONE}),
    )
    counts = {transport: found.count(transport) for transport in Transport}
    assert counts == {**dict.fromkeys(Transport, 1), Transport.CLAIMS: 0}
    assert found.count(POD, Prospect.COMPLETED) == 1
    assert {group.prospect for group in found.groups if group.transport is not POD} == {Prospect.UNKNOWN}


def test_what_is_not_known_to_train_is_injected_where_it_is_asked_for() -> None:
    def sweep(**labels: str) -> list[dict[str, Any]]:
        pods = list(job("JobSet", "sweep"))
        for pod in pods:
            pod["spec"]["containers"][0] |= {"command": ["sweep"], "args": [], "env": []}
            pod["metadata"]["labels"] |= labels
        return pods

    left = surveyed(sweep())
    assert (left.jobs, [job.why.partition(",")[0] for job in left.others]) == (
        0,
        ["this pod of JobSet sweep asks for an accelerator"],
    )
    marked = sweep()
    for pod in marked:
        pod["metadata"]["labels"] = {"app": "sweep"}
        pod["metadata"]["ownerReferences"][0] |= {"kind": "Sweep", "apiVersion": "example.com/v1"}
        pod["spec"]["containers"][0]["env"] = [{"name": "NNODES", "value": "4"}]
    assert [job.kind for job in surveyed(marked).others] == ["Sweep"], "it is told, and stays as it is"
    for found in (
        surveyed(sweep(), profiles=PROFILES + "    pods: all\n"),
        surveyed(sweep(**{names.PROFILE: "rdma"})),
    ):
        assert (found.count(POD, Prospect.COMPLETED), found.others) == (1, ())


def test_without_a_profile_the_jobs_are_listed_and_nothing_is_decided() -> None:
    for found in (surveyed(job("JobSet", "ddp"), profiles=None), surveyed(job("JobSet", "ddp"), profile="")):
        assert [group.prospect for group in found.groups] == [Prospect.UNKNOWN]
        assert found.next_steps() == ()
        assert found.is_free


def test_without_one_that_was_asked_for_a_namespaces_label_counts() -> None:
    spaces = Listing((Namespace("research", {names.PROFILE: "rdma", names.MODE: "observe"}), Namespace("other")))
    found = surveyed(job("JobSet", "a"), job("JobSet", "b", "other"), profile="", namespaces=spaces)
    assert [(each.namespace, each.prospect, each.profile) for each in found.groups] == [
        ("other", Prospect.UNKNOWN, ""),
        ("research", Prospect.COMPLETED, "rdma"),
    ]
    wrong = Listing((Namespace("research", {names.PROFILE: "gone"}),))
    assert told(surveyed(job("JobSet", "a"), profile="", namespaces=wrong)) == [("refused", "unknown-profile")]


def test_what_may_not_be_read_refuses_nothing() -> None:
    found = surveyed(
        job("JobSet", "ddp"),
        networks=Listing(problem="forbidden"),
        nodes=Listing(problem="forbidden"),
        namespaces=Listing(problem="forbidden"),
    )
    assert [group.prospect for group in found.groups] == [Prospect.COMPLETED]


@pytest.mark.parametrize("namespace", ["kube-system", "fabric-injector"])
def test_a_namespace_that_is_never_reached_stays_as_it_is(namespace: str) -> None:
    [group] = surveyed(job("JobSet", "ddp", namespace)).groups
    assert (group.prospect, group.left_alone) == (
        Prospect.LEFT_ALONE,
        f"pods of namespace {namespace} are never sent to the webhook",
    )


def test_next_is_a_look_at_one_workload_and_a_label() -> None:
    found = surveyed(job("JobSet", "ddp"), profiles_option=" --profiles 'my profiles.yaml'")
    assert found.next_steps() == (
        "kubectl get jobsets.jobset.x-k8s.io ddp -n research -o yaml | fabric-injector dry-run -f - -n research --profile rdma "
        "--profiles 'my profiles.yaml'",
        "kubectl label namespace research fabric-injector.io/profile=rdma",
    )
    assert surveyed(job("JobSet", "ddp"), networks=Listing()).next_steps() == ()


def test_next_is_a_namespace_that_has_no_label_yet() -> None:
    spaces = Listing((Namespace("done", {names.PROFILE: "rdma"}), Namespace("research")))
    earlier = [pod for name in "abc" for pod in job("JobSet", name, "done")]
    assert surveyed(earlier, job("JobSet", "ddp"), namespaces=spaces).next_steps()[1:] == (
        "kubectl label namespace research fabric-injector.io/profile=rdma",
    )
    [look] = surveyed(earlier, namespaces=spaces).next_steps()
    assert look.startswith("kubectl get jobsets.jobset.x-k8s.io a -n done ")


def test_names_cannot_break_out_of_the_commands() -> None:
    pods = list(job("PyTorchJob", "bert"))
    for pod in pods:
        pod["metadata"]["ownerReferences"][0] |= {"name": "$(reboot)", "kind": "A;b"}
        pod["metadata"]["labels"]["training.kubeflow.org/operator-name"] = "pytorchjob-controller"
    found = surveyed(pods, job("JobSet", "ddp", "x"), networks=Listing((NETWORK,)), nodes=Listing((NODE,)))
    for step in found.next_steps():
        assert "'$(reboot)'" in step or "$(reboot)" not in step


def test_the_document_is_an_interface() -> None:
    document = surveyed(job("PyTorchJob", "bert", pods=3), job("JobSet", "host", hostNetwork=True)).as_json()
    assert list(document) == ["namespace", "profile", "source", "summary", "groups", "others", "next", "unread"]
    assert document["summary"] == {
        "jobs": 2,
        "namespaces": 1,
        "pod_network": 1,
        "injected": 0,
        "own_fabric": 0,
        "claims": 0,
        "host_network": 1,
        "opted_out": 0,
        "completed": 1,
        "refused": 0,
        "unplaced": 0,
        "incomplete": 0,
        "left_alone": 0,
        "unknown": 0,
        "others": 0,
        "single": 0,
        "left_out": 0,
    }
    host, bert = document["groups"]
    assert (host["transport"], host["prospect"], host["roles"][0].keys()) == (
        "host-network",
        "unknown",
        {"role", "pods", "pod"},
    )
    assert {key: value for key, value in bert.items() if key not in ("roles", "jobs", "steps")} == {
        "namespace": "research",
        "kind": "PyTorchJob",
        "transport": "pod-network",
        "prospect": "completed",
        "profile": "rdma",
        "pods": 3,
        "accelerators": {"nvidia.com/gpu": 24},
    }
    assert bert["jobs"] == [
        {
            "namespace": "research",
            "kind": "PyTorchJob",
            "name": "bert",
            "system": "pytorchjob",
            "pods": 3,
            "size": 3,
            "accelerators": {"nvidia.com/gpu": 24},
            "transport": "pod-network",
            "unjudged": 0,
        }
    ]
    assert [(role["role"], role["pods"], role["pod"]) for role in bert["roles"]] == [
        ("master", 1, "bert-master-0"),
        ("worker", 2, "bert-worker-0"),
    ]
    assert bert["roles"][0]["changes"][0].keys() == {"step", "reason", "message"}
    assert bert["roles"][0]["barriers"][0].keys() == {"gravity", "reason", "message"}


def test_a_group_of_pods_is_no_object_to_look_at() -> None:
    pods = list(job("Job", "ddp"))
    for pod in pods:
        pod["metadata"] |= {"ownerReferences": [], "labels": {"kueue.x-k8s.io/pod-group-name": "ddp"}}
    found = surveyed(pods)
    assert [group.kind for group in found.groups] == ["Kueue pod group"]
    assert found.next_steps() == ("kubectl label namespace research fabric-injector.io/profile=rdma",)


def test_only_what_is_left_alone_says_why() -> None:
    [completed] = surveyed(job("JobSet", "ddp")).groups
    assert (completed.prospect, completed.left_alone) == (Prospect.COMPLETED, "")
    [refused] = surveyed(job("JobSet", "ddp"), networks=Listing()).groups
    assert [barrier.reason for barrier in refused.barriers] == ["network-absent"]


def test_a_namespace_is_looked_up_as_it_was_listed_however_it_is_asked_for() -> None:
    listed = Namespace("research", {"team": "a", names.MODE: "observe"})
    world = ListedWorld(reading((), namespaces=Listing((listed,))), "rdma")
    for name, labels in (("research", {"team": "a"}), ("new", {})):
        found = world.namespace(name)
        assert (found.name, found.labels) == (name, {**labels, names.PROFILE: "rdma"})
        assert world.fresh_namespace(name) == found
