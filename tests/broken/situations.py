"""How each broken situation is made.

To add one, write a function that breaks something at a Site, waits until the cluster shows it, and
returns what `explain` is asked for; and a row of situations.yaml.
"""

import json
from datetime import UTC, datetime, timedelta

from tests.cluster.node import jobs
from tests.cluster.node.cni import copy_network, define
from tests.cluster.node.images import DASH, NO_SHELL
from tests.cluster.node.pods import Pod, container_state, unschedulable
from tests.cluster.objects import made
from tests.cluster.operators.manifests import container, job, torchrun
from tests.tables import read
from webhook.core import names
from webhook.core.model import Object

from .site import Site

JOB = "job/ddp"
TRAINER = container(
    torchrun("${JOB_COMPLETION_INDEX:-$VC_TASK_INDEX}"), image=DASH, MASTER_ADDR="ddp-0.ddp"
)
PYTORCHJOB = "job/bert"
YOUNG = timedelta(seconds=31)
"""For so long pods may lack others, or what the controller tells, as they are just made."""
DEVICE = "rdma/rdma_shared_device_a"
OBJECTS = json.dumps(read(__file__, "objects.yaml"))


def webhook_is_down(site: Site) -> str:
    site.stop_webhook()
    return _submit(site)


def job_is_refused(site: Site) -> str:
    return _submit(site)


def quota_is_used_up(site: Site) -> str:
    """One pod of two gets its device: the gang can never be whole."""
    _quota(site, "1")
    return _submit(site)


def quota_refuses_after_the_webhook_came_back(site: Site) -> str:
    """The Events of the outage are still there."""
    _quota(site, "0")
    site.stop_webhook()
    _submit(site)
    site.start_webhook()
    site.wait_for_warning("Job", "exceeded quota")
    return JOB


def _submit(site: Site) -> str:
    """Create the job ddp, and return once its controller was refused a pod."""
    kind = "volcano_job" if site.system == "Volcano" else "indexed_job"
    site.submit(job(kind, 2, main=TRAINER))
    site.wait_for_warning("Job", "rror creating")
    return JOB


def _create(site: Site, name: str, **values: str) -> None:
    """Create these OBJECTS with the values in the places that are named so."""
    text = OBJECTS
    for word, value in {"NAMESPACE": site.name, **values}.items():
        text = text.replace(word, value)
    for manifest in json.loads(text)[name]:
        site.api.ensure(manifest, site.name)


def _quota(site: Site, devices: str) -> None:
    _create(site, "quota", DEVICES=devices)

    def is_counted() -> bool:
        return all("used" in each.get("status", {}) for each in site.items("resourcequotas"))

    site.wait(is_counted, "the quota to be counted")


def network_is_gone(site: Site) -> str:
    """It is deleted between admission and the node: the pods are held back meanwhile."""
    copy_network(site.api, f"{site.name}/own-net")
    members = jobs.holding()
    for manifest in members:
        manifest["spec"]["schedulingGates"] = [{"name": "fabric-injector.test/gate"}]
    pods = site.start(*members)
    path = f"/apis/k8s.cni.cncf.io/v1/namespaces/{site.name}/network-attachment-definitions/own-net"
    site.api.expect("DELETE", path)
    for pod in pods:
        site.api.expect("PATCH", pod.path, {"spec": {"schedulingGates": []}})
    site.wait_for_warning("Pod", "own-net")
    return PYTORCHJOB


def no_address_is_left(site: Site) -> str:
    """The network has one address, and the job two pods."""
    copy_network(site.api, f"{site.name}/own-net", addresses=1)
    pods = site.start(*jobs.holding())
    site.wait_for_warning("Pod", "no IP addresses available")
    site.wait(lambda: any(pod.fabric_address() for pod in pods), "the pod that has the address")
    return PYTORCHJOB


def devices_are_taken(site: Site) -> str:
    """Each pod takes 60 of the 100 devices of a node, and there are three pods on two nodes."""
    site.submit(job("indexed_job", 3, main=TRAINER))
    pods = site.wait_for_pods(3)
    site.wait(
        lambda: any(unschedulable(pod.get()) for pod in pods), "the scheduler to find no node"
    )
    have = "two pods that have theirs"
    site.wait(lambda: sum(bool(pod.fabric_address()) for pod in pods) == 2, have)
    return JOB


