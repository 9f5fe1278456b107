"""The broken situations: how each is made, what `explain` must say of it first, and what to do.

To add one, write a function that breaks something at a Site, waits until the cluster shows it, and
returns what `explain` is asked for; and a line of SITUATIONS.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from tests.cluster.node import jobs
from tests.cluster.node.cni import copy_network, define
from tests.cluster.node.images import DASH, NO_SHELL
from tests.cluster.node.pods import Pod, container_state, unschedulable
from tests.cluster.operators.manifests import container, indexed_job, torchrun, volcano_job
from tests.profiles import as_text
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
PROFILES = as_text(f"""
shared:
  networks: [{{network: default/rdma-net, resource: {DEVICE}}}]
  sharedMemory: {{sizeLimit: 192Mi}}
own:
  networks: [{{network: own-net, resource: {DEVICE}}}]
many:
  networks: [{{network: default/rdma-net, resource: {DEVICE}, count: 60}}]
unprivileged:
  networks: [{{network: default/rdma-net, resource: {DEVICE}}}]
  podSecurity: skip
small:
  networks: [{{network: default/rdma-net, resource: {DEVICE}}}]
  sharedMemory: {{sizeLimit: 64Mi}}
apart:
  sharedMemory: {{sizeLimit: 192Mi}}
impatient:
  networks: [{{network: default/rdma-net, resource: {DEVICE}}}]
  rendezvous: {{timeout: 5s}}
""")
"""The profiles of all situations; ``own`` attaches a network of the situation's own namespace."""


@dataclass(frozen=True, slots=True)
class Situation:
    """One situation. *make* breaks it and returns the target of `explain`.

    The first finding has this *code*, its subject and message contain what it *says*, its action
    what to *do*: texts between `…`. *profile* and *labels* are of the namespace; *system*: whose
    controller makes the job of `submit`, ``Job`` or ``Volcano``.
    """

    make: Callable[[Site, "Situation"], str]
    code: str
    says: str
    do: str
    profile: str | None = "shared"
    labels: Mapping[str, str] = field(default_factory=dict)
    system: str = "Job"

    def submit(self, site: Site, size: int = 2) -> str:
        """Create the job ddp, and return once its controller was refused a pod."""
        make = volcano_job if self.system == "Volcano" else indexed_job
        site.submit(make(TRAINER, size=size))
        site.wait_for_warning("Job", "rror creating")
        return JOB


def webhook_is_down(site: Site, situation: Situation) -> str:
    site.stop_webhook()
    return situation.submit(site)


def job_is_refused(site: Site, situation: Situation) -> str:
    return situation.submit(site)


def quota_is_used_up(site: Site, situation: Situation) -> str:
    """One pod of two gets its device: the gang can never be whole."""
    _quota(site, 1)
    return situation.submit(site)


def quota_refuses_after_the_webhook_came_back(site: Site, situation: Situation) -> str:
    """The Events of the outage are still there."""
    _quota(site, 0)
    site.stop_webhook()
    situation.submit(site)
    site.start_webhook()
    site.wait_for_warning("Job", "exceeded quota")
    return JOB


def _quota(site: Site, devices: int) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "devices"}}
    site.submit({**quota, "spec": {"hard": {f"requests.{DEVICE}": str(devices)}}})

    def is_counted() -> bool:
        return all("used" in each.get("status", {}) for each in site.items("resourcequotas"))

    site.wait(is_counted, "the quota to be counted")


def network_is_gone(site: Site, situation: Situation) -> str:
    """It is deleted between admission and the node: the pods are held back meanwhile."""
    copy_network(site.api, f"{site.name}/own-net")
    made = jobs.holding()
    for manifest in made:
        manifest["spec"]["schedulingGates"] = [{"name": "fabric-injector.test/gate"}]
    pods = site.start(*made)
    path = f"/apis/k8s.cni.cncf.io/v1/namespaces/{site.name}/network-attachment-definitions/own-net"
    site.api.expect("DELETE", path)
    for pod in pods:
        site.api.expect("PATCH", pod.path, {"spec": {"schedulingGates": []}})
    site.wait_for_warning("Pod", "own-net")
    return PYTORCHJOB


def no_address_is_left(site: Site, situation: Situation) -> str:
    """The network has one address, and the job two pods."""
    copy_network(site.api, f"{site.name}/own-net", addresses=1)
    pods = site.start(*jobs.holding())
    site.wait_for_warning("Pod", "no IP addresses available")
    site.wait(lambda: any(pod.fabric_address() for pod in pods), "the pod that has the address")
    return PYTORCHJOB


