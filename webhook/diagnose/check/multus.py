"""Look for Multus, by which pods get second networks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from webhook.core.addresses import DEFAULT
from webhook.core.model import Object
from webhook.core.profiles import Profiles
from webhook.diagnose.check.needs import known_profiles, knows_networks
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.snapshot import Snapshot
from webhook.diagnose.wording import counted, listed
from webhook.kube.catalogue import DAEMON_SETS

MULTUS_MISSING = Code(
    "multus-missing",
    "multus",
    "Multus is not installed, so pods get no second network.",
    "install Multus, and see that it runs on every node with a fabric",
)
MULTUS_NOT_READY = Code(
    "multus-not-ready",
    "multus",
    "Pods of Multus are not ready, so pods on their nodes get no second network.",
    "look at the pods of its DaemonSet",
)


class DaemonSet(NamedTuple):
    """Hold a DaemonSet that runs Multus: its *title*, pods *wanted* and *ready*."""

    title: str
    wanted: int
    ready: int


def read_daemon_set(obj: Object) -> DaemonSet | None:
    """Keep what matters; None for one that is not Multus."""
    metadata, status = obj["metadata"], obj.get("status") or {}
    pod = ((obj.get("spec") or {}).get("template") or {}).get("spec") or {}
    if not any(map(_is_multus, pod.get("containers") or ())):
        return None
    title = f"DaemonSet {metadata.get('namespace') or ''}/{metadata['name']}"
    wanted, ready = (status.get(key) or 0 for key in ("desiredNumberScheduled", "numberReady"))
    return DaemonSet(title, wanted, ready)


def _is_multus(container: Object) -> bool:
    """Tell by the container's name, which OpenShift has too, or by its image."""
    image = str(container.get("image") or "").rpartition("/")[2].partition("@")[0].partition(":")[0]
    is_named = container.get("name") == "kube-multus"
    return is_named or image == "multus" or image.endswith("multus-cni")


def check_multus(snapshot: Snapshot) -> Iterator[Finding]:
    """Say whether Multus runs where a profile needs it, by a DaemonSet."""
    profiles = known_profiles(snapshot)
    asking = [each.name for each in profiles.profiles.values() if each.networks]
    if not knows_networks(snapshot):
        message = "is not installed: it has no NetworkAttachmentDefinitions"
        if asking:
            whose = f"{counted(len(asking), 'profile')} ({listed(asking)})"
            yield MULTUS_MISSING.fail("Multus", f"{message}, which {whose} need")
        elif not is_unused(profiles):
            yield MULTUS_MISSING.warn("Multus", message)
        return
    found = snapshot.list_all(DAEMON_SETS, read_daemon_set, partly=True)
    if not found and not is_unused(profiles):
        yield MULTUS_MISSING.warn("Multus", "no DaemonSet of it was found")
    for each in found:
        ready = f"is Multus, ready on {each.ready} of {counted(each.wanted, 'node')}"
        if each.ready >= each.wanted > 0:
            yield ok("multus", each.title, ready)
        else:
            yield MULTUS_NOT_READY.warn(each.title, ready)


def is_unused(profiles: Profiles) -> bool:
    """Tell whether there are profiles, and Multus attaches a network for none of them."""
    known = profiles.profiles.values()
    return bool(known) and not any(
        each.networks or (each.rendezvous.enabled and each.rendezvous.address_source == DEFAULT)
        for each in known
    )
