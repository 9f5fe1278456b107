"""Look for Multus, and compare its own configuration with what the Configuration says of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from webhook.core.addresses import DEFAULT
from webhook.core.model import Object
from webhook.core.profiles import Multus, Profiles
from webhook.diagnose.check.needs import config_map, known_profiles, knows_networks
from webhook.diagnose.finding import Code, Finding, Level, ok
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
    "The Configuration differs from Multus' own configuration.",
    "write under multus: in the Configuration what this cluster's Multus has",
)
_ISOLATION, _GLOBALS = "namespaceIsolation", "globalNamespaces"
_FLAGS = {"--namespace-isolation": _ISOLATION, "--global-namespaces": _GLOBALS}
_OPEN = "default"
"""Namespace that is open to others where none is named. Source: multus-cni pkg/types/conf.go."""


class Said(NamedTuple):
    """Hold what a place says of Multus; None: nothing."""

    source: str
    isolation: bool | None = None
    global_namespaces: frozenset[str] = frozenset()
    default_networks: int | None = None


class DaemonSet(NamedTuple):
    """Hold a DaemonSet that runs Multus; *config_maps*: those that it mounts."""

    namespace: str
    title: str
    wanted: int
    ready: int
    said: Said
    config_maps: list[str]


def read_daemon_set(obj: Object) -> DaemonSet | None:
    """Keep what matters; None for one that is not Multus."""
    metadata, status = obj["metadata"], obj.get("status") or {}
    pod = ((obj.get("spec") or {}).get("template") or {}).get("spec") or {}
    containers = pod.get("containers") or ()
    if not any(map(_is_multus, containers)):
        return None
    namespace = metadata.get("namespace") or ""
    title = f"DaemonSet {namespace}/{metadata['name']}"
    texts = [*(each.get(key) or () for each in containers for key in ("command", "args"))]
    mounted = [(each.get("configMap") or {}).get("name") for each in pod.get("volumes") or ()]
    return DaemonSet(
        namespace,
        title,
        status.get("desiredNumberScheduled") or 0,
        status.get("numberReady") or 0,
        _by_arguments(title, [word for each in texts for text in each for word in text.split()]),
        [*filter(None, mounted)],
    )


def _is_multus(container: Object) -> bool:
    """Tell by the container's name, which OpenShift has too, or by its image."""
    image = str(container.get("image") or "").rpartition("/")[2].partition("@")[0].partition(":")[0]
    is_named = container.get("name") == "kube-multus"
    return is_named or image == "multus" or image.endswith("multus-cni")


def _by_arguments(title: str, words: Sequence[str]) -> Said:
    """Read the flags of the thin plugin. Source: multus-cni cmd/thin_entrypoint/main.go."""
    found: dict[str, str] = {}
    for word, following in zip(words, [*words[1:], ""], strict=False):
        flag, equals, value = word.partition("=")
        if key := _FLAGS.get(flag):
            found[key] = value if equals else ("true" if key == _ISOLATION else following)
    isolation = found.get(_ISOLATION, "").strip("\"'").lower()
    is_set = isolation == "true" if isolation else None
    return Said(f"arguments of {title}", is_set, _split(found.get(_GLOBALS, "")))


def _by_config_map(title: str, data: Mapping[str, str]) -> Iterator[Said]:
    """Read each JSON object of a ConfigMap that Multus mounts."""
    for key, text in data.items():
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            isolation, networks = value.get(_ISOLATION), value.get("defaultNetworks")
            yield Said(
                f"{title}, {key}",
                isolation if isinstance(isolation, bool) else None,
                _split(str(value.get(_GLOBALS) or "")),
                len(networks) if isinstance(networks, list) else None,
            )


def _split(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, text.strip("\"'").split(","))))


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
    said = [one for each in found for one in _all_said(snapshot, each)]
    yield from _compare(said, profiles.multus)


def is_unused(profiles: Profiles) -> bool:
    """Tell whether there are profiles, and Multus attaches a network for none of them."""
    known = profiles.profiles.values()
    return bool(known) and not any(
        each.networks or (each.rendezvous.enabled and each.rendezvous.address_source == DEFAULT)
        for each in known
    )


def _all_said(snapshot: Snapshot, daemon_set: DaemonSet) -> Iterator[Said]:
    yield daemon_set.said
    for name in daemon_set.config_maps:
        title = f"ConfigMap {daemon_set.namespace}/{name}"
        yield from _by_config_map(title, config_map(snapshot, (daemon_set.namespace, name)))


def _compare(said: Sequence[Said], ours: Multus) -> Iterator[Finding]:
    """Name each setting of the Configuration that Multus has otherwise, as far as it is known."""
    isolating = [each for each in said if each.isolation]
    if said and bool(isolating) != ours.namespace_isolation:
        level: Level = "fail" if isolating else "warn"
        source = (isolating or said)[0].source
        yield _differs(level, _ISOLATION, ours.namespace_isolation, bool(isolating), source)
    elif isolating:
        theirs = {name for each in isolating for name in each.global_namespaces} or {_OPEN}
        own = set(ours.global_namespaces)
        if theirs != own:
            level = "fail" if own - theirs else "warn"
            yield _differs(level, _GLOBALS, sorted(own), sorted(theirs), isolating[0].source)
    for each in said:
        number = each.default_networks
        if number not in (None, ours.default_networks):
            yield _differs("fail", "defaultNetworks", ours.default_networks, number, each.source)


def _differs(level: Level, setting: str, ours: object, theirs: object, source: str) -> Finding:
    own, right = json.dumps(ours), json.dumps(theirs)
    message = f"is {own} in the Configuration, and {right} in {source}"
    action = f"write multus: {{{setting}: {right}}} in the Configuration"
    return Finding(level, MULTUS_DIFFERS, f"multus.{setting}", message, action)
