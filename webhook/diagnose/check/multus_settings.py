"""Read what can be seen of Multus' own configuration: its DaemonSet's arguments, and the ConfigMaps that it mounts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from webhook.core.model import Object

_ISOLATION, _GLOBALS = "namespaceIsolation", "globalNamespaces"
_FLAGS = {"--namespace-isolation": _ISOLATION, "--global-namespaces": _GLOBALS}


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
    metadata, spec, status = obj.get("metadata") or {}, obj.get("spec") or {}, obj.get("status") or {}
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
        tuple(text for each in containers for key in ("command", "args") for text in each.get(key) or ()),
        tuple(each["configMap"]["name"] for each in volumes if (each.get("configMap") or {}).get("name")),
    )


def _is_multus(container: Object) -> bool:
    """Tell by the container's name, which multus-cni and OpenShift share, or by its image, as distributions rename it."""
    image = str(container.get("image") or "").rpartition("/")[2].partition("@")[0].partition(":")[0]
    return container.get("name") == "kube-multus" or image == "multus" or image.endswith("multus-cni")


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
