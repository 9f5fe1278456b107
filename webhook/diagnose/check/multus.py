"""Look for Multus, and compare how it is configured with what the profiles file says of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from webhook.core.profiles import Profiles
from webhook.diagnose.check.multus_settings import Configuration, DaemonSet
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding
from webhook.diagnose.wording import counted, listed

_AUTOMATIC = "default"
"""Namespace that is open to others where none is named. Source: multus-cni pkg/types/conf.go, defaultNonIsolatedNamespace."""


def check_multus(
    daemon_sets: Sequence[DaemonSet] | None, configurations: Iterable[Configuration], profiles: Profiles | None
) -> Iterator[Finding]:
    """Look at Multus where NetworkAttachmentDefinitions are installed; *daemon_sets* None: could not look."""
    for each in daemon_sets or ():
        told = f"is Multus, ready on {each.ready} of {counted(each.wanted, 'node')}"
        if each.ready >= each.wanted > 0:
            yield Finding("ok", Code.MULTUS_READY, each.title, told)
        else:
            yield Finding("warn", Code.MULTUS_DEGRADED, each.title, told)
    if daemon_sets is not None and not daemon_sets:
        yield Finding("warn", Code.MULTUS_UNSEEN, "Multus", "no DaemonSet of it was found")
    if profiles is not None:
        yield from _compare(list(configurations), profiles)


def check_absent(profiles: Profiles | None) -> Iterator[Finding]:
    """Say what it means that NetworkAttachmentDefinitions are not installed."""
    asking = [each.name for each in profiles.profiles.values() if each.networks] if profiles else []
    subject = "NetworkAttachmentDefinitions"
    if asking:
        message = f"are not installed: no network of {counted(len(asking), 'profile')} ({listed(asking)}) can exist"
        yield Finding("fail", Code.MULTUS_MISSING, subject, message)
    else:
        yield Finding("warn", Code.MULTUS_MISSING, subject, "are not installed: no pod can have a second network")


def _compare(configurations: Sequence[Configuration], profiles: Profiles) -> Iterator[Finding]:
    ours = profiles.multus
    said = [each for each in configurations if each.isolation is not None]
    theirs = any(each.isolation for each in said)
    source = "; ".join(each.source for each in said or configurations)
    subject = "multus.namespaceIsolation"
    if not configurations:
        yield from _unknown(profiles)
    elif theirs != ours.namespace_isolation:
        told = "is set" if theirs else ("is not set" if said else "is not written, and its default is false,")
        yield Finding(
            "fail" if theirs else "warn",
            Code.ISOLATION_DIFFERS,
            subject,
            f"is {str(ours.namespace_isolation).lower()} in the profiles file, but {told} in {source}",
            f"write multus: {{namespaceIsolation: {str(theirs).lower()}}} in the profiles file",
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
                f"is {ours.default_networks} in the profiles file, and {each.default_networks} in {each.source}: interfaces are "
                "counted wrongly",
                f"write multus: {{defaultNetworks: {each.default_networks}}} in the profiles file",
            )


def _compare_globals(theirs: set[str], profiles: Profiles) -> Iterator[Finding]:
    ours = set(profiles.multus.global_namespaces)
    subject = "multus.globalNamespaces"
    if wrong := sorted(ours - theirs):
        message = f"names {listed(wrong)}, which Multus keeps apart: pods would wait for networks that it refuses"
        yield Finding("fail", Code.GLOBAL_NAMESPACES_EXCESSIVE, subject, message, f"write {sorted(theirs)}")
    elif missing := sorted(theirs - ours):
        message = f"lacks {listed(missing)}, which Multus opens: pods that use their networks are denied"
        yield Finding("warn", Code.GLOBAL_NAMESPACES_LACKING, subject, message, f"write {sorted(theirs)}")
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
        message = (
            f"is false in the profiles file; Multus' own setting cannot be seen, and {listed(elsewhere)} depend on it"
        )
        yield Finding("warn", Code.ISOLATION_UNKNOWN, subject, message)
    else:
        message = "cannot be compared with Multus' own setting; no network of a profile depends on it"
        yield Finding("ok", Code.ISOLATION_IRRELEVANT, subject, message)
