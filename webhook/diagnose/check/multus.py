"""Look for Multus, and compare its own configuration with what the Configuration says of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from webhook.core.addresses import DEFAULT
from webhook.core.model import Object
from webhook.core.profiles import Profiles
from webhook.diagnose.check.needs import config_map, known_profiles, knows_networks
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
MULTUS_DIFFERS = Code(
    "multus-differs",
    "multus",
    "The Configuration says something else of Multus than its own configuration.",
    "write under multus: in the Configuration what this cluster's Multus has",
)
_ISOLATION, _GLOBALS = "namespaceIsolation", "globalNamespaces"
_FLAGS = {"--namespace-isolation": _ISOLATION, "--global-namespaces": _GLOBALS}
_OPEN = "default"
"""Namespace that is open to others where none is named. Source: multus-cni pkg/types/conf.go."""


class Settings(NamedTuple):
    """Hold what a place says of Multus; None: it says nothing."""

    source: str
    isolation: bool | None = None
    global_namespaces: tuple[str, ...] = ()
    default_networks: int | None = None


class DaemonSet(NamedTuple):
    """Hold a DaemonSet that runs Multus; *config_maps*: those that it mounts."""

    namespace: str
    title: str
    wanted: int
    ready: int
    settings: Settings
    config_maps: tuple[str, ...]


def read_daemon_set(obj: Object) -> DaemonSet | None:
    """Keep what matters; None for one that is not Multus."""
    metadata, status = obj["metadata"], obj.get("status") or {}
    pod = ((obj.get("spec") or {}).get("template") or {}).get("spec") or {}
    containers = pod.get("containers") or ()
    if not any(map(_is_multus, containers)):
        return None
    title = f"DaemonSet {metadata.get('namespace')}/{metadata.get('name')}"
    texts = [
        text for each in containers for key in ("command", "args") for text in each.get(key) or ()
    ]
    mounted = [(each.get("configMap") or {}).get("name") for each in pod.get("volumes") or ()]
    return DaemonSet(
        metadata.get("namespace") or "",
        title,
        status.get("desiredNumberScheduled") or 0,
        status.get("numberReady") or 0,
        settings_of_arguments(f"arguments of {title}", texts),
        tuple(filter(None, mounted)),
    )


def _is_multus(container: Object) -> bool:
    """Tell by the container's name, which OpenShift has too, or by its image."""
    image = str(container.get("image") or "").rpartition("/")[2].partition("@")[0].partition(":")[0]
    is_named = container.get("name") == "kube-multus"
    return is_named or image == "multus" or image.endswith("multus-cni")


def settings_of_arguments(source: str, texts: Sequence[str]) -> Settings:
    """Read the flags of the thin plugin. Source: multus-cni cmd/thin_entrypoint/main.go."""
    found: dict[str, str] = {}
    words = [word for text in texts for word in text.split()]
    for word, following in zip(words, [*words[1:], ""], strict=False):
        flag, equals, value = word.partition("=")
        if key := _FLAGS.get(flag):
            found[key] = value if equals else ("true" if key == _ISOLATION else following)
    isolation = found.get(_ISOLATION)
    is_set = None if isolation is None else isolation.strip("\"'").lower() == "true"
    return Settings(source, is_set, _split(found.get(_GLOBALS, "")))


def settings_of_map(title: str, data: Mapping[str, str]) -> Iterator[Settings]:
    """Read each JSON object of a ConfigMap that Multus mounts."""
    for key, text in data.items():
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            isolation, networks = value.get(_ISOLATION), value.get("defaultNetworks")
            yield Settings(
                f"{title}, {key}",
                isolation if isinstance(isolation, bool) else None,
                _split(str(value.get(_GLOBALS) or "")),
                len(networks) if isinstance(networks, list) else None,
            )


def _split(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.strip("\"'").split(","))))


def check_multus(snapshot: Snapshot) -> Iterator[Finding]:
    """Say whether Multus runs where a profile needs it, and whether its settings are known."""
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
    yield from compare([one for each in found for one in _settings(snapshot, each)], profiles)


def is_unused(profiles: Profiles) -> bool:
    """Tell whether there are profiles, and Multus attaches a network for none of them."""
    known = profiles.profiles.values()
    return bool(known) and not any(
        each.networks or (each.rendezvous.enabled and each.rendezvous.address_source == DEFAULT)
        for each in known
    )


def _settings(snapshot: Snapshot, daemon_set: DaemonSet) -> Iterator[Settings]:
    yield daemon_set.settings
    for name in daemon_set.config_maps:
        title = f"ConfigMap {daemon_set.namespace}/{name}"
        yield from settings_of_map(title, config_map(snapshot, (daemon_set.namespace, name)))


def compare(found: Sequence[Settings], profiles: Profiles) -> Iterator[Finding]:
    """Name each setting of the Configuration that Multus has otherwise; none where none was found."""
    ours = profiles.multus
    isolating = next((each for each in found if each.isolation), None)
    if found and (isolating is not None) != ours.namespace_isolation:
        is_set = "true" if isolating else "false"
        source = isolating.source if isolating else found[-1].source
        yield _differs(_ISOLATION, str(ours.namespace_isolation).lower(), is_set, source)
    elif isolating is not None:
        named = {name for each in found if each.isolation for name in each.global_namespaces}
        theirs, own = sorted(named or {_OPEN}), sorted(ours.global_namespaces)
        if theirs != own:
            yield _differs(_GLOBALS, str(own), str(theirs), isolating.source)
    for each in found:
        number = each.default_networks
        if number is not None and number != ours.default_networks:
            yield _differs("defaultNetworks", str(ours.default_networks), str(number), each.source)


def _differs(setting: str, ours: str, theirs: str, source: str) -> Finding:
    message = f"is {ours} in the Configuration, and {theirs} in {source}"
    action = f"write multus: {{{setting}: {theirs}}} in the Configuration"
    return MULTUS_DIFFERS.fail(f"multus.{setting}", message, action)
