"""Look for Multus, read what can be seen of its own configuration, and compare that with what the Configuration says of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from webhook.core.addresses import DEFAULT
from webhook.core.model import Object
from webhook.core.profiles import Profiles
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding
from webhook.diagnose.wording import counted, listed

_ISOLATION, _GLOBALS = "namespaceIsolation", "globalNamespaces"
_FLAGS = {"--namespace-isolation": _ISOLATION, "--global-namespaces": _GLOBALS}
_AUTOMATIC = "default"
"""Namespace that is open to others where none is named. Source: multus-cni pkg/types/conf.go, defaultNonIsolatedNamespace."""


@dataclass(frozen=True, slots=True)
class DaemonSet:
    """Hold what is kept of a DaemonSet that looks like Multus; *arguments* of all its containers; *config_maps* that it mounts."""

    namespace: str
    name: str
    wanted: int = 0
    ready: int = 0
    arguments: tuple[str, ...] = ()
    config_maps: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Return ``DaemonSet kube-system/kube-multus-ds``."""
        return f"DaemonSet {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Configuration:
    """Hold what a place says of Multus; *isolation* None: it says nothing."""

    source: str
    isolation: bool | None = None
    global_namespaces: tuple[str, ...] = ()
    default_networks: int | None = None


def read_daemon_set(obj: Object) -> DaemonSet | None:
    """Keep what matters; None for one that is not Multus."""
    metadata, spec, status = (
        obj.get("metadata") or {},
        obj.get("spec") or {},
        obj.get("status") or {},
    )
    pod = (spec.get("template") or {}).get("spec") or {}
    containers = pod.get("containers") or []
    if not any(_is_multus(each) for each in containers):
        return None
    volumes = pod.get("volumes") or []
    return DaemonSet(
        metadata.get("namespace") or "",
        metadata.get("name") or "",
        status.get("desiredNumberScheduled") or 0,
        status.get("numberReady") or 0,
        tuple(
            text
            for each in containers
            for key in ("command", "args")
            for text in each.get(key) or ()
        ),
        tuple(
            each["configMap"]["name"]
            for each in volumes
            if (each.get("configMap") or {}).get("name")
        ),
    )


def _is_multus(container: Object) -> bool:
    """Tell by the container's name, which multus-cni and OpenShift share, or by its image, as distributions rename it."""
    image = str(container.get("image") or "").rpartition("/")[2].partition("@")[0].partition(":")[0]
    return (
        container.get("name") == "kube-multus" or image == "multus" or image.endswith("multus-cni")
    )


def configuration_of_arguments(daemon_set: DaemonSet) -> Configuration:
    """Read the flags of the thin plugin's installer. Source: multus-cni cmd/thin_entrypoint/main.go."""
    found: dict[str, str] = {}
    arguments = [word for text in daemon_set.arguments for word in text.split()]
    for word, following in zip(arguments, [*arguments[1:], ""], strict=False):
        flag, equals, value = word.partition("=")
        if key := _FLAGS.get(flag):
            found[key] = value if equals else ("true" if key == _ISOLATION else following)
    isolation = found.get(_ISOLATION)
    return Configuration(
        f"arguments of {daemon_set.title}",
        None if isolation is None else isolation.strip("\"'").lower() == "true",
        _split(found.get(_GLOBALS, "")),
    )


def configurations_of_map(title: str, data: Mapping[str, str]) -> Iterator[Configuration]:
    """Read each JSON file of a ConfigMap that Multus mounts; what is not a JSON object says nothing."""
    for key, text in data.items():
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            isolation, networks = value.get(_ISOLATION), value.get("defaultNetworks")
            yield Configuration(
                f"{title}, {key}",
                isolation if isinstance(isolation, bool) else None,
                _split(str(value.get(_GLOBALS) or "")),
                len(networks) if isinstance(networks, list) else None,
            )


def _split(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.strip("\"'").split(","))))


def check_multus(
    daemon_sets: Sequence[DaemonSet] | None,
    configurations: Iterable[Configuration],
    profiles: Profiles | None,
) -> Iterator[Finding]:
    """Look at Multus where NetworkAttachmentDefinitions are installed; *daemon_sets* None: could not look."""
    for each in daemon_sets or ():
        told = f"is Multus, ready on {each.ready} of {counted(each.wanted, 'node')}"
        if each.ready >= each.wanted > 0:
            yield Finding("ok", Code.MULTUS_READY, each.title, told)
        else:
            yield Finding("warn", Code.MULTUS_DEGRADED, each.title, told)
    if daemon_sets is not None and not daemon_sets:
        if profiles is not None and is_unused(profiles):
            yield Finding(
                "ok",
                Code.MULTUS_UNUSED,
                "Multus",
                "no DaemonSet of it was found, and no profile asks for it",
            )
            return
        yield Finding("warn", Code.MULTUS_UNSEEN, "Multus", "no DaemonSet of it was found")
    if profiles is not None:
        yield from _compare(list(configurations), profiles)


