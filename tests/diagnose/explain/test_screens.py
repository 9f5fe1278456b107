"""What a person sees first when a job does not train: the whole screen, for each of the usual causes.

The screens are files of tests/cases/explain; `python -m tests.diagnose.explain.test_screens` writes them anew, to be read before
they are kept.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable

import pytest

from tests import ROOT
from tests.diagnose.scenes import PROFILES, SPACE, GkeScene, Scene, ago, event, node, workload
from tests.profiles import profiles
from tests.worlds import network
from webhook import __version__
from webhook.cli.explain import print_explanation
from webhook.core import names
from webhook.core.model import Object
from webhook.core.review import decide
from webhook.diagnose.explain.judge import Explanation
from webhook.diagnose.finding import exit_status
from webhook.diagnose.listing import Unread

FOLDER = ROOT / "tests/cases" / "explain"
VOLCANOS = json.loads((ROOT / "tests/cases/volcano_refusals.json").read_text())
DEVICE = "rdma/rdma_shared_device_a"
DENIED = 'Error creating: admission webhook "pods.fabric-injector.io" denied the request: '
SANDBOX = (
    "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "
    '"5c1dbd0a9f1f3a3ba3e1c0c5d29b59b7c63c8b1d5bb1d5e7f0f5b3e3c1a2b4d6": plugin type="multus" name="multus-cni-network" failed (add): '
    '[research/{pod}/7d3f9ce1-1c1f-4a6e-9c3a-0f0e2f1b2c3d:rdma-net]: error adding container to network "rdma-net": '
    "no IP addresses available in range set: 192.168.0.1-192.168.0.254"
)


def refused(scene: Scene) -> str:
    """Give what admission says now of a pod of the job."""
    verdict = decide(scene.created(1), "research", scene.profiles, scene.snapshot.world)
    assert not verdict.allowed
    return verdict.message


def well() -> Scene:
    return Scene()


def wrong_network_name() -> Scene:
    scene = Scene()
    scene.pods.clear()
    scene.profiles = profiles(PROFILES.replace("rdma-net", "rdma-nte"))
    scene.networks["default", "rdma-nte"] = None
    scene.events.append(
        event("PyTorchJob", "bert", "FailedCreatePod", DENIED + refused(scene), count=14)
    )
    return scene


def network_deleted() -> Scene:
    scene = Scene(63)
    scene.networks["default", "rdma-net"] = None
    for pod in scene.pods.values():
        scene.bind(pod)
        scene.wait(pod, ago(minutes=17))
        pod["metadata"]["annotations"].pop(names.NETWORK_STATUS)
        pod["status"].pop("initContainerStatuses")
    return scene


def no_address_left() -> Scene:
    scene = Scene(63)
    for pod in scene.workers:
        scene.wait(pod, ago(minutes=17))
    scene.bind(scene.master)
    for key in (names.NETWORK_STATUS, names.MASTER_ADDR, names.MASTER_HOST, names.LOCAL_ADDR):
        scene.master["metadata"]["annotations"].pop(key)
    text = SANDBOX.replace("{pod}", "bert-master-0")
    scene.events.append(
        event("Pod", "bert-master-0", "FailedCreatePodSandBox", text, source="kubelet")
    )
    return scene


def pod_security() -> Scene:
    scene = Scene()
    scene.pods.clear()
    scene.labels[names.POD_SECURITY_ENFORCE] = "baseline"
    scene.events.append(event("PyTorchJob", "bert", "FailedCreatePod", DENIED + refused(scene)))
    return scene


def missing_device() -> Scene:
    scene = Scene(63)
    scene.nodes = [node(f"node-{number}", {}) for number in range(16)]
    for pod in scene.pods.values():
        scene.unschedule(
            pod, "0/16 nodes are available: 16 Insufficient rdma/hca. no new claims to deallocate"
        )
    return scene


def profile_changed() -> Scene:
    scene = Scene()
    scene.profiles = profiles(
        PROFILES.replace("16Gi", "32Gi").replace(
            "rdma-net, resource: rdma/hca}",
            "rdma-net, resource: rdma/hca}, {network: rails/rail-0}",
        )
    )
    scene.networks["rails", "rail-0"] = network("rails/rail-0", "nvidia.com/rail_0")
    return scene


def dead_controller() -> Scene:
    scene = Scene(63)
    assert scene.lease is not None
    scene.lease["spec"]["renewTime"] = ago(minutes=30)
    for pod in scene.pods.values():
        scene.wait(pod, ago(minutes=17))
    return scene


def master_recreated() -> Scene:
    scene = Scene()
    scene.master["metadata"]["creationTimestamp"] = ago(minutes=2)
    scene.bind(scene.master, ago(minutes=2))
    scene.attach(scene.master, "192.168.0.77")
    scene.start(scene.master, ago(minutes=1))
    for pod in scene.pods.values():
        scene.tell(pod, "192.168.0.77")
    return scene


def rank_zero_before_the_label() -> Scene:
    scene = Scene()
    pod = scene.created(0)
    scene.bind(pod)
    scene.start(pod, ago(minutes=18))
    scene.pods["bert-master-0"] = pod
    for pod in scene.workers:
        scene.wait(pod, ago(minutes=17))
    scene.changes = {"labelled": {SPACE: ago(minutes=19)}}
    return scene


def devices_taken() -> Scene:
    scene = Scene()
    scene.nodes = [node("node-1", {"rdma/hca": "2"})]
    for pod in scene.workers[1:]:
        scene.unschedule(pod, "0/1 nodes are available: 1 Insufficient rdma/hca.")
        scene.tell(pod, "192.168.0.1")
    scene.changes = {"neighbours": {"node-1": tuple(list(scene.pods.values())[:2])}}
    return scene


def non_root() -> Scene:
    def run_as_user(pod: Object) -> None:
        pod["spec"]["securityContext"] = {"runAsUser": 1000}

    return Scene(before=run_as_user)


def shared_memory_beyond_limit() -> Scene:
    def limit_memory(pod: Object) -> None:
        pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = "8Gi"

    return Scene(before=limit_memory)


def resource_quota() -> Scene:
    scene = Scene()
    del scene.pods["bert-worker-2"]
    text = (
        'Error creating: pods "bert-worker-2" is forbidden: exceeded quota: team, requested: requests.rdma/hca=1, '
        "used: requests.rdma/hca=3, limited: requests.rdma/hca=3"
    )
    scene.events.append(event("PyTorchJob", "bert", "FailedCreatePod", text, count=9))
    return scene


def kueue_quota() -> Scene:
    scene = Scene()
    for pod in scene.pods.values():
        scene.unschedule(pod, "Scheduling is blocked due to non-empty scheduling gates")
        pod["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    text = (
        "couldn't assign flavors to pod set worker: resource rdma/hca unavailable in ClusterQueue"
    )
    scene.events.append(
        event("Workload", "pytorchjob-bert-a1b2c", "Pending", text, source="kueue-admission")
    )
    return scene


def suspended_by_kueue() -> Scene:
    scene = Scene()
    scene.pods.clear()
    text = "couldn't assign flavors to pod set worker: insufficient unused quota for nvidia.com/gpu in flavor a100, 16 more needed"
    scene.workloads.append(workload(("QuotaReserved", "False", "Pending", text)))
    return scene


def volume_missing() -> Scene:
    scene = Scene()
    for name, pod in scene.pods.items():
        scene.bind(pod)
        del pod["metadata"]["annotations"][names.NETWORK_STATUS]
        text = (
            'MountVolume.SetUp failed for volume "settings" : configmap "bert-settings" not found'
        )
        scene.events.append(event("Pod", name, "FailedMount", text, source="kubelet"))
    return scene


def one_pod_left_out() -> Scene:
    scene = Scene()
    pod = scene.created(2)
    pod["metadata"]["labels"][names.PROFILE] = names.PROFILE_NONE
    scene.bind(pod)
    scene.start(pod, ago(minutes=18))
    scene.pods["bert-worker-1"] = pod
    return scene


def reader_of_pods_alone() -> Scene:
    scene = Scene()
    for pod in scene.pods.values():
        scene.unschedule(
            pod,
            "0/2 nodes are available: 2 Insufficient rdma/hca. no new claims to deallocate, preemption: 0/2 no",
        )
    parts = (
        "nodes",
        "Events",
        "profiles",
        f"namespace {SPACE}",
        "Lease fabric-injector/fabric-injector",
    )
    refusal = 'GET … answered 403: forbidden: User "jo" cannot get resource'
    unread = tuple(
        Unread(part, f"cannot be read, so that part is unknown: {refusal}") for part in parts
    )
    scene.changes = {
        "unread": unread,
        "nodes": None,
        "events": None,
        "profiles": None,
        "labels": None,
        "lease": None,
    }
    return scene


def gke_without_addresses() -> Scene:
    scene = GkeScene()
    for pod in scene.workers:
        scene.wait(pod, ago(minutes=17))
    scene.bind(scene.master)
    for key in (names.GKE_POD_IPS, names.MASTER_ADDR, names.MASTER_HOST, names.LOCAL_ADDR):
        scene.master["metadata"]["annotations"].pop(key)
    return scene


def volcanos(name: str) -> Scene:
    """Give a Job of Volcano none of whose pods is created, and what a running Volcano wrote of it."""
    scene = Scene()
    scene.pods.clear()
    recorded = VOLCANOS[name]
    scene.events = [event("Job", "bert", recorded["reason"], recorded["message"], count=9)]
    return scene


def webhook_down_by_volcano() -> Scene:
    return volcanos("webhook down")


def wrong_profile_by_volcano() -> Scene:
    return volcanos("wrong profile")


def quota_by_volcano() -> Scene:
    return volcanos("quota")


def pod_security_by_volcano() -> Scene:
    return volcanos("PodSecurity")


def quota_after_an_outage() -> Scene:
    scene = volcanos("quota")
    outage = VOLCANOS["webhook down"]
    scene.events.append(
        event("Job", "bert", outage["reason"], outage["message"], at=ago(minutes=30))
    )
    return scene


def limit_range() -> Scene:
    scene = Scene()
    scene.pods.clear()
    refusal = f"maximum {DEVICE} usage per Container is 8, but limit is 60"
    scene.events = [
        event(
            "Job",
            "bert",
            "FailedCreate",
            f'Error creating: pods "bert-0-x7k2p" is forbidden: {refusal}',
        )
    ]
    return scene


def rank_zero_missing() -> Scene:
    scene = Scene()
    del scene.pods["bert-master-0"]
    return scene


def sandbox_rebuilt() -> Scene:
    scene, at = Scene(), ago(minutes=5)
    for pod in scene.workers:
        pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["message"] = (
            "192.168.0.1\n"
        )
    scene.attach(scene.master, "192.168.0.99")
    for pod in scene.pods.values():
        scene.tell(pod, "192.168.0.99")
    scene.start(scene.master, at)
    condition = {"type": "PodReadyToStartContainers", "status": "True", "lastTransitionTime": at}
    scene.master["status"]["conditions"].append(condition)
    return scene


def wait_over() -> Scene:
    """The worker's wait has ended; rank 0 was never made."""
    scene = Scene(1)
    del scene.pods["bert-master-0"]
    [worker] = scene.pods.values()
    scene.wait(worker, ago(minutes=30))
    key = worker["metadata"]["labels"][names.JOB]
    words = (
        f"fabric-injector: master-addr of job {key} was not published after 1800 s. Look at the Events of its rank-0 pod "
        "bert-master-0, at network-status of that pod, and at the log of fabric-injector's controller"
    )
    ended = {"exitCode": 75, "reason": "Error", "message": words}
    worker["status"] |= {
        "phase": "Failed",
        "initContainerStatuses": [{"name": names.WAIT_CONTAINER, "state": {"terminated": ended}}],
    }
    return scene


