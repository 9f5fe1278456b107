"""Decide about one pod: which profile, which member of which job, and all that the injection steps carry out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from webhook.core import bounds, names, podspec
from webhook.core.accelerators import count_accelerators, find_accelerator, find_pod_accelerator
from webhook.core.addresses import Choice, claim, source_named
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
from webhook.core.workloads.launchers import run_on_one_node
from webhook.core.workloads.marks import find_mark
from webhook.core.workloads.training_pod import Rendezvous

STEP: Final = "profile"
_RENDEZVOUS: Final = "rendezvous"
_MEETS_ELSEWHERE: Final = (Reason.NO_MASTER, Reason.USER_VALUE)
"""Why a training pod has no rendezvous of ours, though it is one rank of several: its own text or variable says where they meet."""


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
    chosen_by = _chosen_by(pod, profile, override)
    # a pod that is left alone is not denied for its size
    excess = bounds.excess(pod)
    seen = bounds.within(pod) if excess else pod
    recognised = recognise(seen)
    if isinstance(recognised, NotTraining) and not _is_wanted(seen, profile, namespace, recognised):
        return _leave(seen, profile, recognised)
    if excess:
        raise Denied(STEP, Reason.TOO_LARGE, _too_large(pod, excess))
    if not podspec.containers(pod):
        return _skip(
            Reason.INVALID_POD, "the pod has no containers", recognised.system, profile.name
        )
    if twice := podspec.names_twice(pod):
        advice = "Kubernetes takes a name once in a pod: give each its own"
        raise Denied(
            STEP, Reason.INVALID_POD, f"pod {podspec.display_name(pod)}: {twice}; {advice}"
        )
    training_pod = recognised if isinstance(recognised, TrainingPod) else None
    container = choose_container(pod, profile, training_pod)
    if profile.accelerators is not None and (
        other := _with_other_accelerators(pod, profile, container, recognised)
    ):
        return other
    host_network = podspec.is_host_network(pod)
    if host_network and (
        asked := [key for key in profile.annotations if key.startswith(names.GKE_NETWORKING)]
    ):
        return _on_node_network(pod, profile, asked, recognised)
    networks = resolve_networks(pod, profile, profiles.multus, namespace.name, world.network)
    will_be = pod
    if profile.claims and profile.rendezvous.address_source == claim.NAME:
        will_be = claims.with_references(
            pod,
            Plan(
                profile=profile,
                namespace=namespace,
                pod_name=podspec.display_name(pod),
                container=container,
                container_name=podspec.containers(pod)[container].get("name") or "",
                attachments=networks.attachments,
                training_pod=training_pod,
                claims_problem=profiles.claims_problem,
            ),
        )
    choice = source_named(profile.rendezvous.address_source).choose(will_be, profile, networks)
    why_none = _why_no_rendezvous(pod, profile, recognised, choice, host_network=host_network)
    rendezvous = training_pod.rendezvous if training_pod is not None and why_none is None else None
    is_worker = rendezvous is not None and rendezvous.role == "worker"
    watched = None
    if why_none is not None and training_pod is not None and profile.device_variables:
        watched = _only_for_devices(
            pod, profile, training_pod, choice, networks.attachments, host_network=host_network
        )
    plan = Plan(
        profile=profile,
        chosen_by=chosen_by,
        namespace=namespace,
        pod_name=podspec.display_name(pod),
        container=container,
        container_name=podspec.containers(pod)[container].get("name") or "",
        host_network=host_network,
        networks=networks.value,
        attachments=networks.attachments,
        rendezvous_network=choice.network,
        other_interfaces=choice.interfaces,
        training_pod=training_pod,
        rendezvous=watched or rendezvous,
        why_no_rendezvous=None if watched is not None else why_none,
        local_address_everywhere=rendezvous is not None
        and _orders_by_address(pod, profile, choice.network),
        master=world.master(namespace.name, rendezvous.job)
        if rendezvous is not None and is_worker
        else None,
        own_image=profiles.own_image,
        allowed=profiles.allowed,
        claims_problem=profiles.claims_problem,
    )
    if not (profile.quantities or profile.volumes or profile.sidecars) or not (
        lacking := whole.find_lacking(pod, plan)
    ):
        return plan
    if not plan.attachments and plan.rendezvous_network is None:
        return Skip(whole.left_alone(plan, lacking), recognised.system, profile.name)
    return whole.without_parts(plan, lacking)


def _too_large(pod: Object, excess: str) -> str:
    advice = f"make it smaller, or label it {names.PROFILE}={names.PROFILE_NONE} to leave it alone"
    return f"pod {podspec.display_name(pod)}: {excess}; {advice}"


def select_profile(
    pod: Object, namespace: Namespace, profiles: Profiles, override: str | None
) -> Profile | Skip:
    """Choose the profile: *override*, else the pod's label, else a profile whose podLabels it carries, else the namespace's.

    Raises Denied for a name that no profile has, several that the pod chooses, and a profile that the namespace may not use.
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
        which = f"pod {podspec.display_name(pod)}: its labels are the podLabels of {len(found)} profiles"
        advice = (
            f"label the pod {names.PROFILE} with {usable or 'a profile that its namespace may use'}"
        )
        raise Denied(STEP, Reason.AMBIGUOUS_PROFILE, f"{which}; {advice}")
    return best