def devices_are_taken(site: Site, situation: Situation) -> str:
    """Each pod takes 60 of the 100 devices of a node, and there are three pods on two nodes."""
    site.submit(indexed_job(TRAINER, size=3))
    pods = site.wait_for_pods(3)
    site.wait(
        lambda: any(unschedulable(pod.get()) for pod in pods), "the scheduler to find no node"
    )
    have = "two pods that have theirs"
    site.wait(lambda: sum(bool(pod.fabric_address()) for pod in pods) == 2, have)
    return JOB


def image_has_no_shell(site: Site, situation: Situation) -> str:
    for pod in site.start(*jobs.holding(image=NO_SHELL, command=["python", "train.py"])):
        pod.wait(_wait_cannot_start, "its wait step to be refused by the runtime")
    return PYTORCHJOB


def rank_zeros_sandbox_is_rebuilt(site: Site, situation: Situation) -> str:
    """As by a reboot: rank 0 has another address, and the worker runs on with the former one."""
    master, worker = _trained(site)
    before = master.fabric_address()
    site.node.containerds[master.get()["spec"]["nodeName"]].kill_sandbox(master.uid)
    new = "its new sandbox's address"
    master.wait(lambda _: master.fabric_address() not in ("", before), new)
    worker.wait_for_annotation(names.MASTER_ADDR, master.fabric_address())
    master.wait(lambda pod: _restarted(pod, "pytorch"), "its training container in the new sandbox")
    return PYTORCHJOB


def rank_zero_has_moved(site: Site, situation: Situation) -> str:
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


def rank_zero_is_missing(site: Site, situation: Situation) -> str:
    """It is deleted while the job trains, and nobody makes another for half a minute."""
    master, worker = _trained(site)
    master.delete()
    _grow_old(worker)
    return PYTORCHJOB


def rank_zero_never_came(site: Site, situation: Situation) -> str:
    """The worker alone is made, and waits."""
    [worker] = site.start(jobs.holding()[1])
    worker.wait_until_running(names.WAIT_CONTAINER)
    _grow_old(worker)
    return PYTORCHJOB


def rank_zero_came_before_the_label(site: Site, situation: Situation) -> str:
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


def wait_is_over(site: Site, situation: Situation) -> str:
    """The worker alone is made; its time is up, and it is not started again."""
    _, worker = jobs.holding()
    worker["spec"]["restartPolicy"] = "Never"
    [pod] = site.start(worker)
    pod.wait_for_end("Failed")
    return PYTORCHJOB


def controller_is_dead(site: Site, situation: Situation) -> str:
    site.kill_controller()
    pods = site.start(*jobs.holding())
    for pod in pods:
        pod.wait_until_running(names.WAIT_CONTAINER)
    site.wait_for_stale_lease()
    _grow_old(pods[0])
    return PYTORCHJOB


def user_is_not_root(site: Site, situation: Situation) -> str:
    _trained(site, securityContext={"runAsUser": 1000, "runAsNonRoot": True})
    return PYTORCHJOB


def limit_range_lowers_memory(site: Site, situation: Situation) -> str:
    """Its default limit of memory is less than the /dev/shm that the profile gives."""
    _limit_range(site, {"default": {"memory": "128Mi"}, "defaultRequest": {"memory": "64Mi"}})
    _trained(site)
    return PYTORCHJOB


def limit_range_refuses(site: Site, situation: Situation) -> str:
    """It allows a container fewer devices than the profile gives."""
    _limit_range(site, {"max": {DEVICE: "8"}})
    return situation.submit(site)


def job_is_too_big_for_its_queue(site: Site, situation: Situation) -> str:
    """Volcano lets it make no pod at all."""
    queue = f"{site.name}-small"
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    site.api.ensure(
        {**kind, "metadata": {"name": queue}, "spec": {"capability": {"cpu": "100m"}, "weight": 1}}
    )
    one = {**TRAINER, "resources": {"requests": {"cpu": "1"}, **TRAINER["resources"]}}
    job = volcano_job(one, size=2)
    job["spec"]["queue"] = queue

    def is_taken() -> bool:
        """Volcano refuses jobs of a queue that its webhook does not know to be open yet."""
        return bool(site.api.create(job, site.name).status == 201)

    site.wait(is_taken, "the queue to be open for jobs")

    def is_said() -> bool:
        events = site.items("events")
        return any(each["involvedObject"]["kind"] == "PodGroup" for each in events)

    site.wait(is_said, "an Event of the PodGroup")
    return JOB