def image_has_no_shell(site: Site) -> str:
    for pod in site.start(*jobs.holding(image=NO_SHELL, command=["python", "train.py"])):
        pod.wait(_wait_cannot_start, "its wait step to be refused by the runtime")
    return PYTORCHJOB


def rank_zeros_sandbox_is_rebuilt(site: Site) -> str:
    """As by a reboot: rank 0 has another address, and the worker runs on with the former one."""
    master, worker = _trained(site)
    before = master.fabric_address()
    site.node.containerds[master.get()["spec"]["nodeName"]].kill_sandbox(master.uid)
    new = "its new sandbox's address"
    master.wait(lambda _: master.fabric_address() not in ("", before), new)
    worker.wait_for_annotation(names.MASTER_ADDR, master.fabric_address())
    master.wait(lambda pod: _restarted(pod, "pytorch"), "its training container in the new sandbox")
    return PYTORCHJOB


def rank_zero_has_moved(site: Site) -> str:
    """It is made anew, on the other node, and the worker's process runs on."""
    master, worker = _trained(site)
    manifest, _ = jobs.holding()
    before, there = master.fabric_address(), master.get()["spec"]["nodeName"]
    manifest["spec"]["affinity"] = _not_on(there)
    master.delete()
    [moved] = site.start(manifest)
    moved.wait_until_running("pytorch")
    assert moved.get()["spec"]["nodeName"] != there
    assert moved.fabric_address() not in ("", before)
    worker.wait_for_annotation(names.MASTER_ADDR, moved.fabric_address())
    return PYTORCHJOB


def rank_zero_is_missing(site: Site) -> str:
    """It is deleted while the job trains, and nobody makes another for half a minute."""
    master, worker = _trained(site)
    master.delete()
    _grow_old(worker)
    return PYTORCHJOB


def rank_zero_never_came(site: Site) -> str:
    """The worker alone is made, and waits."""
    [worker] = site.start(jobs.holding()[1])
    worker.wait_until_running(names.WAIT_CONTAINER)
    _grow_old(worker)
    return PYTORCHJOB


def rank_zero_came_before_the_label(site: Site) -> str:
    master, worker = jobs.holding()
    [first] = site.start(master)
    first.wait_until_running("pytorch")
    site.label("shared")

    def is_known() -> bool:
        asked = site.api.create(worker, site.name, dry_run=True).json
        return names.JOB in asked["metadata"]["labels"]

    site.wait(is_known, "the webhook to know the label")
    [late] = site.start(worker)
    late.wait_for_annotation(names.WAIT_ENDS)
    return PYTORCHJOB


def wait_is_over(site: Site) -> str:
    """The worker alone is made; its time is up, and it is not started again."""
    _, worker = jobs.holding()
    worker["spec"]["restartPolicy"] = "Never"
    [pod] = site.start(worker)
    pod.wait_for_end("Failed")
    return PYTORCHJOB


def controller_is_dead(site: Site) -> str:
    site.kill_controller()
    pods = site.start(*jobs.holding())
    for pod in pods:
        pod.wait_until_running(names.WAIT_CONTAINER)
    site.wait_for_stale_lease()
    _grow_old(pods[0])
    return PYTORCHJOB


def user_is_not_root(site: Site) -> str:
    _trained(site, securityContext={"runAsUser": 1000, "runAsNonRoot": True})
    return PYTORCHJOB


def limit_range_lowers_memory(site: Site) -> str:
    """Its default limit of memory is less than the /dev/shm that the profile gives."""
    _limit_range(site, {"default": {"memory": "128Mi"}, "defaultRequest": {"memory": "64Mi"}})
    _trained(site)
    return PYTORCHJOB


def limit_range_refuses(site: Site) -> str:
    """It allows a container fewer devices than the profile gives."""
    _limit_range(site, {"max": {DEVICE: "8"}})
    return _submit(site)


def job_is_too_big_for_its_queue(site: Site) -> str:
    """Volcano lets it make no pod at all."""
    _create(site, "queue")
    one = {**TRAINER, "resources": {"requests": {"cpu": "1"}, **TRAINER["resources"]}}
    made = job("volcano_job", 2, main=one)
    made["spec"]["queue"] = site.name

    def is_taken() -> bool:
        """Volcano refuses jobs of a queue that its webhook does not know to be open yet."""
        return bool(site.api.create(made, site.name).status == 201)

    site.wait(is_taken, "the queue to be open for jobs")

    def is_said() -> bool:
        events = site.items("events")
        return any(each["involvedObject"]["kind"] == "PodGroup" for each in events)

    site.wait(is_said, "an Event of the PodGroup")
    return JOB