def _is_wanted(
    pod: Object, profile: Profile, namespace: Namespace, recognised: NotTraining
) -> bool:
    """Tell whether the user, or the admin for all pods, asks for the injection of a pod that is not known to train."""
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
    """Tell whether the pod's own annotation names a network of the profile: such a pod is completed, whatever made it."""
    try:
        named = parse_networks(
            podspec.annotations(pod).get(names.NETWORKS) or "", namespace.name
        ).elements
    except ValueError:
        return False
    ours = {(one.namespace or namespace.name, one.name) for one in profile.networks}
    return any((one.namespace, one.name) in ours for one in named)


def _leave(pod: Object, profile: Profile, recognised: NotTraining) -> Skip:
    """Skip a pod that is not known to train; with a warning where it looks as if it did."""
    how = f"label the pod {names.PROFILE}={profile.name} to inject it all the same"
    looks = looks_like_training(pod, recognised)
    if not looks:
        return _skip(
            recognised.reason, f"{recognised.message}; {how}", recognised.system, profile.name
        )
    message = f"{recognised.message}, though it {looks}; {how}, or {names.PROFILE}={names.PROFILE_NONE} to leave it alone"
    return Skip(
        Decision(STEP, Outcome.WARNED, recognised.reason, message), recognised.system, profile.name
    )


def looks_like_training(pod: Object, recognised: NotTraining) -> str:
    """Say by what a pod that is not known to train looks as if it did, ``asks for nvidia.com/gpu and starts a launcher``; else ""."""
    containers = podspec.containers(pod)
    accelerator = (
        find_pod_accelerator(pod) if recognised.reason not in (Reason.ROLE, Reason.TPU) else None
    )
    mark = next(filter(None, map(find_mark, containers)), "") if accelerator is not None else ""
    return "" if not mark or run_on_one_node(containers) else f"asks for {accelerator} and {mark}"


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
        f"pod {podspec.display_name(pod)}: profile {profile.name} is for {wanted} accelerators, and container {own.get('name')} asks "
        f"for {asks}: the pod is left alone; ask for {wanted}, as of a whole node, or label the pod {names.PROFILE} with another "
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
        f"pod {podspec.display_name(pod)}: it uses the node's network (hostNetwork: true), and profile {profile.name} asks for "
        f"interfaces of the pod's own ({', '.join(asked)}): the pod is left alone; remove hostNetwork, or label the pod "
        f"{names.PROFILE} with another profile or {names.PROFILE_NONE}"
    )
    return Skip(
        Decision(STEP, Outcome.WARNED, Reason.HOST_NETWORK, message),
        recognised.system,
        profile.name,
    )


def _skip(reason: Reason, message: str, system: str = "", profile: str = "") -> Skip:
    return Skip(Decision(STEP, Outcome.SKIPPED, reason, message), system, profile)


def _why_no_rendezvous(
    pod: Object,
    profile: Profile,
    recognised: TrainingPod | NotTraining,
    choice: Choice,
    *,
    host_network: bool,
) -> Decision | None:
    if isinstance(recognised, NotTraining) or recognised.rendezvous is None:
        reason, message = recognised.reason, recognised.message
    elif not profile.rendezvous.enabled:
        reason, message = (
            Reason.DISABLED,
            f"profile {profile.name} says rendezvous: {{enabled: false}}",
        )
    elif choice.reason is Reason.KEEPS_NAME:
        reason, message = choice.reason, choice.problem
    elif host_network:
        writer = source_named(profile.rendezvous.address_source).WORDS.writer
        reason, message = (
            Reason.HOST_NETWORK,
            f"the pod uses the node's network: {writer} gives it no secondary address",
        )
    elif podspec.is_windows(pod):
        reason, message = Reason.WINDOWS, "a Windows pod cannot run the wait step"
    elif choice.network is None:
        reason, message = choice.reason, choice.problem
    else:
        return None
    return Decision(_RENDEZVOUS, Outcome.SKIPPED, reason, message)


def _only_for_devices(
    pod: Object,
    profile: Profile,
    training_pod: TrainingPod,
    choice: Choice,
    attachments: tuple[Attachment, ...],
    *,
    host_network: bool,
) -> Rendezvous | None:
    """Return a rendezvous without rank 0, for a rank that meets by an endpoint of its own, as c10d's, and is to know its RDMA devices.

    By its label the controller sees the pod; no address is moved, and none is waited for. Its key is that of what made the pod: which
    pod hosts the endpoint is not known, and nobody needs to know.
    """
    if training_pod.reason not in _MEETS_ELSEWHERE or choice.network not in attachments:
        return None
    owner = podspec.controller(pod)
    name, uid = owner.get("name") or podspec.display_name(pod), owner.get("uid") or ""
    made = Rendezvous(job_key(name, training_pod.system, uid or name, "", ""), "worker", "")
    as_member = replace(training_pod, rendezvous=made)
    return (
        None
        if _why_no_rendezvous(pod, profile, as_member, choice, host_network=host_network)
        else made
    )


def _orders_by_address(pod: Object, profile: Profile, attachment: Attachment | None) -> bool:
    """Tell whether c10d, which orders nodes by address as text, could put a name before rank 0's address.

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
