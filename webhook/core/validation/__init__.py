"""Judge namespaces, profiles and the Configuration as they are put in: what is refused, and what only the author is told. Not pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from webhook.core.model import NetworkDefinition, Object
from webhook.core.profiles import Profile

MOST_FAULTS = 10
"""Faults of one object that its author is told at a time."""


class Validation(NamedTuple):
    """Hold what is said of an object: a *refusal*, empty where it is let in, and *warnings* for its author."""

    refusal: str = ""
    warnings: tuple[str, ...] = ()


class UnfinishedPods(NamedTuple):
    """Hold the first pods of a namespace that run or may still run, and whether there are *more*."""

    pods: Sequence[Object]
    more: bool = False


class ValidationWorld(Protocol):
    """Answer what validation asks of the cluster. Each method raises Unavailable where the answer cannot be known now."""

    def network(self, namespace: str, name: str) -> NetworkDefinition | None:
        """Look a NetworkAttachmentDefinition up; None where it does not exist."""

    def namespaces_naming(self, profile: str) -> Sequence[str]:
        """Name the namespaces whose label names *profile*, but for those being deleted."""

    def unfinished_pods(self, namespace: str) -> UnfinishedPods:
        """List pods of the namespace, a bounded number."""

    def new_profile(self, name: str) -> Profile | None:
        """Look live for a profile that is not in force; None where there is no such object. Raises ProfilesError as below."""

    def read_profile(self, name: str, spec: Any) -> Profile:
        """Read the content of a FabricProfile. Raises ProfilesError with every fault."""

    def check_configuration(self, content: str) -> None:
        """Read the content of a configuration file. Raises ProfilesError with every fault."""
