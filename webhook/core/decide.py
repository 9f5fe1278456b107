"""Decide about one pod, in stages: profile, job, container, attachments, rendezvous."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from msgspec import structs

from webhook.core import bounds, names, podspec
from webhook.core.accelerators import (
    count_accelerators,
    find_accelerator,
    find_pod_accelerator,
    may_have_accelerator,
)
from webhook.core.addresses import Choice, claim
from webhook.core.errors import Denied, Unavailable
from webhook.core.injection import claims, pod_security, whole
from webhook.core.job_key import job_key
from webhook.core.model import Decision, Namespace, Object, Outcome, Reason, World
from webhook.core.networks import Attachment, resolve_networks
from webhook.core.networks.annotation import parse_networks
from webhook.core.plan import Plan
from webhook.core.profiles import Profile, Profiles
from webhook.core.profiles.slips import choose_profile
from webhook.core.training_container import choose_container
from webhook.core.workloads import NotTraining, TrainingPod, recognise
from webhook.core.workloads.nodes import find_mark, stays_on_one_node
from webhook.core.workloads.training_pod import Rendezvous

STEP: Final = "profile"


class Skip(NamedTuple):
    """Give a pod nothing, for a reason."""

    decision: Decision
    system: str = ""
    profile: str = ""


def make_plan(
    pod: Object, namespace: Namespace, profiles: Profiles, world: World, override: str | None = None
) -> Plan | Skip:
    """Decide what the pod gets. *override* names a profile in place of the labels (the dry run's).

    Raises Denied for a pod that can never work, Unavailable where the cluster cannot be asked.
    """
    profile = select_profile(pod, namespace, profiles, override, world.has_profile)
    if isinstance(profile, Skip):
        return profile
    job = _find_job(pod, profile, namespace)
    if isinstance(job, Skip):
        return job
    training_pod = job if isinstance(job, TrainingPod) else None
    container = choose_container(pod, profile, training_pod)
    if skip := _why_unfit(pod, profile, container, job):
        return skip
    plan = Plan(
        profile,
        namespace,
        pod_name=podspec.display_name(pod),
        container=container,
        container_name=podspec.containers(pod)[container].get("name") or "",
        host_network=podspec.is_host_network(pod),
        training_pod=training_pod,
        chosen_by=_chosen_by(pod, profile, override),
        own_image=profiles.own_image,
        claims_problem=profiles.claims_problem,
    )
    if job.warning:
        plan.warnings += (Decision(STEP, Outcome.WARNED, Reason.NO_SIZE, job.warning),)
    claims.leave_interfaces_out(pod, plan)
    choice = _attach(pod, plan, profiles, world)
    _meet(pod, plan, job, choice)
    lacking = whole.unknown_device(pod, plan) if profile.quantities else None
    if lacking is None and profile.claims and not (plan.attachments or profile.quantities):
        lacking = claims.why_alone(plan)
    return plan if lacking is None else networks_only(plan, lacking)


def _find_job(
    pod: Object, profile: Profile, namespace: Namespace
) -> TrainingPod | NotTraining | Skip:
    """Find the pod's part in its job; a pod that is left alone is not denied for its size.

    NotTraining is answered for a pod that its user, or the admin for all pods, wants injected.
    """
    excess = bounds.excess(pod)
    seen = bounds.within(pod) if excess else pod
    job = recognise(seen)
    is_rank = isinstance(job, TrainingPod) and profile.pods != "accelerators"
    if not is_rank and not _is_wanted(seen, profile, namespace, job):
        return _leave(seen, profile, job)
    this = f"pod {podspec.display_name(pod)}"
    if excess:
        advice = f"make it smaller, or label it {names.PROFILE}={names.PROFILE_NONE}"
        raise Denied(STEP, Reason.TOO_LARGE, f"{this}: {excess}; {advice} to leave it alone")
    if not podspec.containers(pod):
        return _skip(Reason.INVALID_POD, "the pod has no containers", job.system, profile.name)
    if twice := podspec.names_twice(pod):
        advice = "Kubernetes takes a name once in a pod: give each its own"
        raise Denied(STEP, Reason.INVALID_POD, f"{this}: {twice}; {advice}")
    return job


def _why_unfit(
    pod: Object, profile: Profile, container: int, job: TrainingPod | NotTraining
) -> Skip | None:
    """Skip a pod that the profile is not made for.

    Only the training container decides on accelerators, so that members of a job with the same
    container get the same. The rest of a profile that asks the cluster for interfaces in the pod,
    sidecars and variables, speaks of these interfaces.
    """
    if podspec.is_windows(pod):
        message = "a Windows pod runs neither NCCL nor the wait step"
        return _skip(Reason.WINDOWS, message, job.system, profile.name)
    own = podspec.containers(pod)[container]
    found, wanted = count_accelerators(own), profile.accelerators
    asked = [key for key in profile.annotations if key.startswith(names.GKE_NETWORKING)]
    outcome = Outcome.WARNED
    if wanted is not None and found != wanted:
        reason, accelerator = Reason.OTHER_ACCELERATORS, find_accelerator(own)
        asks = f"{accelerator} in a number that is not certain" if accelerator else "none"
        asks = f"{found} accelerators" if found else asks
        who = f"container {own.get('name')}"
        why = f"profile {profile.name} is for {wanted} accelerators, and {who} asks for {asks}"
        advice = f"ask for {wanted}, as of a whole node,"
        if isinstance(job, NotTraining) and find_pod_accelerator(pod) is None:
            outcome = Outcome.SKIPPED
    elif asked and podspec.is_host_network(pod):
        reason = Reason.HOST_NETWORK
        why = (
            f"it uses the node's network (hostNetwork: true), and profile {profile.name} asks for "
            f"interfaces of the pod's own ({', '.join(asked)})"
        )
        advice = "remove hostNetwork,"
    else:
        return None
    message = (
        f"pod {podspec.display_name(pod)}: {why}: the pod is left alone; {advice} or label the pod "
        f"{names.PROFILE} with another profile or {names.PROFILE_NONE}"
    )
    return Skip(Decision(STEP, outcome, reason, message), job.system, profile.name)


def _attach(pod: Object, plan: Plan, profiles: Profiles, world: World) -> Choice:
    """Decide about networks, and where the pod's address comes from."""
    profile, space = plan.profile, plan.namespace.name
    networks = resolve_networks(pod, profile, profiles.multus, space, world.network)
    plan.networks, plan.attachments = networks.value, networks.attachments
    if profile.claims and profile.rendezvous.address_source == claim.NAME:
        pod = claims.with_references(pod, plan)
    choice = plan.source.choose(pod, profile, networks)
    if not plan.host_network:  # there nobody makes an interface
        plan.rendezvous_network, plan.other_interfaces = choice.network, choice.interfaces
    return choice


def _meet(pod: Object, plan: Plan, job: TrainingPod | NotTraining, choice: Choice) -> None:
    """Decide about the rendezvous."""
    plan.why_no_rendezvous = _why_no_rendezvous(plan, job, choice)
    if plan.why_no_rendezvous is None and isinstance(job, TrainingPod):
        plan.rendezvous = job.rendezvous
        plan.local_address_everywhere = _orders_by_address(pod, plan.profile, choice.network)
    elif plan.profile.address_variables or _waits_for_devices(plan, job, choice):
        follower = TrainingPod(job.system, rendezvous=_without_rank_zero(pod, plan, job.system))
        why = _why_no_rendezvous(plan, follower, choice)
        if why is None:
            plan.rendezvous = follower.rendezvous
        if why is None or plan.profile.address_variables:
            plan.why_no_rendezvous = why


def networks_only(plan: Plan, lacking: Decision) -> Plan | Skip:
    """Give the networks of the profile and nothing else of it, or leave the pod alone."""
    if plan.attachments or plan.rendezvous_network is not None:
        return whole.without_parts(plan, lacking)
    return Skip(whole.left_alone(plan, lacking), plan.system, plan.profile.name)


def give_way(pod: Object, injected: Object, plan: Plan) -> Plan | Skip | None:
    """Ask PodSecurity about the injected pod; return what is left where it refuses an addition.

    Raises Denied where the profile says ``podSecurity: deny``.
    """
    if plan.profile.pod_security == "ignore":
        return None
    level = plan.namespace.labels.get(names.POD_SECURITY_ENFORCE, "")
    refused = pod_security.refused_additions(pod, injected, level)
    if not refused:
        return None
    lacking = pod_security.refuse(plan, refused)
    if all(each.what == pod_security.IPC_LOCK for each in refused):
        bare = structs.replace(plan.profile, ipc_lock=False)
        return replace(plan, profile=bare, warnings=(*plan.warnings, lacking))
    return networks_only(plan, lacking)


def select_profile(
    pod: Object,
    namespace: Namespace,
    profiles: Profiles,
    override: str | None,
    is_new: Callable[[str], bool] = lambda _: False,
) -> Profile | Skip:
    """Choose the profile: *override*, the pod's label, podLabels that it carries, the namespace's.

    Raises Denied where no profile has the name, several are chosen, or the namespace may not use
    it. Raises Unavailable where *is_new* knows a profile that was not read yet.
    """
    of_pod = podspec.labels(pod).get(names.PROFILE)
    of_namespace = namespace.labels.get(names.PROFILE)
    this = f"pod {podspec.display_name(pod)}"
    if override is not None:
        name, where = override, "the dry run's profile"
    elif of_pod is not None:
        name, where = of_pod, f"{this}: label {names.PROFILE}"
    elif chosen := _chosen_by_labels(pod, profiles, namespace.name):
        name, where = chosen.name, f"{this}: podLabels of profile {chosen.name}"
    elif of_namespace is not None:
        name, where = of_namespace, f"namespace {namespace.name}: label {names.PROFILE}"
    else:
        message = f"neither the pod nor namespace {namespace.name} carries the label"
        return _skip(Reason.NO_PROFILE, f"{message} {names.PROFILE}")
    if name == names.PROFILE_NONE:
        return _skip(Reason.OPTED_OUT, f"{where} is {names.PROFILE_NONE}")
    profile = profiles.profiles.get(name)
    if profile is None and is_new(name):
        raise Unavailable(f"{where}: profile {name} is so new that it was not read yet: ask again")
    if profile is None:
        advice = choose_profile(name[:64], profiles.usable_in(namespace.name))
        message = f"{where}: no profile is named {name[:64]!r}; {advice}"
        raise Denied(STEP, Reason.UNKNOWN_PROFILE, message)
    if not profile.is_for(namespace.name):
        advice = "add it to the profile's allowedNamespaces or use another"
        message = f"{where}: profile {name} is not for namespace {namespace.name}; {advice}"
        raise Denied(STEP, Reason.NAMESPACE_NOT_ALLOWED, message)
    return profile


def _chosen_by(pod: Object, profile: Profile, override: str | None) -> str:
    """Say whose word chose the profile that `select_profile` has found."""
    labels = podspec.labels(pod)
    if override is not None:
        return "dry run"
    if names.PROFILE in labels:
        return "pod"
    return "podLabels" if profile.is_chosen_by(labels) else names.CHOSEN_BY_NAMESPACE


def _chosen_by_labels(pod: Object, profiles: Profiles, namespace: str) -> Profile | None:
    """Take the profile whose podLabels include those of all others that the pod chooses."""
    found = profiles.chosen_by(podspec.labels(pod))
    if not found:
        return None
    best = max(found, key=lambda profile: len(profile.pod_labels))
    if all(profile.pod_labels.items() <= best.pod_labels.items() for profile in found):
        return best
    usable = " or ".join(sorted(profile.name for profile in found if profile.is_for(namespace)))
    raise Denied(
        STEP,
        Reason.AMBIGUOUS_PROFILE,
        f"pod {podspec.display_name(pod)}: its labels are the podLabels of {len(found)} profiles; "
        f"label the pod {names.PROFILE} with {usable or 'a profile that its namespace may use'}",
    )


def _is_wanted(
    pod: Object, profile: Profile, namespace: Namespace, job: TrainingPod | NotTraining
) -> bool:
    """Tell whether its user, or the admin for all, wants a pod injected that may not train."""
    labels = podspec.labels(pod)
    if labels.get(names.PROFILE):
        return True
    if job.reason is Reason.TPU:
        return False
    if profile.pods == "all" or profile.is_chosen_by(labels):
        return True
    if profile.pods == "accelerators" and may_have_accelerator(pod):
        return True
    annotation = podspec.annotations(pod).get(names.NETWORKS) or ""
    try:
        named = parse_networks(annotation, namespace.name).elements
    except ValueError:
        return False
    ours = [each.network for each in profile.networks]
    keys = {(network.namespace or namespace.name, network.name) for network in ours}
    return any((each.namespace, each.name) in keys for each in named)


def _leave(pod: Object, profile: Profile, job: TrainingPod | NotTraining) -> Skip:
    """Skip a pod that is not known to train; with a warning where it may all the same."""
    if isinstance(job, TrainingPod):
        why = f"profile {profile.name} is for pods with accelerators, and this one asks for none"
        job = NotTraining(Reason.OTHER_ACCELERATORS, why, job.system)
    how = f"label the pod {names.PROFILE}={profile.name} to inject it all the same"
    outcome, message = Outcome.SKIPPED, f"{job.message}; {how}"
    if looks := looks_like_training(pod, job):
        alone = f"{names.PROFILE}={names.PROFILE_NONE} to leave it alone"
        outcome, message = Outcome.WARNED, f"{job.message}, though it {looks}; {how}, or {alone}"
    elif job.warning:
        outcome, message = Outcome.WARNED, f"{job.message}; {job.warning}"
    return Skip(Decision(STEP, outcome, job.reason, message), job.system, profile.name)


def looks_like_training(pod: Object, job: NotTraining) -> str:
    """Say why a pod that is left alone may train, ``asks for amd.com/gpu and sets NNODES``."""
    accelerator = find_pod_accelerator(pod)
    if accelerator is None or job.reason in (Reason.ROLE, Reason.TPU, Reason.SINGLE_NODE):
        return ""
    mark = next(filter(None, map(find_mark, podspec.containers(pod))), "")
    return f"asks for {accelerator} and {mark}" if mark and not stays_on_one_node(pod) else ""


def _skip(reason: Reason, message: str, system: str = "", profile: str = "") -> Skip:
    return Skip(Decision(STEP, Outcome.SKIPPED, reason, message), system, profile)


def _why_no_rendezvous(
    plan: Plan, job: TrainingPod | NotTraining, choice: Choice
) -> Decision | None:
    if isinstance(job, NotTraining) or job.rendezvous is None:
        reason, message = job.reason, job.message
    elif not plan.profile.rendezvous.enabled:
        reason = Reason.DISABLED
        message = f"profile {plan.profile.name} says rendezvous: {{enabled: false}}"
    elif choice.reason is Reason.KEEPS_NAME:
        reason, message = choice.reason, choice.problem
    elif plan.host_network:
        reason = Reason.HOST_NETWORK
        writer = plan.source.words.writer
        message = f"the pod uses the node's network: {writer} gives it no secondary address"
    elif choice.network is None:
        reason, message = choice.reason, choice.problem
    else:
        return None
    return Decision("rendezvous", Outcome.SKIPPED, reason, message)


def _waits_for_devices(plan: Plan, job: TrainingPod | NotTraining, choice: Choice) -> bool:
    """Tell a rank that meets by an endpoint of its own, and is to know its RDMA devices."""
    meets_elsewhere = job.reason in (Reason.NO_MASTER, Reason.USER_VALUE)
    is_asked = bool(plan.profile.device_variables) and isinstance(job, TrainingPod)
    return is_asked and meets_elsewhere and choice.network in plan.attachments


def _without_rank_zero(pod: Object, plan: Plan, system: str) -> Rendezvous:
    """Return a rendezvous without rank 0, for a pod that needs to know what is its own.

    By its label the controller sees the pod, and publishes its address or RDMA devices. No address
    is moved, and none of another pod is waited for. Its key is that of what made the pod: which pod
    hosts the endpoint is not known, and nobody needs to know.
    """
    owner = podspec.controller(pod)
    name = owner.get("name") or plan.pod_name
    return Rendezvous(job_key(name, system, owner.get("uid") or name, "", ""), "worker", "")


def _orders_by_address(pod: Object, profile: Profile, attachment: Attachment | None) -> bool:
    """Tell whether c10d, which orders nodes as text, could put a name before rank 0's address.

    An IPv4 address sorts before every name but those that start with a digit. Source: torch
    distributed/elastic/rendezvous/dynamic_rendezvous.py, participants sorted by node address.
    """
    family = profile.rendezvous.ip_family
    is_ipv6_only = attachment is not None and attachment.network.ipv6_only
    if family == "IPv6" or (family == "any" and is_ipv6_only):
        return True
    # of a generateName the first character is known
    name = podspec.own_name(pod) or podspec.display_name(pod)
    return name[:1].isdigit()