def two_pods_have_one_address(site: Site, situation: Situation) -> str:
    """The network gives every pod the same address, as a range that each node gives out alone."""
    path = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions/rdma-net"
    config = json.loads(site.api.expect("GET", path)["spec"]["config"])
    config |= {"name": f"{site.name}-own", "ipam": {"type": "static", "addresses": []}}
    config["ipam"]["addresses"] = [{"address": "192.168.250.7/24"}]
    site.api.ensure(define(site.name, "own-net", json.dumps(config)))
    for pod in site.start(*jobs.holding()):
        site.wait(pod.fabric_address, "its address")
    return PYTORCHJOB


def policy_cuts_the_pod_network(site: Site, situation: Situation) -> str:
    """The job's profile leaves it there."""
    spec: Object = {"podSelector": {}, "policyTypes": ["Ingress"]}
    kind = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"}
    site.submit({**kind, "metadata": {"name": "deny-all"}, "spec": spec})
    for pod in site.start(*jobs.holding()):
        pod.wait(lambda pod: pod["spec"].get("nodeName"), "its node")
    return PYTORCHJOB


def network_is_no_json(site: Site, situation: Situation) -> str:
    site.api.ensure(define(site.name, "own-net", '{"type": "macvlan", "ipam": '))
    site.start(*jobs.holding())
    site.wait(lambda: site.events("FailedCreatePodSandBox"), "a sandbox that cannot be made")
    return PYTORCHJOB


def pod_is_larger_than_any_node(site: Site, situation: Situation) -> str:
    resources = {"requests": {"memory": "900Ti"}, **TRAINER["resources"]}
    site.submit(indexed_job({**TRAINER, "resources": resources}))
    pods = site.wait_for_pods(2)
    site.wait(lambda: all(unschedulable(pod.get()) for pod in pods), "the scheduler's answer")
    return JOB


def claim_cannot_be_evaluated(site: Site, situation: Situation) -> str:
    """Its selector asks for an attribute that the only device does not have."""
    group = "resource.k8s.io/v1"
    site.api.ensure(
        {"apiVersion": group, "kind": "DeviceClass", "metadata": {"name": site.name}, "spec": {}}
    )
    pool = {"name": site.name, "generation": 1, "resourceSliceCount": 1}
    of_all = {"driver": "broken.example.com", "pool": pool, "allNodes": True}
    site.api.ensure(
        {
            "apiVersion": group,
            "kind": "ResourceSlice",
            "metadata": {"name": site.name},
            "spec": {**of_all, "devices": [{"name": "card"}]},
        }
    )
    cel = {"cel": {"expression": "device.attributes['broken.example.com'].rdma == true"}}
    exactly = {"deviceClassName": site.name, "selectors": [cel]}
    spec = {"devices": {"requests": [{"name": "card", "exactly": exactly}]}}
    kind = {"apiVersion": group, "kind": "ResourceClaimTemplate", "metadata": {"name": "cards"}}
    site.submit({**kind, "spec": {"spec": spec}})
    made = jobs.holding()
    for manifest in made:
        claims = [{"name": "cards", "resourceClaimTemplateName": "cards"}]
        manifest["spec"]["resourceClaims"] = claims
        manifest["spec"]["containers"][0]["resources"]["claims"] = [{"name": "cards"}]
    site.start(*made)
    site.wait_for_warning("Pod", "CEL runtime error")
    return PYTORCHJOB


def member_has_another_profile(site: Site, situation: Situation) -> str:
    master, worker = jobs.holding()
    worker["metadata"]["labels"][names.PROFILE] = "small"
    for pod in site.start(master, worker):
        pod.report()
    return PYTORCHJOB


def memory_bus_fails(site: Site, situation: Situation) -> str:
    """Its processes end as those do that write more than their /dev/shm holds."""
    made = jobs.holding(command=["sh", "-c", "exit 135"])
    for manifest in made:
        manifest["spec"]["restartPolicy"] = "Never"
    for pod in site.start(*made):
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
    kind = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits"}}
    site.submit({**kind, "spec": {"limits": [{"type": "Container", **limits}]}})


