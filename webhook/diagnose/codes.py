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
    CLOCK_RIGHT = "clock", "This machine's clock agrees with the API server's."
    CLOCK_OFF = ("clock", "This machine's clock and the API server's differ by more than 30 seconds.",
        "set the clock; all that follows is judged by the API server's time")
    CLOCK_UNKNOWN = ("clock", "The API server's answers carry no time.",
        "all is judged by this machine's clock: see that it is right")

    LEASE_HELD = "lease", "A controller holds the Lease and renews it."
    LEASE_MISSING = ("lease", "The controller's Lease does not exist, so no controller has ever led.",
        "look at the controller's pods and their logs")
    LEASE_FREE = ("lease", "No controller holds the Lease, so that no address is published.",
        "look at the controller's pods and their logs")
    LEASE_STALE = ("lease", "The controller that holds the Lease has not renewed it for longer than it lasts.",
        "look at the controller's pods and their logs")
    LEASE_AHEAD = ("lease", "The Lease was renewed at a time that is yet to come.",
        "set the clock of the node that the controller runs on")

    PROFILES_VALID = "profiles", "The profiles can be used."
    PROFILE_INVALID = ("profiles", "A profile, or the settings of the whole cluster, has a fault.",
        "correct it; a webhook that runs keeps the last good content, and one that starts does not use this one")
    PROFILES_MISSING = ("profiles", "There are no profiles where the webhook reads them.",
        "create them there: the webhook does not start without its profiles file")
    SETTING_INERT = ("profiles", "A setting of the profile has no effect beside another one.",
        "leave one of the two out")
    DEFINITION_AGREES = "profiles", "The API server knows FabricProfiles as this version does."
    DEFINITION_MISSING = ("profiles", "The CustomResourceDefinition of FabricProfile does not exist, so there are no profiles.",
        f"apply the manifests again: {_APPLY}; it comes first")
    DEFINITION_NOT_ESTABLISHED = ("profiles", "The CustomResourceDefinition of FabricProfile is not served.",
        "look at the conditions of its status: does another one have its names?")
    DEFINITION_DIFFERS = ("profiles", "The CustomResourceDefinition of FabricProfile is not that of this version.",
        "apply that of the newer version, by kubectl apply --server-side; check with the version that is installed")
    PROFILES_READY = "profiles", "The controller finds the profiles ready."
    PROFILE_NOT_READY = ("profiles", "The controller finds that a profile is not ready.",
        "correct what the message names; kubectl describe fabricprofile shows all of it")
    PROFILE_UNSEEN = ("profiles", "The controller has not yet looked at the profile as it is now.",
        "wait a moment; if it stays so, look at the controller's pods and its log")

    CERTIFICATE_VALID = "certificates", "The webhook's certificate is valid, and the API servers trust it."
    CERTIFICATE_MISSING = ("certificates", "The Secret with the webhook's certificate does not exist.",
        "see that the controller, or whoever keeps the certificates, is running")
    CERTIFICATE_UNUSABLE = ("certificates", "The webhook's certificate or key is missing, has expired, or does not fit.",
        "see that the controller, or whoever keeps the certificates, is running")
    CERTIFICATE_UNTRUSTED = ("certificates", "The API servers do not trust the webhook's certificate, so they refuse all pods for it.",
        "see that the controller, or whoever keeps the certificates, is running: it repairs this within seconds")
    CA_BUNDLE_UNUSABLE = ("certificates", "The caBundle of the webhook configuration holds no authority that is valid now.",
        "see that the controller, or whoever keeps the certificates, is running: it fills caBundle in within seconds")

    CONFIGURATION_AS_SHIPPED = "configuration", "The webhook configuration does what the shipped one does."
    CONFIGURATION_MISSING = ("configuration", "The MutatingWebhookConfiguration does not exist, so no pod is sent to the webhook.",
        f"apply the manifests: {_APPLY}; it comes last")
    WEBHOOK_NEVER_CALLED = ("configuration", "The configuration selects no pod of a labelled namespace.",
        f"apply the shipped configuration again (rules, selectors): {_APPLY}")
    UNLABELLED_CALLED = ("configuration", "The webhook is called for pods of namespaces that nobody labelled.",
        "let namespaceSelector ask that label fabric-injector.io/profile exists")
    OPTED_OUT_CALLED = ("configuration", "The webhook is called for pods that opted out.",
        f"apply the shipped objectSelector again: {_APPLY}")
    OPTED_IN_NOT_SERVED = ("configuration", "Pods that opted in themselves are injected, and told no addresses.",
        "add component pod-opt-in, or --pod-opt-in to the arguments of the controller")
    SYSTEM_CALLED = ("configuration", "If kube-system or its own namespace were labelled, the webhook could stop itself.",
        "exclude these namespaces in namespaceSelector")
    FAILURE_POLICY_CHANGED = ("configuration",
        "While the webhook cannot be asked, pods train over the pod network, and nobody is told.",
        "set Fail, unless failing open was chosen on purpose")
    REINVOCATION_POLICY_CHANGED = ("configuration", "Containers that later webhooks add get neither variables nor devices.",
        "set IfNeeded")
    MATCH_POLICY_CHANGED = "configuration", "Pods of other API versions are not sent.", "set Equivalent"
    SIDE_EFFECTS_CHANGED = "configuration", "Dry runs of pods are refused.", "set None"
    TIMEOUT_LONG = "configuration", "A webhook that hangs would hold each pod up for long.", "set 5"
    REVIEW_VERSION_MISSING = ("configuration", "The API servers may not send the one version that is answered.",
        "set [v1]")
    MIRROR_PODS_CALLED = ("configuration", "The webhook is called for a kubelet's static pods.",
        f"apply the shipped matchConditions again: {_APPLY}")
    WEBHOOK_BY_URL = ("configuration", "The configuration calls a URL in place of a Service.",
        f"unless that was chosen, apply the shipped clientConfig again: {_APPLY}")
    WEBHOOK_ELSEWHERE = ("configuration", "The configuration calls a Service of another namespace than the one that was looked at.",
        "give its namespace by --system-namespace")
    SERVICE_MISSING = ("configuration", "The configuration calls a Service that does not exist.",
        f"apply the manifests again: {_APPLY}")
    WEBHOOK_PATH_WRONG = ("configuration", "The configuration calls a path that the webhook does not serve.",
        "let the path of clientConfig be /mutate")

    NOT_INSTALLED = "installation", "Nothing of fabric-injector is installed yet."

    DEPLOYMENT_READY = "deployments", "All replicas of the Deployment are ready."
    DEPLOYMENT_MISSING = ("deployments", "The Deployment does not exist in this namespace.",
        f"give --system-namespace, or apply the manifests again: {_APPLY}")
    DEPLOYMENT_DOWN = ("deployments", "No replica of the Deployment is ready.",
        "look at its pods with kubectl describe, and at their logs")
    DEPLOYMENT_DEGRADED = "deployments", "Some replicas of the Deployment are not ready.", "look at its pods"
    ROLLOUT_UNFINISHED = ("deployments", "Pods of the Deployment's new version do not become ready.",
        "wait; if it stays so, look at its pods with kubectl describe: is the image the right one?")
    REPLICA_SINGLE = ("deployments", "The Deployment has one replica, and nobody takes over while its node fails.",
        "set replicas: 2")
    REPLICAS_TOGETHER = ("deployments", "All replicas of the Deployment are on one node, though another may take one.",
        "let the scheduler choose anew: kubectl rollout restart")
    IMAGES_DIFFER = ("deployments", "The Deployments run different images.",
        "fine during an upgrade (controller first); finish it")

    RESOURCE_OFFERED = "devices", "Nodes offer what a pod of the profile takes."
    RESOURCE_NOWHERE = ("devices", "No node offers the resource that pods ask for, so they stay Pending.",
        "is the device plugin running that offers it, and is that its name? kubectl describe node shows what a node offers")
    RESOURCE_TOO_SMALL = ("devices", "No node offers as much of the resource as one pod asks for, so pods stay Pending.",
        "ask for no more in a pod (count: or resources: in the profile), or see whether the device plugin has lost devices")
    RESOURCE_UNLABELLED = ("devices", "No node that offers enough of the resource has the labels that the pods ask for.",
        "label the nodes, or correct nodeSelector of the pod, the profile or the network")
    RESOURCE_UNCOUNTED = "devices", "A DeviceClass gives the resource by claims (DRA), and how many of its devices fit is not counted."
    DRIVER_SILENT = ("devices", "No driver that the DeviceClass names has published a ResourceSlice, so nobody gets its devices.",
        "is the driver running on the nodes? kubectl get resourceslices shows what drivers have published")
    POOL_INCOMPLETE = ("devices", "A driver has published only a part of a pool, of which nothing is given out till the rest is there.",
        "wait; if it stays so, look at the driver's log")
    NODES_UNUSABLE = ("devices", "The nodes that offer the resource are not ready, or are cordoned.",
        "look at `kubectl get nodes`: pods stay Pending while none is ready and schedulable")
    DEVICES_LOST = ("devices", "The pod's node offers less of a resource now than the pod takes.",
        "look at the device plugin on the node: containers that start again get no device")

    RESOURCE_TAKEN = ("scheduling", "Too little of the resource is free on the nodes that the pod can take.",
        "wait, or free the resource on the nodes")

    NETWORK_EXISTS = "networks", "The network exists, and pods of the profile can be attached to it."
    NETWORK_UNUSED = "networks", "The network is looked for in each namespace that uses the profile, and none does yet."
    NETWORK_MISSING = ("networks", "The NetworkAttachmentDefinition does not exist.",
        "create the NetworkAttachmentDefinition, or correct the name")
    NETWORK_ISOLATED = ("networks", "The network is in another namespace than the pods, and Multus keeps namespaces apart.",
        "move it to one of multus.globalNamespaces or to the pods' own namespace, or correct both settings")
    NETWORK_UNUSABLE = ("networks", "Pods of the profile cannot be attached to the network.",
        "correct the profile, or the network")
    NETWORK_WITHOUT_DEVICE = ("networks", "Neither the network nor the profile names a device, so pods get an interface without RDMA.",
        "write resource: beside the network in the profile, unless the network is for IP alone")
    NETWORK_WITHOUT_ADDRESSES = ("networks", "The network gives no addresses, so the ranks meet on the pod network.",
        "give the network's configuration an ipam, or write rendezvous: {enabled: false} in the profile")
    RANKS_MEET = "networks", "Ranks of the profile meet on this network, which another than Multus makes."
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
    DEVICE_CLASSES_FOUND = "claims", "The DeviceClasses that claims of profiles name exist."
    DEVICE_CLASS_MISSING = ("claims", "A DeviceClass that a claim of a profile names does not exist.",
        "install the driver that brings it, or correct deviceClassName in the profile")
    CLAIMS_UNSERVED = ("claims", "No pod gets the claims of its profile, for the cluster can give none.",
        "use a Kubernetes that serves resource.k8s.io/v1, and profiles as FabricProfile objects")
    CLAIM_TEMPLATES_KEPT = "claims", "The ResourceClaimTemplates of labelled namespaces are those of their profiles."
    CLAIM_TEMPLATE_FOREIGN = ("claims", "Somebody made a ResourceClaimTemplate with a name of ours and another content.",
        "delete it, and the controller makes it anew; see who may create resourceclaimtemplates there")
    KUEUE_CLAIMS_COUNTED = "claims", "Kueue counts the claims of plain pods and pod groups, and not those of Jobs."
    KUEUE_CLAIMS_UNMAPPED = ("claims", "Kueue's configuration names no resource for a DeviceClass of a claim.",
        "add the DeviceClass to resources.deviceClassMappings of Kueue's configuration, and restart Kueue")

    VOLUME_UNMOUNTED = ("volumes", "A volume of the pod cannot be mounted, and its network is made after that.",
        "create what is named, or correct the pod's volume; its network is made after that")

    MULTUS_READY = "multus", "Multus is ready on every node."
    MULTUS_DEGRADED = ("multus", "Multus is not ready on every node.",
        "pods on the other nodes get no second network: look at its pods")
    MULTUS_UNSEEN = ("multus", "No DaemonSet of Multus was found.",
        "see that it runs on every node with a fabric, if not as a DaemonSet then as part of the node's image")
    MULTUS_MISSING = ("multus", "The cluster does not know NetworkAttachmentDefinitions, so no pod can have a second network.",
        "install Multus, for instance by NVIDIA's network operator")
    MULTUS_UNUSED = "multus", "The cluster has no Multus or does not know its networks, and no profile needs them."
    ISOLATION_AGREES = "multus", "Multus keeps namespaces apart, or not, as the Configuration says."
    ISOLATION_DIFFERS = ("multus", "Multus keeps namespaces apart, or not, in another way than the Configuration says.",
        "write multus: {namespaceIsolation: …} in the Configuration as Multus has it")
    ISOLATION_UNKNOWN = ("multus", "Networks of profiles depend on a setting of Multus that cannot be seen.",
        "look at namespaceIsolation in Multus' configuration on a node; OpenShift sets it")
    ISOLATION_IRRELEVANT = "multus", "Multus' setting cannot be seen, and no network of a profile depends on it."
    GLOBAL_NAMESPACES_AGREE = "multus", "The Configuration names the namespaces that Multus opens to all."
    GLOBAL_NAMESPACES_EXCESSIVE = ("multus", "The Configuration names namespaces whose networks Multus refuses to other namespaces.",
        "write multus.globalNamespaces in the Configuration as Multus has it")
    GLOBAL_NAMESPACES_LACKING = ("multus", "The Configuration lacks namespaces that Multus opens to all: their users are denied.",
        "write multus.globalNamespaces in the Configuration as Multus has it")
    DEFAULT_NETWORKS_DIFFER = ("multus", "Multus gives pods another number of default networks than the Configuration says.",
        "write multus: {defaultNetworks: …} in the Configuration as Multus has it")

    NAMESPACE_READY = "namespaces", "The namespace uses a profile, and its pods are injected."
    NAMESPACES_UNLABELLED = ("namespaces", "No namespace carries the profile label yet.",
        "kubectl label namespace NAME fabric-injector.io/profile=PROFILE, while no training job runs there")
    LABEL_UNKNOWN = ("namespaces", "A namespace carries a label that begins as ours do and means nothing.",
        "correct its name, or remove it")
    MODE_UNKNOWN = ("namespaces", "The mode label of the namespace has a value that means nothing.",
        "write observe, or remove it; pods are changed meanwhile")
    NAMESPACE_EXCLUDED = ("namespaces", "The namespace is labelled, but its pods are never sent to the webhook.",
        "remove the label")
    NAMESPACE_OBSERVES = ("namespaces", "The namespace only observes: its pods are neither changed nor denied.",
        "remove label fabric-injector.io/mode once what is logged is as you want it, then restart the jobs")
    PROFILE_UNKNOWN = ("namespaces", "The namespace names a profile that does not exist, so every training pod is denied.",
        "name a profile that there is: kubectl get fabricprofiles lists them")
    PROFILE_NOT_ALLOWED = ("namespaces", "The namespace names a profile that is not for it, so every training pod is denied.",
        "add it to the profile's allowedNamespaces, or use another profile")
    POD_SECURITY_REFUSES = ("namespaces", "The namespace's PodSecurity level refuses IPC_LOCK or another part of the profile.",
        "label it pod-security.kubernetes.io/enforce=privileged, or write ipcLock: false or podSecurity: skip in the profile")

    INJECTORS_HARMLESS = "injectors", "No other webhook is known to collide with this one."
    INSTALLED_TWICE = ("injectors", "Another configuration calls fabric-injector too, so every pod is sent twice.",
        "delete it, or name the one that is meant by --webhook-configuration")
    INJECTOR_COLLIDES = ("injectors", "Another webhook changes pods in ways that collide with this one.",
        "keep the labelled namespaces out of its namespaceSelector, or of this one")
    INJECTOR_CALLED_LATER = ("injectors", "The webhook of a training system is called after this one, which reads what it writes.",
        "rename ours, so that its name comes last")

    PRIVILEGES_RIGHT = "privileges", "The account may do all that it needs, and nothing dangerous besides."
    PRIVILEGES_LACKING = ("privileges", "The account may not do what it needs.",
        f"apply the RBAC manifests again: {_APPLY}")
    PRIVILEGES_EXCESSIVE = ("privileges", "The account may do dangerous things that it does not need.",
        "look for a role binding beside the shipped ones, and remove it")
    PRIVILEGES_UNKNOWN = ("privileges", "What the account may do is told only to who may create subjectaccessreviews.",
        "run check as an administrator")
    INSTALLER_READY = "privileges", "You may do all that installation takes."
    INSTALLER_LACKING = ("privileges", "You may not do all that installation takes.",
        "to install, ask an administrator of the cluster")
    POLICIES_BOUND = "privileges", "The admission policies of the manifests are in force."
    POLICIES_MISSING = ("privileges", "An admission policy of the manifests is missing or not bound.",
        f"apply the manifests again: {_APPLY}")

    QUOTA_FITS = "quotas", "The ResourceQuota has room for a pod."
    QUOTA_TOO_SMALL = "quotas", "The ResourceQuota is smaller than what one pod takes.", "raise it"
    QUOTA_USED_UP = "quotas", "The ResourceQuota has too little left for the next pod.", "raise it, or wait"
    QUOTA_UNCOUNTED = ("quotas", "ResourceQuotas of labelled namespaces do not count the injected devices.",
        "add requests.RESOURCE to them, if the devices are to be shared out")
    CLUSTER_QUEUE_COVERS = "quotas", "Kueue's ClusterQueue covers the injected devices, or passes them over."
    CLUSTER_QUEUE_LACKS = ("quotas", "Kueue's ClusterQueue does not cover an injected device: it admits no plain pods.",
        "add the device to coveredResources, or to excludeResourcePrefixes of Kueue's configuration")
    VOLCANO_QUEUES_FIT = "quotas", "No queue of Volcano keeps pods from the injected devices."
    VOLCANO_QUEUE_TOO_SMALL = ("quotas", "The capability of Volcano's queue is smaller than what one pod takes.",
        "raise it, or remove it there; Volcano counts what pods ask for, not what the job's template said")

    QUEUE_WAITING = ("scheduling", "The pod waits for a queue or a quota.",
        "look at the queue and its quota: does it exist, is it active, and what is free in it?")

    WEBHOOK_INJECTS = "reachability", "The webhook is called, and injects."
    WEBHOOK_OBSERVES = "reachability", "The webhook is called, and observes."
    WEBHOOK_ANSWERS = "reachability", "The webhook answers through the API server's proxy."
    WEBHOOK_UNTRIED = ("reachability", "No namespace is labelled in which a dry run could show that the webhook is called.",
        "run check again once one is: a dry run of a pod then tells")
    WEBHOOK_UNKNOWN = ("reachability", "Whether the API servers reach the webhook could not be tried.",
        "run check as somebody who may create pods in a labelled namespace, or use services/proxy")
    WEBHOOK_DENIES = ("reachability", "The webhook is called, and denies a plain pod of the namespace.",
        "see what else is said of this namespace and its profile")
    WEBHOOK_UNREACHABLE = ("reachability", "The API servers cannot reach the webhook, so no pods of labelled namespaces are created.",
        "look at the webhook's pods, its Service and its certificates, and at what stands between API servers and nodes")
    WEBHOOK_PASSED_OVER = ("reachability", "A pod came back as it was: the webhook was not called, or its failure was passed over.",
        "look at the configuration's selectors; with failurePolicy Ignore, at the webhook's pods, Service and certificates")

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
    ALL_INJECTED = "injection", "No unfinished training pod of a labelled namespace lacks injection."
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
