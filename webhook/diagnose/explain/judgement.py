"""Decide about a live pod as admission would today: the same core, on the pod as it stands."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from webhook.core import names, podspec
from webhook.core.decide import select_profile
from webhook.core.errors import Denied, Unavailable
from webhook.core.model import Namespace, NetworkDefinition, Object
from webhook.core.networks import define_network, parse_networks
from webhook.core.profiles import Profile, Profiles
from webhook.core.review import Verdict, decide

_DEFAULTS = {names.NETWORKS: "", names.DEFAULT_NETWORK: "kube-system"}
"""Annotations that name networks, and the namespace of one without; empty for the pod's own."""

Labels = Mapping[str, Mapping[str, str]]
Networks = Mapping[tuple[str, str], Object | None]


def broken_networks(networks: Networks) -> Mapping[tuple[str, str], str]:
    """Return by its name why the CNI configuration of a network cannot be read."""
    found = {}
    for key, network in networks.items():
        if text := ((network or {}).get("spec") or {}).get("config"):
            try:
                json.loads(text)
            except (ValueError, RecursionError) as error:
                found[key] = str(error)
    return found


class ReadWorld:
    """Implement model.World for what was read; raise Unavailable for what was not.

    Those with a broken configuration count as unread. Networks that may not be read are taken to exist and to give addresses, as in a dry run.
    """

    def __init__(
        self, labels: Labels | None, networks: Networks, refused: Collection[str] = ()
    ) -> None:
        self._labels = labels or {}
        self._networks = {
            key: None if found is None else define_network(found)
            for key, found in networks.items()
            if key not in broken_networks(networks)
        }
        self._refused = refused

    def namespace(self, name: str) -> Namespace | None:
        """Give a namespace."""
        if name not in self._labels:
            raise Unavailable(f"namespace {name} was not read")
        return Namespace(name, self._labels[name])

    fresh_namespace = namespace

    def network(self, namespace: str, name: str) -> NetworkDefinition | None:
        """Look a network up."""
        if (namespace, name) in self._networks:
            return self._networks[namespace, name]
        if f"{namespace}/{name}" in self._refused:
            return NetworkDefinition(namespace, name, has_ipam=True)
        raise Unavailable(f"network {namespace}/{name} was not read")

    def has_profile(self, _name: str) -> bool:
        """Know no other profile than those that were read."""
        return False


def judge_today(
    pod: Object, profiles: Profiles | None, world: ReadWorld, unusable: Collection[str] = ()
) -> Verdict | None:
    """Return what admission would decide today; None where that cannot be known.

    *unusable*: names of profiles of which the webhook may hold another content, or none.
    """
    if profiles is None:
        return None
    namespace = str(pod["metadata"].get("namespace") or "")
    try:
        space = world.namespace(namespace)
        labels = {**(space.labels if space else {}), **podspec.labels(pod)}
        if labels.get(names.PROFILE) in unusable:
            return None
        return decide(pod, namespace, profiles, world)
    except Unavailable:
        return None


def networks_to_read(
    pods: Iterable[Object], labels: Labels | None, profiles: Profiles | None
) -> list[tuple[str, str]]:
    """Return (namespace, name) of each network that pods ask for or their profiles give.

    *labels*: of namespaces by their names.
    """
    wanted: dict[tuple[str, str], None] = {}
    for pod in pods:
        own = str(pod["metadata"].get("namespace") or "")
        for annotation, default in _DEFAULTS.items():
            if text := podspec.annotations(pod).get(annotation):
                with suppress(ValueError):  # the pod's verdict says what is wrong with it
                    for each in parse_networks(text, default or own).elements:
                        wanted[each.namespace, each.name] = None
        space = Namespace(own, (labels or {}).get(own, {}))
        with suppress(Denied):  # likewise
            profile = select_profile(pod, space, profiles or Profiles(), None)
            for network in profile.networks if isinstance(profile, Profile) else ():
                wanted[network.namespace or own, network.name] = None
    return list(wanted)
