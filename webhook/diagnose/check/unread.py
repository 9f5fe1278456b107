"""Say what could not be looked at, and why: a check that was left out must not look like one that went well."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.core.finding import Finding
from webhook.diagnose.check.inventory import Inventory

TOPIC = "unread"


def check_unread(inventory: Inventory) -> Iterator[Finding]:
    """Warn of each kind that could not be read."""
    ours, around = inventory.installation, inventory.surroundings
    problems = {
        "namespaces": around.namespaces.problem,
        "profiles": inventory.profiles.problem,
        "networks": around.networks.problem,
        "nodes": around.nodes.problem,
        "DaemonSets, for Multus": around.daemon_sets.problem,
        "webhook configurations": ours.configurations.problem,
        "Deployments": ours.deployments.problem,
        "own pods": ours.pods.problem,
        "Services": ours.services.problem,
        "certificates": ours.secret.problem,
        "Lease": ours.lease.problem,
        "admission policies": ours.policies.problem or ours.bindings.problem,
        "ResourceQuotas": around.quotas.problem,
        "Kueue's queues": around.cluster_queues.problem or around.local_queues.problem,
        "Volcano's queues": around.volcano_queues.problem,
        "pods": around.pods.problem or around.earlier_pods.problem,
    }
    for part in inventory.unread:
        yield Finding("warn", TOPIC, part.what, part.problem)
    for what, problem in problems.items():
        if problem:
            action = "give this account the right to read it, or let somebody check who has it"
            yield Finding("warn", TOPIC, what, f"could not look: {problem}", action)
