"""List every kind of finding of `check` and `explain`: its stable code, what it means and what to do.

Codes are an interface between versions (tests/diagnose/test_codes.py pins them): programs filter by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, unique

from webhook.core.cluster.nodes import Shortage

_APPLY = "kubectl apply --server-side -f install.yaml (Helm: helm upgrade … --reuse-values)"


@unique
class Code(Enum):
    """Name a kind of finding: *topic*, what it *means*, and the *action* that usually helps, empty where nothing is to be done.

    A finding may give an action of its own, which then names the objects at hand.
    """

    def __init__(self, topic: str, means: str, action: str = "") -> None:
        self.topic, self.means, self.action = topic, means, action

    def __str__(self) -> str:
        """Write it as programs read it: ``lease-stale``."""
        return self.name.lower().replace("_", "-")

    # what it means on one line, what to do on the next
    # fmt: off


    CERTIFICATE_UNUSABLE = ("certificates", "The webhook's certificate or key is missing, has expired, or does not fit.",
        "see that the controller, or whoever keeps the certificates, is running")

    CONFIGURATION_MISSING = ("configuration", "The MutatingWebhookConfiguration does not exist, so no pod is sent to the webhook.",
        f"apply the manifests: {_APPLY}; it comes last")

    RESOURCE_NOWHERE = ("devices", "No node offers the resource that pods ask for, so they stay Pending.",
        "is the device plugin running that offers it, and is that its name? kubectl describe node shows what a node offers")
    RESOURCE_TOO_SMALL = ("devices", "No node offers as much of the resource as one pod asks for, so pods stay Pending.",
        "ask for no more in a pod (count: or resources: in the profile), or see whether the device plugin has lost devices")
    RESOURCE_UNLABELLED = ("devices", "No node that offers enough of the resource has the labels that the pods ask for.",
        "label the nodes, or correct nodeSelector of the pod, the profile or the network")
    DRIVER_SILENT = ("devices", "No driver that the DeviceClass names has published a ResourceSlice, so nobody gets its devices.",
        "is the driver running on the nodes? kubectl get resourceslices shows what drivers have published")
    DEVICES_LOST = ("devices", "The pod's node offers less of a resource now than the pod takes.",
        "look at the device plugin on the node: containers that start again get no device")

    RESOURCE_TAKEN = ("scheduling", "Too little of the resource is free on the nodes that the pod can take.",
        "wait, or free the resource on the nodes")

    NETWORK_EXISTS = "networks", "The network exists, and pods of the profile can be attached to it."
    NETWORK_MISSING = ("networks", "The NetworkAttachmentDefinition does not exist.",
        "create the NetworkAttachmentDefinition, or correct the name")
    NETWORK_PENDING = "networks", "The pod has just been bound to its node, and its network is being made."
    NETWORK_FAILED = ("networks", "Multus or a CNI plugin could not make the pod's network.",
        "correct the NetworkAttachmentDefinition, or look at its CNI plugin and its IPAM on the node")
    ADDRESSES_EXHAUSTED = ("networks", "The network's IPAM has no address left.",
        "enlarge the range of the network's IPAM and restart the job, or free the addresses that pods which are gone still hold in it")
    NETWORK_NOT_ATTACHED = ("networks", "Multus attached fewer networks than the pod's annotation asks for now.",
        "was the annotation changed after the pod had started? Delete the pod: its owner makes another")
    NETWORK_STATUS_MISSING = ("networks", "Multus has written nothing about the pod's networks.",
        "is Multus running on the node, and is its configuration the first in /etc/cni/net.d?")
    NETWORK_STATUS_UNREADABLE = ("networks", "The annotation in which Multus tells the pod's networks cannot be read.",
        "look at Multus' log on the pod's node")
    ADDRESS_UNUSABLE = ("networks", "The network gave the pod an address that no other pod can reach.",
        "look at the network's IPAM and at Multus' log")
    ADDRESS_MISSING = ("networks", "The pod has no address on the network where the ranks meet.",
        "look at the network's IPAM")

    CLAIM_TEMPLATE_MISSING = ("claims", "A ResourceClaimTemplate that the pod names does not exist, so the pod stays Pending.",
        "create it in the pod's namespace, or correct the name; a profile's is made within seconds, else see the controller's log")
    CLAIM_MISSING = ("claims", "A ResourceClaim that the pod names does not exist, so the pod stays Pending.",
        "create it, or correct the name")
    CLAIM_UNALLOCATED = ("claims", "A claim of the pod has no device, since the scheduler has found none that is free and fits.",
        "look at the claim's requests, and at what there is: kubectl get resourceslices; status of other claims tells who holds what")
    CLAIM_ADDRESS_MISSING = ("claims", "The pod's claims are allocated, and no driver has published an address in their status.",
        "look at the driver's log on the pod's node; one that publishes no networkData cannot be an addressSource")

    VOLUME_UNMOUNTED = ("volumes", "A volume of the pod cannot be mounted, and its network is made after that.",
        "create what is named, or correct the pod's volume; its network is made after that")

    NAMESPACE_OBSERVES = ("namespaces", "The namespace only observes: its pods are neither changed nor denied.",
        "remove label fabric-injector.io/mode once what is logged is as you want it, then restart the jobs")


    QUEUE_WAITING = ("scheduling", "The pod waits for a queue or a quota.",
        "look at the queue and its quota: does it exist, is it active, and what is free in it?")

    WEBHOOK_UNREACHABLE = ("reachability", "The API servers cannot reach the webhook, so no pods of labelled namespaces are created.",
        "look at the webhook's pods, its Service and its certificates, and at what stands between API servers and nodes")

    POD_REFUSED = ("admission", "The API server refused a pod of the job.",
        "correct that; the owner then tries again, or restart the job")
    POD_DENIED = ("admission", "The webhook denied a pod of the job, or would deny it today.",
        "correct that; the owner then tries again, or restart the job")
    OTHER_WEBHOOK_UNREACHABLE = ("admission", "A pod of the job cannot be created, for another program's webhook does not answer.",
        "look at that program: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml shows its Service")
    POD_SECURITY_REFUSED = ("admission", "PodSecurity refused a pod of the job.",
        "label the namespace privileged, or correct what is named, and for IPC_LOCK set podSecurity: skip in the profile")
    QUOTA_REFUSED = ("admission", "A ResourceQuota refused a pod of the job.",
        "raise the ResourceQuota by what is requested, injected devices included, or end other pods that it counts")

    INJECTED = "injection", "The pod was injected."
    INJECTION_STATUS_UNREADABLE = "injection", "The annotation that says what was injected cannot be read."
    STEP_SKIPPED = ("injection", "One step of the injection was left out.",
        "change what the message names if the step is wanted, then restart the job")
    STEP_DOUBTFUL = ("injection", "One step of the injection found something that may slow the job down.",
        "change what the message names, then restart the job")
    NOT_INJECTED = ("injection", "The pod was not injected, for what it is, or for what it or its namespace says.",
        "change what the message names if the pod is to be injected, then restart the job")
    NOT_INJECTED_UNKNOWN = ("injection", "Nothing was injected into the pod, and why cannot be told.",
        "see why the profiles cannot be read, or give --profiles FILE; see that the namespace carries label fabric-injector.io/profile")
    WEBHOOK_MISSED = ("injection", "A training pod was created without injection, though it would be injected today.",
        "restart the job; where that does not help, see fabric-injector check, which tells whether the webhook is called")
    WEBHOOK_OUT_OF_REACH = ("injection", "A pod was not injected, for its namespace does not carry the profile label.",
        "label the namespace and restart the job, or add component pod-opt-in, which reaches labelled pods everywhere")
    LEFT_OUT = ("injection", "The pod opted out of injection, and others of its job did not, so they meet on another network.",
        "give all pods of the job the same labels and networks, then restart it")
    RANK_ZERO_APART = ("injection", "Rank 0 was injected without a rendezvous, so it publishes no address.",
        "give all pods of the job the same labels and networks, then restart it")

    DRIFT = ("drift", "The pod would get another result today: the profile, a network or fabric-injector has changed.",
        "restart the job to take it up, or undo the change")
    REVISIONS_DIFFER = ("drift", "Members of one job have different revisions of their profile: it was changed while the job started.",
        "restart the job; give a fabric that changes a profile of a new name, so that running jobs keep theirs")

    JOB_OVER = "members", "The job has no live pod."
    JOB_WITHOUT_PODS = "members", "The job has no pod.", "look at the job itself: is it suspended, queued, or finished?"
    JOB_SUSPENDED = ("members", "The job is suspended, so it makes no pods.",
        "let whoever suspended it resume it, or: kubectl patch job NAME --type merge -p '{\"spec\":{\"suspend\":false}}'")
    RANK_ZERO_TWICE = "members", "The job has several live rank-0 pods.", "delete all but the newest"
    RANK_ZERO_MISSING = ("members", "The job has no rank-0 pod.",
        "look at the Events of the job's owner, and at the quota and policies of its namespace")
    RANK_ZERO_ENDED = ("members", "Rank 0 has ended or is being deleted, and other members still run.",
        "look at its log, then restart the job")
    RANK_ZERO_DONE = "members", "Rank 0 has just ended well, and its members should follow."
    MEMBERS_LINGER = ("members", "Rank 0 ended well minutes ago, and other members still run.",
        "look at the logs of those that run")
    MEMBERS_MISSING = ("members", "The job has fewer members than it is to have.",
        "look at the Events of the job's owner: pods that were refused are told there")

    NODE_GONE = ("scheduling", "The pod is bound to a node that does not exist any more.",
        "delete the pod, so that its owner makes another")
    NODE_NOT_READY = "scheduling", "The pod's node is not Ready.", "look at the node's kubelet"
    SCHEDULING_GATED = ("scheduling", "A scheduling gate holds the pod back.",
        "whoever set the gate must remove it; Kueue removes its own once it admits the pod's Workload")
    KUEUE_WAITING = ("scheduling", "Kueue has not admitted the job: what its queue may use is taken.",
        "wait until other jobs of the queue have ended, or ask for more quota of what is named")
    KUEUE_INADMISSIBLE = ("scheduling", "Kueue cannot admit the job as it stands, whatever becomes free.",
        "correct what is named: the job's label kueue.x-k8s.io/queue-name, or the LocalQueue and its ClusterQueue")
    KUEUE_EVICTED = ("scheduling", "Kueue admitted the job, took its quota back and stopped it.",
        "it waits in its queue again; where a job of higher priority took its place, wait for that one or raise the priority")
    KUEUE_DEACTIVATED = ("scheduling", "Kueue does not consider the job, since its Workload has spec.active: false.",
        "end the cause that is named, if any, then set spec.active: true on the Workload")
    KUEUE_CHECK_WAITING = ("scheduling", "Kueue has reserved quota for the job, and an admission check is not ready.",
        "look at the AdmissionCheck that is named, and at what provides it")
    KUEUE_SILENT = ("scheduling", "Kueue has said nothing of the job's Workload.",
        "is Kueue's controller running, and does the Workload name a queue?")
    UNSCHEDULABLE = ("scheduling", "The scheduler finds no node for the pod.",
        "change the pod or the nodes by what the scheduler says")
    TAINT_UNTOLERATED = ("scheduling", "The nodes that the pod could take have a taint that it does not tolerate.",
        "give the job a toleration of the taint, or its profile, under tolerations, for all pods of the namespace")
    SCHEDULER_SILENT = ("scheduling", "The pod is on no node, and no scheduler says why.",
        "is the scheduler that the pod names running?")

    POD_ENDED_BY_NODE = "containers", "The pod's node refused it or gave it up.", "look at the node's Events"
    CONTAINER_NOT_STARTING = "containers", "A container of the pod does not start.", "look at its log"
    CONTAINER_FAILED = "containers", "A container of the pod ended with an error.", "look at its log"

    ADDRESSES_TOLD = "addresses", "Every member is told the address that rank 0 has."
    ADDRESS_OUTDATED = ("addresses", "The pod is told an address that rank 0 does not have.",
        "see what is said of the controller, which publishes the new one")
    ADDRESS_UNTOLD = ("addresses", "The pod is not told rank 0's address, or its own.",
        "see what is said of the controller, which publishes it")
    MEETS_BY_NAME = ("addresses", "The pod was given rank 0's name, since rank 0 publishes no address: they meet on the pod network.",
        "where a job must not do so, set rendezvous.unreachable: fail in the profile")
    NAMES_UNRESOLVED = ("addresses", "The pod uses its node's network and DNS, which do not know the name that rank 0 has.",
        "set dnsPolicy: ClusterFirstWithHostNet in the job's template, or take hostNetwork off it, then restart the job")
    ADDRESS_FORMER = ("addresses", "The pod runs since before rank 0, or its sandbox, was made again: it holds a former address.",
        "restart these members: delete the pods, or restart the job")

    CONTROLLER_SILENT = ("controller", "The controller has not told members of the job what it should have told them by now.",
        "look at the controller's pods and its log")

    WAIT_BEGUN = "wait", "The pod's wait step has just begun."
    WAIT_LONG = ("wait", "The pod's wait step waits for an address that is not published.",
        "look at rank 0's pod, and at the controller's log")
    WAIT_STUCK = ("wait", "The pod's wait step goes on although all that it waits for is published.",
        "its own address is on none of its interfaces, where a node was restarted: delete the pod; else the kubelet brings no "
        "annotations into its volume: look at the kubelet's log")
    WAIT_ENDED = ("wait", "The pod's wait for rank 0's address was ended, for that address will not come.",
        "do what the message says; a wait that is started again then goes on")
    WAIT_GAVE_UP = ("wait", "The pod's wait step gave up waiting for an address.",
        "see what else is said of the job: why was the address not published?")

    RDMA_DISABLED = ("interfaces", "A variable of the job keeps NCCL or UCX from the RDMA devices.",
        "remove it, then restart the job")
    RDMA_DEVICES_TOLD = "interfaces", "NCCL or UCX is told the names of the pod's RDMA devices, as its profile asks."
    RDMA_DEVICES_UNNAMED = ("interfaces",
        "The profile asks for the names of the pod's RDMA devices, and its network-status has none: NCCL and UCX choose among all.")
    RDMA_DEVICES_EXCLUDED = ("interfaces", "A variable of the job names none of the pod's RDMA devices.",
        "remove it, then restart the job")
    GID_INDEX_FIXED = ("interfaces", "NCCL_IB_GID_INDEX is fixed, though the index differs from pod to pod.",
        "remove it, then restart the job")
    INTERFACE_ABSENT = ("interfaces", "A variable of the job names an interface that the pod does not have.",
        "remove it, then restart the job")
    INTERFACE_EXCLUDED = ("interfaces", "A variable of the job rules out the interface on which the ranks meet.",
        "remove it, then restart the job")
    INTERFACES_DISAGREE = ("interfaces", "The members of the job name different interfaces.",
        "give all members the same, then restart the job")
    INTERFACE_UNEXPECTED = ("interfaces", "The network came up on another interface than NCCL and Gloo are told.",
        "set multus.defaultNetworks in the Configuration as this cluster's Multus has it, then restart the job")

    IPC_LOCK_MISSING = ("memlock", "The training container may not lock memory, so RDMA can register little or none.",
        "restart the job, or add capability IPC_LOCK in the job's template")
    IPC_LOCK_INERT = ("memlock", "The training container has capability IPC_LOCK, and runs where it has no effect.",
        "run as root in the node's user namespace, or raise the nodes' memlock limit")

    TRANSPORT_FABRIC = "transport", "By its log, the job's NCCL uses the fabric."
    TRANSPORT_TCP = ("transport", "By its log, the job's NCCL uses sockets (TCP): right where the fabric has no RDMA, slow elsewhere.",
        "see the message for the cause; NCCL_DEBUG_SUBSYS=INIT,NET,ENV lets NCCL tell more of it")
    TRANSPORTS_DIFFER = ("transport", "By their logs, pods of one job use different networks, so that all wait for the slowest.",
        "compare the pods that differ with the others: their node, device, image and variables")
    TRANSPORT_LOCAL = "transport", "By its log, NCCL connects ranks of one pod or one NVLink domain alone, and uses no network."
    TRANSPORT_UNTOLD = ("transport", "The log does not tell which network the job trains over.",
        "set NCCL_DEBUG=INFO in the environment of the training container and start the job again")
    RDMA_MEMORY_REFUSED = ("transport", "NCCL could not lock memory for RDMA.",
        "see that ipcLock of the profile adds IPC_LOCK to the training container, or raise memlock in the node's container runtime")
    RDMA_UNCONNECTED = ("transport", "NCCL's RDMA devices of two pods do not reach each other.",
        "do not fix NCCL_IB_GID_INDEX; see that the nodes are on one network")

    SHARED_MEMORY_SMALL = ("shared-memory", "The training container has the runtime's /dev/shm of 64 MiB.",
        "set sharedMemory.enabled in the profile, or mount an emptyDir of medium Memory there")
    SHARED_MEMORY_ON_DISK = ("shared-memory", "The training container's /dev/shm is on the node's disk.",
        "give its emptyDir medium: Memory")
    SHARED_MEMORY_BEYOND_LIMIT = ("shared-memory", "The training container's /dev/shm is larger than its memory limit.",
        "raise the memory limit, or lower sharedMemory.sizeLimit")

    EVENT = "events", "The controller wrote an Event about the pod.", "do what the Event says"

    UNREAD = ("unread", "Something could not be read, so what depends on it is unknown.",
        "give this account the right to read it, or let somebody run this who has it")
    # fmt: on


SHORTAGES: Mapping[Shortage, Code] = {
    Shortage.NOWHERE: Code.RESOURCE_NOWHERE,
    Shortage.TOO_SMALL: Code.RESOURCE_TOO_SMALL,
    Shortage.UNLABELLED: Code.RESOURCE_UNLABELLED,
}
"""The code of each way in which a resource is not offered."""
