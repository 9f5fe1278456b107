"""Turn the text of profiles.yaml into Profiles, or into all of its faults at once."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from pydantic import ValidationError

from webhook.core.errors import ProfilesError
from webhook.core.profiles.checks import NONE
from webhook.core.profiles.consistency import find_contradictions
from webhook.core.profiles.grammar import parse_duration, parse_network, parse_resources
from webhook.core.profiles.messages import explain
from webhook.core.profiles.profile import (
    Multus,
    PodInfo,
    Profile,
    ProfileNetwork,
    Profiles,
    RendezvousSettings,
    SharedMemory,
)
from webhook.core.profiles.reader import read_document
from webhook.core.profiles.schema import FileFields, NetworkFields, ProfileFields, RendezvousFields


def parse_profiles(text: str) -> Profiles:
    """Read the text of profiles.yaml.

    Raises ProfilesError with every fault, in the order of their lines; YAML that cannot be read, or a ConfigMap around it, is the only
    fault then.
    """
    document = read_document(text)
    if isinstance(document.value, dict) and document.value.get("kind") == "ConfigMap":
        message = 'found "ConfigMap"; give the text that its data holds under profiles.yaml, as a file of its own'
        raise ProfilesError((document.problem(("kind",), message),))
    problems = {*document.problems}
    fields = FileFields()
    try:
        fields = FileFields.model_validate(document.value)
    except ValidationError as errors:
        problems.update(explain(error, document, FileFields) for error in errors.errors(include_url=False))
    problems.update(document.problem(*found) for found in find_contradictions(document.value))
    if problems:
        raise ProfilesError(tuple(sorted(problems, key=lambda problem: (problem.line, problem.path, problem.message))))
    return _build(fields)


def _build(fields: FileFields) -> Profiles:
    multus = fields.multus
    return Profiles(
        profiles=MappingProxyType(
            {name: _build_profile(name, profile or ProfileFields()) for name, profile in fields.profiles.items()}
        ),
        multus=Multus(
            namespace_isolation=multus.namespace_isolation,
            global_namespaces=tuple(multus.global_namespaces),
            default_networks=multus.default_networks,
            resource_name_keys=tuple(dict.fromkeys(multus.resource_name_keys)),
        ),
    )


def _build_profile(name: str, fields: ProfileFields) -> Profile:
    memory = fields.shared_memory
    info = fields.pod_info
    namespaces = fields.allowed_namespaces
    return Profile(
        name=name,
        pods=fields.pods,
        pod_labels=MappingProxyType(fields.pod_labels),
        networks=tuple(map(_build_network, fields.networks)),
        resources=MappingProxyType(fields.resources),
        existing_devices=fields.existing_devices,
        ipc_lock=fields.ipc_lock,
        pod_security=fields.pod_security,
        shared_memory=SharedMemory(memory.enabled, _value(memory.size_limit), memory.limit_existing),
        env=MappingProxyType(fields.env),
        annotations=MappingProxyType(fields.annotations),
        container=fields.container,
        node_selector=MappingProxyType(fields.node_selector),
        pod_info=PodInfo(info.hugepages, info.labels, info.annotations),
        rendezvous=_build_rendezvous(fields.rendezvous),
        allowed_namespaces=None if namespaces is None else frozenset(namespaces),
    )


def _build_network(fields: NetworkFields) -> ProfileNetwork:
    resources = parse_resources(fields.resource) if fields.resource else ()
    return replace(parse_network(fields.network), resources=resources, count=fields.count)


def _build_rendezvous(fields: RendezvousFields) -> RendezvousSettings:
    return RendezvousSettings(
        enabled=fields.enabled,
        network=parse_network(fields.network) if fields.network else None,
        ip_family=fields.ip_family,
        timeout_seconds=parse_duration(fields.timeout),
        wait_image=_value(fields.wait_image),
        rank_zero=fields.rank_zero,
    )


def _value(text: str) -> str | None:
    return None if text == NONE else text