SCENES: dict[str, Callable[[], Scene]] = {
    make.__name__.replace("_", "-"): make
    for make in (
        well,
        wrong_network_name,
        network_deleted,
        no_address_left,
        pod_security,
        missing_device,
        profile_changed,
        dead_controller,
        master_recreated,
        rank_zero_before_the_label,
        devices_taken,
        non_root,
        shared_memory_beyond_limit,
        resource_quota,
        kueue_quota,
        suspended_by_kueue,
        volume_missing,
        one_pod_left_out,
        reader_of_pods_alone,
        gke_without_addresses,
        webhook_down_by_volcano,
        wrong_profile_by_volcano,
        quota_by_volcano,
        pod_security_by_volcano,
        quota_after_an_outage,
        limit_range,
        rank_zero_missing,
        sandbox_rebuilt,
        wait_over,
    )
}


def screen(explanation: Explanation) -> str:
    """Give what the command prints, and its exit status."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_explanation(explanation)
    text = out.getvalue().replace(f"version {__version__}:", "version VERSION:")
    return f"{text}\nexit status {exit_status(explanation.findings)}\n"


@pytest.mark.parametrize("name", SCENES)
def test_shows_the_cause_first(name: str) -> None:
    assert screen(SCENES[name]().explained) == (FOLDER / f"{name}.txt").read_text()


def test_every_screen_that_is_kept_is_tested() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(SCENES)


@pytest.mark.parametrize("name", SCENES)
def test_fits_on_a_screen_with_the_cause_in_the_first_line(name: str) -> None:
    lines = (FOLDER / f"{name}.txt").read_text().splitlines()
    assert len(lines) <= 30
    assert lines[0].startswith({"well": "ok"}.get(name, ("fail", "warn")))


if __name__ == "__main__":
    for title, make in SCENES.items():
        (FOLDER / f"{title}.txt").write_text(screen(make().explained))
