"""Decide about one pod, in stages: profile, job, container, attachments, rendezvous."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from webhook.core import bounds, names, podspec
from webhook.core.accelerators import count_accelerators, find_accelerator, find_pod_accelerator
from webhook.core.addresses import Choice, claim
from webhook.core.errors import Denied
from webhook.core.injection import claims, whole
from webhook.core.job_key import job_key
from webhook.core.model import Decision, Namespace, Object, Outcome, Reason, World
from webhook.core.networks import Attachment, resolve_networks
from webhook.core.networks.annotation import parse_networks
from webhook.core.plan import Plan
from webhook.core.profiles import Profile, Profiles
from webhook.core.profiles.slips import choose_profile
from webhook.core.training_container import choose_container
from webhook.core.workloads import NotTraining, TrainingPod, recognise
from webhook.core.workloads.marks import find_mark
from webhook.core.workloads.nodes import stays_on_one_node
from webhook.core.workloads.training_pod import Rendezvous

STEP: Final = "profile"
_RENDEZVOUS: Final = "rendezvous"
_MEETS_ELSEWHERE: Final = (Reason.NO_MASTER, Reason.USER_VALUE)
"""Why one rank of several has no rendezvous of ours: its own text or variable says where."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave a pod alone, for a reason."""

    decision: Decision
    system: str = ""
    profile: str = ""


def make_plan(
    pod: Object,
    namespace: Namespace,
    profiles: Profiles,
    world: World,
    override: str | None = None,
) -> Plan | Skip:
    """Decide what the pod gets. *override* names a profile in place of the labels (the dry run's).

    Raises Denied for a pod that can never work, Unavailable where the cluster cannot be asked.
    """
    profile = select_profile(pod, namespace, profiles, override)
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
        profile=profile,
        chosen_by=_chosen_by(pod, profile, override),
        namespace=namespace,
        pod_name=podspec.display_name(pod),
        container=container,
        container_name=podspec.containers(pod)[container].get("name") or "",
        host_network=podspec.is_host_network(pod),
        training_pod=training_pod,
        own_image=profiles.own_image,
        allowed=profiles.allowed,
        claims_problem=profiles.claims_problem,
    )
    if job.warning:
        plan.warnings += (Decision(STEP, Outcome.WARNED, Reason.NO_SIZE, job.warning),)
    choice = _attach(pod, plan, profiles, world)
    _meet(pod, plan, job, choice, world)
    return _give_whole(pod, plan, job)


def _find_job(
    pod: Object, profile: Profile, namespace: Namespace
) -> TrainingPod | NotTraining | Skip:
    """Find the pod's part in its job; a pod that is left alone is not denied for its size.

    NotTraining is answered for a pod that its user, or the admin for all pods, wants injected.
    """
    excess = bounds.excess(pod)
    seen = bounds.within(pod) if excess else pod
    job = recognise(seen)
    if isinstance(job, NotTraining) and not _is_wanted(seen, profile, namespace, job):
        return _leave(seen, profile, job)
    if excess:
        raise Denied(STEP, Reason.TOO_LARGE, _too_large(pod, excess))
    if not podspec.containers(pod):
        return _skip(Reason.INVALID_POD, "the pod has no containers", job.system, profile.name)
    if twice := podspec.names_twice(pod):
        advice = "Kubernetes takes a name once in a pod: give each its own"
        message = f"pod {podspec.display_name(pod)}: {twice}; {advice}"
        raise Denied(STEP, Reason.INVALID_POD, message)
    return job


def _why_unfit(
    pod: Object, profile: Profile, container: int, job: TrainingPod | NotTraining
) -> Skip | None:
    """Skip a pod that the profile is not made for."""
    if profile.accelerators is not None and (
        other := _with_other_accelerators(pod, profile, container, job)
    ):
        return other
    asked = [key for key in profile.annotations if key.startswith(names.GKE_NETWORKING)]
    if asked and podspec.is_host_network(pod):
        return _on_node_network(pod, profile, asked, job)
    return None


def _attach(pod: Object, plan: Plan, profiles: Profiles, world: World) -> Choice:
    """Decide about networks, and where the pod's address comes from."""
    networks = resolve_networks(
        pod, plan.profile, profiles.multus, plan.namespace.name, world.network
    )
    plan.networks, plan.attachments = networks.value, networks.attachments
    will_be = pod
    if plan.profile.claims and plan.profile.rendezvous.address_source == claim.NAME:
        will_be = claims.with_references(pod, plan)
    choice = plan.source.choose(will_be, plan.profile, networks)
    plan.rendezvous_network, plan.other_interfaces = choice.network, choice.interfaces
    return choice


