"""Decide about a live pod as admission would today: the same core, on the pod as it stands."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from webhook.core import names, podspec
from webhook.core.decide import select_profile
from webhook.core.errors import Denied, Unavailable
from webhook.core.model import Namespace, NetworkDefinition, Object
from webhook.core.networks import define_network, parse_networks
from webhook.core.profiles import Profile, Profiles
from webhook.core.review import Verdict, decide
from webhook.diagnose.explain.reading import Reading

_MULTUS_NAMESPACE = "kube-system"


class ReadWorld:
    """Implement model.World for what was read; raise Unavailable for what was not, but for networks that may not be read.

    Those are taken to exist and to give addresses, as in a dry run.
    """

    def __init__(self, reading: Reading) -> None:
        self._namespace = (
            None if reading.labels is None else Namespace(reading.namespace, reading.labels)
        )
        self._networks = {
            key: None if found is None else define_network(found)
            for key, found in reading.networks.items()
        }
        self._refused = reading.refused_networks

    def namespace(self, name: str) -> Namespace | None:
        """Give the job's namespace."""
        if self._namespace is None or name != self._namespace.name:
            raise Unavailable(f"namespace {name} was not read")
        return self._namespace

    fresh_namespace = namespace

    def network(self, namespace: str, name: str) -> NetworkDefinition | None:
        """Look a network up."""
        try:
            return self._networks[namespace, name]
        except KeyError:
            if f"{namespace}/{name}" in self._refused:
                return NetworkDefinition(namespace, name, has_ipam=True)
            raise Unavailable(f"network {namespace}/{name} was not read") from None

    def has_profile(self, _name: str) -> bool:
        """Tell of no other profile than those that were read."""
        return False


def judge_today(
    pod: Object, profiles: Profiles | None, world: ReadWorld, unusable: Collection[str] = ()
) -> Verdict | None:
    """Return what admission would decide today; None where that cannot be known.

    *unusable*: names of profiles of which the webhook may hold another content than what was read, or none.
    """
    if profiles is None:
        return None
    try:
        space = world.namespace(pod["metadata"].get("namespace") or "")
        if (
            unusable
            and space
            and {**space.labels, **podspec.labels(pod)}.get(names.PROFILE) in unusable
        ):
            return None
        return decide(pod, pod["metadata"].get("namespace") or "", profiles, world)
    except Unavailable:
        return None


def networks_to_read(
    pods: tuple[Object, ...], namespace: str, labels: dict[str, str], profiles: Profiles | None
) -> list[tuple[str, str]]:
    """Return (namespace, name) of each network that the pods ask for or their profiles give."""
    wanted: dict[tuple[str, str], None] = {}
    texts = {(names.NETWORKS, podspec.annotations(pod).get(names.NETWORKS) or "") for pod in pods}
    texts |= {
        (names.DEFAULT_NETWORK, podspec.annotations(pod).get(names.DEFAULT_NETWORK) or "")
        for pod in pods
    }
    for annotation, text in sorted(texts):
        try:
            default = namespace if annotation == names.NETWORKS else _MULTUS_NAMESPACE
            wanted.update(
                ((each.namespace, each.name), None)
                for each in parse_networks(text, default).elements
            )
        except ValueError:
            continue  # the pod's verdict says what is wrong with it
    for profile in _profiles_of(pods, Namespace(namespace, labels), profiles or Profiles()):
        for network in profile.networks:
            wanted[network.namespace or namespace, network.name] = None
    return list(wanted)


def _profiles_of(
    pods: tuple[Object, ...], namespace: Namespace, profiles: Profiles
) -> Iterator[Profile]:
    """Yield the profiles that admission would choose, each once."""
    found: dict[str, Profile] = {}
    for pod in pods:
        try:
            profile = select_profile(pod, namespace, profiles, None)
        except Denied:
            continue  # the pod's verdict says why
        if isinstance(profile, Profile):
            found[profile.name] = profile
    yield from found.values()