def two_pods_have_one_address(site: Site) -> str:
    """The network gives every pod the same address, as a range that each node gives out alone."""
    path = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions/rdma-net"
    config = json.loads(site.api.expect("GET", path)["spec"]["config"])
    config |= {"name": f"{site.name}-own", "ipam": {"type": "static", "addresses": []}}
    config["ipam"]["addresses"] = [{"address": "192.168.250.7/24"}]
    site.api.ensure(define(site.name, "own-net", json.dumps(config)))
    for pod in site.start(*jobs.holding()):
        site.wait(pod.fabric_address, "its address")
    return PYTORCHJOB


def policy_cuts_the_pod_network(site: Site) -> str:
    """The job's profile leaves it there."""
    _create(site, "policy")
    for pod in site.start(*jobs.holding()):
        pod.wait(lambda pod: pod["spec"].get("nodeName"), "its node")
    return PYTORCHJOB


def network_is_no_json(site: Site) -> str:
    site.api.ensure(define(site.name, "own-net", '{"type": "macvlan", "ipam": '))
    site.start(*jobs.holding())
    site.wait(lambda: site.events("FailedCreatePodSandBox"), "a sandbox that cannot be made")
    return PYTORCHJOB


def pod_is_larger_than_any_node(site: Site) -> str:
    resources = {"requests": {"memory": "900Ti"}, **TRAINER["resources"]}
    site.submit(job("indexed_job", main={**TRAINER, "resources": resources}))
    pods = site.wait_for_pods(2)
    site.wait(lambda: all(unschedulable(pod.get()) for pod in pods), "the scheduler's answer")
    return JOB


def claim_cannot_be_evaluated(site: Site) -> str:
    """Its selector asks for an attribute that the only device does not have."""
    _create(site, "claim")
    members = jobs.holding()
    for manifest in members:
        claims = [{"name": "cards", "resourceClaimTemplateName": "cards"}]
        manifest["spec"]["resourceClaims"] = claims
        manifest["spec"]["containers"][0]["resources"]["claims"] = [{"name": "cards"}]
    site.start(*members)
    site.wait_for_warning("Pod", "CEL runtime error")
    return PYTORCHJOB


def member_has_another_profile(site: Site) -> str:
    master, worker = jobs.holding()
    worker["metadata"]["labels"][names.PROFILE] = "small"
    for pod in site.start(master, worker):
        pod.report()
    return PYTORCHJOB


def memory_bus_fails(site: Site) -> str:
    """Its processes end as those do that write more than their /dev/shm holds."""
    members = jobs.holding(command=["sh", "-c", "exit 135"])
    for manifest in members:
        manifest["spec"]["restartPolicy"] = "Never"
    for pod in site.start(*members):
        pod.wait_for_end("Failed")
    return PYTORCHJOB


def _trained(site: Site, **changes: object) -> list[Pod]:
    """Start a PyTorchJob, and return once both processes have met; rank 0 first."""
    pods = site.start(*jobs.holding(**changes))
    for pod in pods:
        pod.report()
    return pods


def _grow_old(pod: Pod) -> None:
    begun = datetime.fromisoformat(pod.created["metadata"]["creationTimestamp"])
    pod.wait(lambda _: datetime.now(UTC) - begun > YOUNG, f"{YOUNG} to be its age")


def _wait_cannot_start(pod: Object) -> bool:
    state = container_state(pod, names.WAIT_CONTAINER)
    reason = state.get("waiting", {}).get("reason")
    return "terminated" in state or reason in ("CrashLoopBackOff", "RunContainerError")


def _restarted(pod: Object, container: str) -> bool:
    statuses = pod["status"].get("containerStatuses", [])
    return any(
        one["name"] == container and one["restartCount"] and "running" in one["state"]
        for one in statuses
    )


def _not_on(node: str) -> Object:
    elsewhere = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [elsewhere]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def _limit_range(site: Site, limits: Object) -> None:
    spec = {"limits": [{"type": "Container", **limits}]}
    site.submit(made("v1 LimitRange", "limits", spec=spec))