_REFUSED = {
    "webhook down": Situation(
        webhook_is_down,
        "webhook-unreachable",
        "Job ddp … webhook does not answer … connection refused",
        "fabric-injector check",
    ),
    "wrong profile": Situation(
        job_is_refused,
        "pod-denied",
        "Job ddp … label fabric-injector.io/profile … no profile is named 'shraed' … use one of … shared",
        "correct that",
        profile="shraed",
    ),
    "quota": Situation(
        quota_is_used_up,
        "quota-refused",
        f"Job ddp … exceeded quota: devices … {DEVICE} … limited",
        "raise the ResourceQuota",
    ),
    "PodSecurity": Situation(
        job_is_refused,
        "pod-denied",
        "Job ddp … IPC_LOCK … pod-security.kubernetes.io/enforce: baseline … refuses … label the namespace privileged … podSecurity: skip",
        "correct that",
        labels={"pod-security.kubernetes.io/enforce": "baseline"},
    ),
    "PodSecurity, for the job's own pods": Situation(
        job_is_refused,
        "pod-security-refused",
        'Job ddp … violates PodSecurity "restricted:latest" … runAsNonRoot',
        "label the namespace privileged … correct what is named",
        profile="unprivileged",
        labels={"pod-security.kubernetes.io/enforce": "restricted"},
    ),
}
"""What keeps a controller from creating pods: each by a Job, and by Volcano, which tells it otherwise."""

SITUATIONS: Mapping[str, Situation] = {
    **{
        f"{name}, by {system}": replace(one, system=system)
        for name, one in _REFUSED.items()
        for system in ("Job", "Volcano")
    },
    "quota, after the webhook was down": Situation(
        quota_refuses_after_the_webhook_came_back,
        "quota-refused",
        "Job ddp … exceeded quota: devices",
        "raise the ResourceQuota",
    ),
    "network gone": Situation(
        network_is_gone, "network-missing", "own-net", "create", profile="own"
    ),
    "no address left": Situation(
        no_address_is_left,
        "addresses-exhausted",
        "own-net … no",
        "enlarge the range",
        profile="own",
    ),
    "devices taken": Situation(
        devices_are_taken,
        "resource-taken",
        f"Insufficient {DEVICE}",
        f"free … {DEVICE}",
        profile="many",
    ),
    "no shell": Situation(
        image_has_no_shell, "container-not-starting", "wait step", "no sh … waitImage"
    ),
    "sandbox rebuilt": Situation(
        rank_zeros_sandbox_is_rebuilt, "address-former", "bert-worker-0", "restart"
    ),
    "rank 0 moved": Situation(rank_zero_has_moved, "address-former", "bert-worker-0", "restart"),
    "rank 0 missing": Situation(
        rank_zero_is_missing, "rank-zero-missing", "no rank-0 pod", "Events"
    ),
    "rank 0 never came": Situation(
        rank_zero_never_came, "rank-zero-missing", "no rank-0 pod", "Events"
    ),
    "rank 0 before the label": Situation(
        rank_zero_came_before_the_label,
        "webhook-missed",
        "bert-master-0",
        "restart the job",
        profile=None,
    ),
    "wait over": Situation(
        wait_is_over,
        "wait-gave-up",
        "bert-worker-0 … gave up",
        "see the other findings",
        profile="impatient",
    ),
    "controller dead": Situation(
        controller_is_dead, "lease-stale", "Lease … was last renewed", "is the controller running?"
    ),
    "non-root": Situation(user_is_not_root, "ipc-lock-inert", "IPC_LOCK", "run as root"),
    "LimitRange lowers memory": Situation(
        limit_range_lowers_memory, "shared-memory-beyond-limit", "128Mi", "memory limit"
    ),
    "job too big for its queue": Situation(
        job_is_too_big_for_its_queue,
        "queue-waiting",
        "PodGroup ddp- … Volcano does not start ddp: ",
        "queue",
        system="Volcano",
    ),
    "one address twice": Situation(
        two_pods_have_one_address, "address-twice", "192.168.250.7 … own-net", "IPAM", profile="own"
    ),
    "NetworkPolicy": Situation(
        policy_cuts_the_pod_network,
        "policy-cuts",
        "deny-all … on the pod network",
        "NetworkPolicy",
        profile="apart",
    ),
    "network without JSON": Situation(
        network_is_no_json, "network-unreadable", "own-net … is not JSON", "correct", profile="own"
    ),
    "larger than any node": Situation(
        pod_is_larger_than_any_node, "resource-too-small", "Insufficient memory", "request less"
    ),
    "claim's selector": Situation(
        claim_cannot_be_evaluated, "claim-selector-fails", "CEL", "correct the selector"
    ),
    "another profile": Situation(
        member_has_another_profile,
        "revisions-differ",
        "bert-worker-0 … has profile small … bert-master-0, has profile shared",
        "restart",
    ),
    "SIGBUS": Situation(
        memory_bus_fails, "container-failed", "exited with 135 (SIGBUS)", "larger /dev/shm"
    ),
    "LimitRange refuses": Situation(
        limit_range_refuses,
        "pod-refused",
        f"Job ddp … maximum {DEVICE} usage per Container is 8, but",
        "LimitRange … injected devices",
        profile="many",
    ),
}
