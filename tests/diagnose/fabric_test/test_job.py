"""The Job of a test: what admission makes of it, and that it leaves nothing behind."""

from __future__ import annotations

from webhook.core import podspec
from webhook.core.workloads import TrainingPod, recognise
from webhook.diagnose.fabric_test.job import JobSettings, make_job

INDEX = "batch.kubernetes.io/job-completion-index"


def test_its_pods_are_a_job_of_two_ranks_that_meet() -> None:
    job = make_job("fabric-test-1", ("a", "b"), 2, JobSettings("registry/x:1"))
    found = []
    for index in "01":
        labels = {"batch.kubernetes.io/job-name": "fabric-test-1", INDEX: index}
        metadata = {"generateName": f"fabric-test-1-{index}-", "labels": labels, "annotations": {INDEX: index}}
        spec = {**job["spec"]["template"]["spec"], "hostname": f"fabric-test-1-{index}"}
        found.append(recognise({"metadata": metadata, "spec": spec}))
    roles = []
    for each in found:
        assert isinstance(each, TrainingPod)
        assert each.rendezvous is not None
        assert each.rendezvous.is_certain
        roles.append((each.rendezvous.role, each.rendezvous.rank_zero))
    assert roles == [("master", "fabric-test-1-0"), ("worker", "fabric-test-1-0")]


def test_it_ends_and_goes_by_itself_and_starts_once() -> None:
    spec = make_job("t", (), 4, JobSettings("x", seconds=90))["spec"]
    assert spec["activeDeadlineSeconds"] == 150
    assert spec["ttlSecondsAfterFinished"] == 60
    assert (spec["backoffLimit"], spec["template"]["spec"]["restartPolicy"]) == (0, "Never")
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 4, 4)


def test_nodes_are_asked_of_the_scheduler() -> None:
    pod = make_job("t", ("a", "b"), 2, JobSettings("x"))["spec"]["template"]["spec"]
    assert "nodeName" not in pod
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    [term] = pod["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"]
    [chosen] = term["matchExpressions"]
    assert chosen == {"key": "kubernetes.io/hostname", "operator": "In", "values": ["a", "b"]}
    [apart] = pod["affinity"]["podAntiAffinity"][required]
    assert apart["topologyKey"] == "kubernetes.io/hostname"
    assert "nodeAffinity" not in make_job("t", (), 2, JobSettings("x"))["spec"]["template"]["spec"]["affinity"]


def test_restricted_pod_security_takes_it() -> None:
    pod = make_job("t", (), 2, JobSettings("x"))["spec"]["template"]["spec"]
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    [container] = podspec.containers({"spec": pod})
    context = container["securityContext"]
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert pod["automountServiceAccountToken"] is False


def test_queue_and_secrets() -> None:
    job = make_job("t", (), 2, JobSettings("x", ("pull", "other"), "team-a"))
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team-a"}
    assert job["spec"]["template"]["spec"]["imagePullSecrets"] == [{"name": "pull"}, {"name": "other"}]


def test_without_a_secret_the_pods_take_those_of_their_service_account() -> None:
    """Admission gives a pod its account's imagePullSecrets where it names none, be it an empty list of them."""
    pod = make_job("t", (), 2, JobSettings("x"))["spec"]["template"]["spec"]
    assert not {"imagePullSecrets", "serviceAccountName"} & pod.keys()
