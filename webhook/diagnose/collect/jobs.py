"""Read all jobs of a cluster, or of one namespace, with what a profile would need there."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from webhook.core.accelerators import is_accelerator
from webhook.core.cluster.nodes import read_node
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Namespace, NetworkDefinition
from webhook.core.networks import define_network
from webhook.core.profiles import Profiles
from webhook.core.profiles.objects import PROFILE_KIND
from webhook.diagnose.collect.collector import Collector
from webhook.diagnose.collect.device_offers import read_device_offers
from webhook.diagnose.listing import Listing, Unread
from webhook.diagnose.survey.pod import PodReader
from webhook.diagnose.survey.reading import ClusterReading
from webhook.kube.catalogue import NAMESPACES, NETWORKS, NODES, PODS, UNFINISHED
from webhook.kube.connection import Connection, RequestFailed
from webhook.world.held import read_namespace
from webhook.world.installed_profiles import beside_installed_settings, installed_profiles
from webhook.world.profiles_read import ProfilesRead

MOST_PAGES = 400
"""Two hundred thousand objects of one kind."""
_PODS = PODS.select(fields=UNFINISHED)
_MOST_NAMED = 5


def read_jobs(
    connection: Connection,
    namespace: str = "",
    *,
    given: ProfilesRead | None = None,
    preset: ProfilesRead | None = None,
    profile: str = "",
    profiles_option: str = "",
    system_namespace: str = "fabric-injector",
    progress: Callable[[str], None] = lambda _: None,
) -> ClusterReading:
    """Read what `survey` judges; *namespace* empty: all. *given*: the profiles of a file, None for the cluster's, if it has any.

    *preset*: what counts where the cluster has no profile of the name *profile*. *profiles_option*: how ``dry-run`` is told of *given*,
    or else of *preset*.

    Raises InputError where pods may not be listed, or no profile is named *profile*; Unavailable where the API server does not answer.
    What else may not be read is named in the result and left out.
    """
    with Collector(connection, progress, most_pages=MOST_PAGES) as collector:
        namespaces = collector.begin(lambda: _namespaces(collector, namespace))
        networks = collector.begin_list("networks", NETWORKS, define_network)
        nodes = collector.begin_list("nodes", NODES, read_node)
        device_offers = collector.begin(lambda: read_device_offers(collector, is_noted=False))
        read = _profiles(collector, system_namespace, given, preset, profile)
        profiles = read.profiles if read else None
        chosen = _choose(profiles, profile, read.source if read else "the cluster")
        pods = PodReader(profiles.pod_label_keys if profiles else (), _devices(profiles, networks.result().items))
        try:
            listed = collector.read_list(_PODS, pods.read, namespace)
        except RequestFailed as error:
            raise without_pods(error, namespace, "survey") from None
        if namespace and not listed.items and namespaces.result().known == ():
            raise InputError(f"-n {namespace}: there is no namespace of this name")
        for (space, name), excess in sorted(pods.oversized.items())[:_MOST_NAMED]:
            collector.unread.append(Unread(f"pods/{name}", f"of namespace {space} is left out: {excess}"))
        return ClusterReading(
            listed,
            pods.templates,
            pods.oversized,
            namespace,
            namespaces.result(),
            networks.result(),
            nodes.result(),
            profiles,
            read.source if read and profiles else "",
            chosen,
            profiles_option if given or (read and preset and read.source == preset.source) else "",
            system_namespace,
            collector.notes(),
            device_offers.result(),
        )


def without_pods(error: RequestFailed, namespace: str, command: str) -> Unavailable | InputError:
    """Return what a *command* that lists pods, of all namespaces or of one, fails with where they may not be listed."""
    if error.status == 401:
        return InputError(f"{error}; log in to the cluster again")
    if error.status == 403:
        where = f"in namespace {namespace}" if namespace else "in all namespaces"
        advice = "ask for it" if namespace else "ask for it, or name a namespace of yours by -n"
        return InputError(f"{error}; {command} lists pods {where}: {advice}")
    return error


def _namespaces(collector: Collector, namespace: str) -> Listing[Namespace]:
    """Read the labels of all namespaces, or of the one."""
    if not namespace:
        return collector.list_part("namespaces", NAMESPACES, read_namespace)
    found = collector.find_part(f"namespace {namespace}", NAMESPACES, ("", namespace), read_namespace)
    return Listing((found.value,) if found.value else (), found.problem)


def _profiles(
    collector: Collector, system_namespace: str, given: ProfilesRead | None, preset: ProfilesRead | None, profile: str
) -> ProfilesRead | None:
    """Return the profiles of the file or of the cluster; without a note where nothing is installed and nothing was asked for."""
    try:
        if given is None:
            read = installed_profiles(collector.reader, system_namespace)
            if preset is not None and (read.profiles is None or profile not in read.profiles.profiles):
                given = preset
        if given is not None:
            read = beside_installed_settings(collector.reader, system_namespace, given)
    except Unavailable as error:
        known = given or preset
        if profile and known is None:
            raise InputError(
                f"--profile {profile}: the profiles cannot be read: {error}; give --profiles FILE"
            ) from None
        collector.note("profiles", error)
        return known
    if read.unread:
        collector.unread.append(Unread("settings", read.unread))
    for fault in read.faults:
        if fault.where.removeprefix(f"{PROFILE_KIND} ") in read.unusable:
            collector.unread.append(Unread(fault.where, f"cannot be used: {fault.message}"))
    if read.profiles is None and given is not None:
        read.known()
    if read.profiles is None and profile:
        why = read.missing or read.problem or "its profiles have faults"
        raise InputError(f"--profile {profile}: {read.source}: {why}; give --profiles FILE")
    return read


def _choose(profiles: Profiles | None, profile: str, source: str) -> str:
    """Return the profile that is tried everywhere: the one that was asked for, else the only one there is."""
    known = sorted(profiles.profiles) if profiles else []
    if profile and profile not in known:
        choice = f"use one of: {', '.join(known)}" if known else "there is none"
        raise InputError(f"--profile {profile}: {source} has no profile of this name; {choice}")
    return profile or (known[0] if len(known) == 1 else "")


def _devices(profiles: Profiles | None, networks: Iterable[NetworkDefinition]) -> set[str]:
    """Return the devices that networks and profiles name."""
    every = profiles.profiles.values() if profiles else ()
    named = {resource for profile in every for resource in profile.resources}
    named |= {resource for profile in every for network in profile.networks for resource in network.resources}
    named |= {resource for network in networks for resource in network.resources}
    return {resource for resource in named if "/" in resource and not is_accelerator(resource)}
