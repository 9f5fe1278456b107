"""Judge an inventory: every topic in the order in which an admin would look. Pure: the same inventory, the same findings."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.core import names
from webhook.core.cluster.demand import NEVER_REACHED, Demand, find_demands, profile_users
from webhook.core.model import Object
from webhook.diagnose.check import certificates, multus, reachability
from webhook.diagnose.check.claims import (
    check_claim_quotas,
    check_claims,
    check_kueue_claims,
    check_templates,
    needed_templates,
)
from webhook.diagnose.check.configuration import (
    check_configuration,
    entries_of,
    is_called_for_opted_in_pods,
)
from webhook.diagnose.check.deployments import check_deployments, check_opt_in
from webhook.diagnose.check.devices import check_devices
from webhook.diagnose.check.earlier_pods import check_earlier_pods, is_unreached
from webhook.diagnose.check.injectors import check_injectors
from webhook.diagnose.check.inventory import Inventory
from webhook.diagnose.check.namespaces import check_namespaces
from webhook.diagnose.check.networks import check_networks, check_sources
from webhook.diagnose.check.privileges import check_account, check_installer, check_policies
from webhook.diagnose.check.profiles import check_definition, check_profiles
from webhook.diagnose.check.quotas import check_kueue, check_resource_quotas, check_volcano
from webhook.diagnose.check.timing import check_clock, check_lease
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding
from webhook.kube.webhook_configuration import read_webhook_configuration

OF_INSTALLATION = frozenset(
    (
        "webhook configurations",
        "Deployments",
        "own pods",
        "Services",
        "certificates",
        "Lease",
        "admission policies",
        "bindings of admission policies",
        "CustomResourceDefinition",
    )
)
"""Parts of the cluster on which nothing depends that is said of one namespace."""


def examine(inventory: Inventory) -> list[Finding]:
    """Return all findings, topic by topic."""
    is_installed = inventory.installation.is_there(inventory.subject)
    demands = _demands(inventory)
    ours = _installation(inventory) if is_installed else _before_installation(inventory)
    if inventory.subject.workload:
        ours = _reachability(inventory)
    return [
        check_clock(inventory.here, inventory.server_time),
        *ours,
        *_profiles(inventory, is_installed=is_installed),
        *_fabric(inventory, demands),
        *_claims(inventory),
        *_workloads(inventory, demands, is_installed=is_installed),
        *_unread(inventory),
    ]


def _profiles(inventory: Inventory, *, is_installed: bool) -> Iterator[Finding]:
    """Look at the profiles, and at the kind of object that they are."""
    definition, is_needed = inventory.installation.definition, inventory.installation.reads_objects
    is_missed = definition.absent and is_needed
    yield from check_profiles(
        inventory.profiles, is_installed=is_installed, definition_is_missed=is_missed
    )
    if not definition.problem:
        yield from check_definition(definition.value, is_needed=is_needed)


def _fabric(inventory: Inventory, demands: list[Demand]) -> Iterator[Finding]:
    """Look at what the profiles need of the cluster."""
    around, profiles = inventory.surroundings, inventory.profiles.profiles
    if not around.networks.installed:
        yield from multus.check_absent(profiles)
    else:
        yield from multus.check_multus(around.daemon_sets.known, around.multus, profiles)
    if profiles is None:
        return
    yield from check_sources(profiles)
    if around.networks.installed and around.networks.known is not None:
        definitions = {(each.namespace, each.name): each for each in around.networks.items}
        yield from check_networks(profiles, _users(inventory), definitions)
    if not around.nodes.problem:
        yield from check_devices(demands, around.nodes.items, around.device_offers)


def _claims(inventory: Inventory) -> Iterator[Finding]:
    """Look at the claims of the profiles."""
    around, profiles, users = inventory.surroundings, inventory.profiles.profiles, _users(inventory)
    if profiles is None or not any(profile.claims for profile in profiles.profiles.values()):
        return
    yield from check_claims(profiles, users, around.device_offers)
    if profiles.claims_problem:
        return
    if around.claim_templates is not None:
        yield from check_templates(needed_templates(profiles, users), around.claim_templates)
    yield from check_claim_quotas(around.quotas.items, profiles, users)
    if around.cluster_queues.installed and not around.cluster_queues.problem:
        yield from check_kueue_claims(
            around.local_queues.items, around.kueue_mappings, profiles, users
        )


def _before_installation(inventory: Inventory) -> Iterator[Finding]:
    subject = inventory.subject
    yield Finding(
        "ok",
        Code.NOT_INSTALLED,
        "fabric-injector",
        f"is not installed yet (no MutatingWebhookConfiguration {subject.configuration}, no Deployment in namespace "
        f"{subject.namespace}): its configuration, certificates, Deployments, Lease and accounts are looked at once it is",
    )
    if inventory.installation.installer is not None:
        yield check_installer(inventory.installation.installer)


def _installation(inventory: Inventory) -> Iterator[Finding]:
    """Look at our own objects."""
    subject, ours = inventory.subject, inventory.installation
    if ours.deployments.known is not None:
        nodes = inventory.surroundings.nodes.items
        yield from check_deployments(
            ours.deployments.items, ours.pods.items, subject.namespace, nodes
        )
    configuration = ours.configuration(subject.configuration)
    if configuration is not None:
        yield from check_configuration(configuration, subject.namespace, ours.services.known)
        if is_called_for_opted_in_pods(configuration):
            yield from check_opt_in(ours.deployments.items)
        yield from _certificates(inventory, configuration)
        yield from _reachability(inventory)
    elif ours.configurations.known is not None:
        message = "does not exist: the API servers send no pod to the webhook, and training pods stay as they are"
        title = f"MutatingWebhookConfiguration {subject.configuration}"
        yield Finding("fail", Code.CONFIGURATION_MISSING, title, message)
    if not ours.lease.problem:
        title = f"Lease {subject.namespace}/fabric-injector"
        yield check_lease(ours.lease.value, title, inventory.now)
    for account in ours.accounts:
        yield from check_account(account.role, account.name, account.needed, account.excessive)
    if ours.policies.known is not None and ours.bindings.known is not None:
        classes = {each.priority_class for each in ours.deployments.items}
        yield check_policies(set(ours.policies.items), set(ours.bindings.items), classes)


def _reachability(inventory: Inventory) -> Iterator[Finding]:
    """Say whether API servers reach the webhook, as far as its configuration can be read."""
    configuration = inventory.installation.configuration(inventory.subject.configuration)
    if configuration is None:
        return
    webhooks = [str(entry.get("name")) for entry in entries_of(configuration)]
    known = not inventory.surroundings.namespaces.problem
    yield from reachability.check_reachability(
        inventory.installation.attempts, webhooks, namespaces_known=known
    )


def _certificates(inventory: Inventory, configuration: Object) -> Iterator[Finding]:
    subject, secret = inventory.subject, inventory.installation.secret
    title = f"Secret {subject.namespace}/{names.TLS_SECRET}"
    read = read_webhook_configuration(configuration)
    if secret.absent:
        yield certificates.check_absent(title, keeper=read.keeper)
    yield from certificates.check_certificates(secret.value, title, read, inventory.now)


def _workloads(
    inventory: Inventory, demands: list[Demand], *, is_installed: bool
) -> Iterator[Finding]:
    """Look at the namespaces and at what runs in them or changes their pods."""
    around, ours, profiles = (
        inventory.surroundings,
        inventory.installation,
        inventory.profiles.profiles,
    )
    workload = inventory.subject.workload
    if workload and not around.namespaces.problem and not around.namespaces.items:
        message = f"does not carry the label {names.PROFILE}: its pods are not injected"
        action = f"kubectl label namespace {workload} {names.PROFILE}=PROFILE"
        yield Finding("warn", Code.NAMESPACES_UNLABELLED, f"namespace {workload}", message, action)
    elif not around.namespaces.problem:
        yield from check_namespaces(
            around.namespaces.items,
            profiles,
            inventory.subject.namespace,
            inventory.profiles.unusable,
        )
    if not ours.configurations.problem and not workload:
        yield from check_injectors(ours.configurations.items, inventory.subject.configuration)
    if profiles is not None:
        yield from check_resource_quotas(around.quotas.items, demands)
        if around.cluster_queues.installed and not around.cluster_queues.problem:
            queues = around.local_queues.items, around.cluster_queues.items
            yield from check_kueue(*queues, around.kueue_excludes, demands)
        if around.volcano_queues.installed and not around.volcano_queues.problem:
            yield from check_volcano(around.volcano_queues.items, demands)
    if is_installed and not around.pods.problem and not around.earlier_pods.problem:
        labelled = {each.name: each for each in around.namespaces.items}
        unreached = [pod for pod in around.pods.items if is_unreached(pod, labelled)]
        yield from check_earlier_pods(around.earlier_pods.items, unreached)


def _unread(inventory: Inventory) -> Iterator[Finding]:
    """Warn of each part that could not be read: a check that was left out must not look like one that went well."""
    for part in inventory.unread:
        if inventory.subject.workload and part.what in OF_INSTALLATION:
            continue
        yield Finding("warn", Code.UNREAD, part.what, part.problem, part.remedy)


def _users(inventory: Inventory) -> dict[str, list[str]]:
    never = (*NEVER_REACHED, inventory.subject.namespace)
    namespaces = [
        each for each in inventory.surroundings.namespaces.items if each.name not in never
    ]
    return profile_users((each.name, each.labels) for each in namespaces)


def _demands(inventory: Inventory) -> list[Demand]:
    profiles = inventory.profiles.profiles
    definitions = {
        (each.namespace, each.name): each for each in inventory.surroundings.networks.items
    }
    return [] if profiles is None else find_demands(profiles, _users(inventory), definitions)