def _meet(
    pod: Object, plan: Plan, job: TrainingPod | NotTraining, choice: Choice, world: World
) -> None:
    """Decide about the rendezvous."""
    plan.why_no_rendezvous = _why_no_rendezvous(pod, plan, job, choice)
    if isinstance(job, NotTraining):
        return
    if plan.why_no_rendezvous is not None:
        if plan.profile.device_variables and (watched := _only_for_devices(pod, plan, job, choice)):
            plan.rendezvous, plan.why_no_rendezvous = watched, None
        return
    plan.rendezvous = job.rendezvous
    plan.local_address_everywhere = _orders_by_address(pod, plan.profile, choice.network)
    if job.rendezvous is not None and job.rendezvous.role == "worker":
        plan.master = world.master(plan.namespace.name, job.rendezvous.job)


def _give_whole(pod: Object, plan: Plan, job: TrainingPod | NotTraining) -> Plan | Skip:
    """Give the fabric whole, or networks only."""
    profile = plan.profile
    if not (profile.quantities or profile.volumes or profile.sidecars):
        return plan
    lacking = whole.find_lacking(pod, plan)
    if lacking is None:
        return plan
    if not plan.attachments and plan.rendezvous_network is None:
        return Skip(whole.left_alone(plan, lacking), job.system, profile.name)
    return whole.without_parts(plan, lacking)


def _too_large(pod: Object, excess: str) -> str:
    advice = f"make it smaller, or label it {names.PROFILE}={names.PROFILE_NONE} to leave it alone"
    return f"pod {podspec.display_name(pod)}: {excess}; {advice}"


def select_profile(
    pod: Object, namespace: Namespace, profiles: Profiles, override: str | None
) -> Profile | Skip:
    """Choose the profile: *override*, the pod's label, podLabels that it carries, the namespace's.

    Raises Denied for a name that no profile has, several that the pod chooses, and a profile that
    the namespace may not use.
    """
    of_pod, of_namespace = (
        podspec.labels(pod).get(names.PROFILE),
        namespace.labels.get(names.PROFILE),
    )
    chosen = None
    if profiles.by_pod_label and override is None and of_pod is None:
        chosen = _chosen_by_labels(pod, profiles, namespace.name)
    if override is not None:
        name, where = override, "the dry run's profile"
    elif of_pod is not None:
        name, where = of_pod, f"pod {podspec.display_name(pod)}: label {names.PROFILE}"
    elif chosen is not None:
        name, where = (
            chosen.name,
            f"pod {podspec.display_name(pod)}: podLabels of profile {chosen.name}",
        )
    elif of_namespace is not None:
        name, where = of_namespace, f"namespace {namespace.name}: label {names.PROFILE}"
    else:
        return _skip(
            Reason.NO_PROFILE,
            f"neither the pod nor namespace {namespace.name} carries the label {names.PROFILE}",
        )
    if name == names.PROFILE_NONE:
        return _skip(Reason.OPTED_OUT, f"{where} is {names.PROFILE_NONE}")
    profile = profiles.profiles.get(name)
    if profile is None:
        advice = choose_profile(name[:64], profiles.usable_in(namespace.name))
        raise Denied(
            STEP, Reason.UNKNOWN_PROFILE, f"{where}: no profile is named {name[:64]!r}; {advice}"
        )
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
    if any(not profile.pod_labels.items() <= best.pod_labels.items() for profile in found):
        usable = " or ".join(sorted(profile.name for profile in found if profile.is_for(namespace)))
        labels = f"its labels are the podLabels of {len(found)} profiles"
        which = f"pod {podspec.display_name(pod)}: {labels}"
        advice = (
            f"label the pod {names.PROFILE} with {usable or 'a profile that its namespace may use'}"
        )
        raise Denied(STEP, Reason.AMBIGUOUS_PROFILE, f"{which}; {advice}")
    return best


def _is_wanted(
    pod: Object, profile: Profile, namespace: Namespace, recognised: NotTraining
) -> bool:
    """Tell whether its user, or the admin for all, wants a pod injected that may not train."""
    labels = podspec.labels(pod)
    if labels.get(names.PROFILE):
        return True
    if recognised.reason is Reason.TPU:
        return False
    return (
        profile.pods == "all"
        or profile.is_chosen_by(labels)
        or _names_network(pod, profile, namespace)
    )


def _names_network(pod: Object, profile: Profile, namespace: Namespace) -> bool:
    """Tell whether the pod's own annotation names a network of the profile."""
    try:
        named = parse_networks(
            podspec.annotations(pod).get(names.NETWORKS) or "", namespace.name
        ).elements
    except ValueError:
        return False
    ours = {(one.namespace or namespace.name, one.name) for one in profile.networks}
    return any((one.namespace, one.name) in ours for one in named)


def _leave(pod: Object, profile: Profile, job: NotTraining) -> Skip:
    """Skip a pod that is not known to train; with a warning where it may all the same."""
    how = f"label the pod {names.PROFILE}={profile.name} to inject it all the same"
    if looks := looks_like_training(pod, job):
        alone = f"{names.PROFILE}={names.PROFILE_NONE} to leave it alone"
        message = f"{job.message}, though it {looks}; {how}, or {alone}"
    elif job.warning:
        message = f"{job.message}; {job.warning}"
    else:
        return _skip(job.reason, f"{job.message}; {how}", job.system, profile.name)
    decision = Decision(STEP, Outcome.WARNED, job.reason, message)
    return Skip(decision, job.system, profile.name)