def is_unused(profiles: Profiles) -> bool:
    """Tell whether there are profiles, and none of them has Multus attach a network or tell an address."""
    known = profiles.profiles.values()
    return bool(known) and not any(
        each.networks or (each.rendezvous.enabled and each.rendezvous.address_source == DEFAULT)
        for each in known
    )


def check_absent(profiles: Profiles | None) -> Iterator[Finding]:
    """Say what it means that NetworkAttachmentDefinitions are not installed."""
    known = list(profiles.profiles.values()) if profiles else []
    asking = [each.name for each in known if each.networks]
    subject = "NetworkAttachmentDefinitions"
    if asking:
        message = f"are not installed: no network of {counted(len(asking), 'profile')} ({listed(asking)}) can exist"
        yield Finding("fail", Code.MULTUS_MISSING, subject, message)
    elif profiles is not None and is_unused(profiles):
        yield Finding(
            "ok", Code.MULTUS_UNUSED, subject, "are not installed, and no profile asks for one"
        )
    else:
        yield Finding(
            "warn",
            Code.MULTUS_MISSING,
            subject,
            "are not installed: no pod can have a second network",
        )


def _compare(configurations: Sequence[Configuration], profiles: Profiles) -> Iterator[Finding]:
    ours = profiles.multus
    said = [each for each in configurations if each.isolation is not None]
    theirs = any(each.isolation for each in said)
    source = "; ".join(each.source for each in said or configurations)
    subject = "multus.namespaceIsolation"
    if not configurations:
        yield from _unknown(profiles)
    elif theirs != ours.namespace_isolation:
        told = (
            "is set"
            if theirs
            else ("is not set" if said else "is not written, and its default is false,")
        )
        yield Finding(
            "fail" if theirs else "warn",
            Code.ISOLATION_DIFFERS,
            subject,
            f"is {str(ours.namespace_isolation).lower()} in the Configuration, but {told} in {source}",
            f"write multus: {{namespaceIsolation: {str(theirs).lower()}}} in the Configuration",
        )
    elif theirs:
        named = {name for each in said for name in each.global_namespaces}
        yield from _compare_globals(named or {_AUTOMATIC}, profiles)
    else:
        yield Finding("ok", Code.ISOLATION_AGREES, subject, f"is false, as in {source}")
    for each in configurations:
        if each.default_networks is not None and each.default_networks != ours.default_networks:
            yield Finding(
                "fail",
                Code.DEFAULT_NETWORKS_DIFFER,
                "multus.defaultNetworks",
                f"is {ours.default_networks} in the Configuration, and {each.default_networks} in {each.source}: interfaces are "
                "counted wrongly",
                f"write multus: {{defaultNetworks: {each.default_networks}}} in the Configuration",
            )


def _compare_globals(theirs: set[str], profiles: Profiles) -> Iterator[Finding]:
    ours = set(profiles.multus.global_namespaces)
    subject = "multus.globalNamespaces"
    if wrong := sorted(ours - theirs):
        message = f"names {listed(wrong)}, which Multus keeps apart: pods would wait for networks that it refuses"
        yield Finding(
            "fail", Code.GLOBAL_NAMESPACES_EXCESSIVE, subject, message, f"write {sorted(theirs)}"
        )
    elif missing := sorted(theirs - ours):
        message = (
            f"lacks {listed(missing)}, which Multus opens: pods that use their networks are denied"
        )
        yield Finding(
            "warn", Code.GLOBAL_NAMESPACES_LACKING, subject, message, f"write {sorted(theirs)}"
        )
    else:
        yield Finding("ok", Code.GLOBAL_NAMESPACES_AGREE, subject, "is as Multus has it")


def _unknown(profiles: Profiles) -> Iterator[Finding]:
    """Say what depends on a setting that could not be read."""
    open_to_all = profiles.multus.global_namespaces
    elsewhere = sorted(
        {
            str(network)
            for profile in profiles.profiles.values()
            for network in profile.networks
            if network.namespace is not None and network.namespace not in open_to_all
        }
    )
    subject = "multus.namespaceIsolation"
    if elsewhere and not profiles.multus.namespace_isolation:
        message = f"is false in the Configuration; Multus' own setting cannot be seen, and {listed(elsewhere)} depend on it"
        yield Finding("warn", Code.ISOLATION_UNKNOWN, subject, message)
    else:
        message = (
            "cannot be compared with Multus' own setting; no network of a profile depends on it"
        )
        yield Finding("ok", Code.ISOLATION_IRRELEVANT, subject, message)