def looks_like_training(pod: Object, job: NotTraining) -> str:
    """Say why a pod that is left alone may train, ``asks for amd.com/gpu and sets NNODES``."""
    accelerator = find_pod_accelerator(pod)
    if accelerator is None or job.reason in (Reason.ROLE, Reason.TPU, Reason.SINGLE_NODE):
        return ""
    mark = next(filter(None, map(find_mark, podspec.containers(pod))), "")
    return f"asks for {accelerator} and {mark}" if mark and not stays_on_one_node(pod) else ""


def _with_other_accelerators(
    pod: Object, profile: Profile, container: int, recognised: TrainingPod | NotTraining
) -> Skip | None:
    """Skip a pod whose training container does not ask for the profile's number of accelerators.

    The container alone decides, so that members of a job with the same container get the same.
    """
    own, wanted = podspec.containers(pod)[container], profile.accelerators
    found = count_accelerators(own)
    if found == wanted:
        return None
    accelerator = find_accelerator(own)
    asks = (
        f"{found} accelerators"
        if found
        else f"{accelerator} in a number that is not certain"
        if accelerator
        else "none"
    )
    message = (
        f"pod {podspec.display_name(pod)}: profile {profile.name} is for {wanted} accelerators, "
        f"and container {own.get('name')} asks for {asks}: the pod is left alone; "
        f"ask for {wanted}, as of a whole node, or label the pod {names.PROFILE} with another "
        f"profile or {names.PROFILE_NONE}"
    )
    warns = isinstance(recognised, TrainingPod) or find_pod_accelerator(pod) is not None
    outcome = Outcome.WARNED if warns else Outcome.SKIPPED
    return Skip(
        Decision(STEP, outcome, Reason.OTHER_ACCELERATORS, message), recognised.system, profile.name
    )


def _on_node_network(
    pod: Object, profile: Profile, asked: list[str], recognised: TrainingPod | NotTraining
) -> Skip:
    """Skip a pod without a network of its own, whose profile asks the cluster for interfaces in it.

    The rest of such a profile, sidecars and variables, speaks of these interfaces.
    """
    message = (
        f"pod {podspec.display_name(pod)}: it uses the node's network (hostNetwork: true), "
        f"and profile {profile.name} asks for interfaces of the pod's own ({', '.join(asked)}): "
        f"the pod is left alone; remove hostNetwork, or label the pod {names.PROFILE} with another "
        f"profile or {names.PROFILE_NONE}"
    )
    return Skip(
        Decision(STEP, Outcome.WARNED, Reason.HOST_NETWORK, message),
        recognised.system,
        profile.name,
    )


def _skip(reason: Reason, message: str, system: str = "", profile: str = "") -> Skip:
    return Skip(Decision(STEP, Outcome.SKIPPED, reason, message), system, profile)


def _why_no_rendezvous(
    pod: Object, plan: Plan, job: TrainingPod | NotTraining, choice: Choice
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
        writer = plan.source.WORDS.writer
        message = f"the pod uses the node's network: {writer} gives it no secondary address"
    elif podspec.is_windows(pod):
        reason, message = Reason.WINDOWS, "a Windows pod cannot run the wait step"
    elif choice.network is None:
        reason, message = choice.reason, choice.problem
    else:
        return None
    return Decision(_RENDEZVOUS, Outcome.SKIPPED, reason, message)


def _only_for_devices(
    pod: Object, plan: Plan, job: TrainingPod, choice: Choice
) -> Rendezvous | None:
    """Return a rendezvous without rank 0, for a rank that meets by an endpoint of its own.

    By its label the controller sees the pod, and publishes its RDMA devices; no address is moved,
    and none is waited for. Its key is that of what made the pod: which pod hosts the endpoint is
    not known, and nobody needs to know.
    """
    if job.reason not in _MEETS_ELSEWHERE or choice.network not in plan.attachments:
        return None
    owner = podspec.controller(pod)
    name, uid = owner.get("name") or plan.pod_name, owner.get("uid") or ""
    made = Rendezvous(job_key(name, job.system, uid or name, "", ""), "worker", "")
    return None if _why_no_rendezvous(pod, plan, replace(job, rendezvous=made), choice) else made


def _orders_by_address(pod: Object, profile: Profile, attachment: Attachment | None) -> bool:
    """Tell whether c10d, which orders nodes as text, could put a name before rank 0's address.

    An IPv4 address sorts before every name but those that start with a digit. Source: torch
    distributed/elastic/rendezvous/dynamic_rendezvous.py, participants sorted by node address.
    """
    family = profile.rendezvous.ip_family
    if family == "IPv6" or (
        family == "any" and attachment is not None and attachment.network.ipv6_only
    ):
        return True
    name = podspec.own_name(pod) or podspec.display_name(
        pod
    )  # of a generateName the first character is known
    return name[:1].isdigit()
