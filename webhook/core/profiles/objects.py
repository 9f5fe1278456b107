"""Name the objects that hold profiles: FabricProfile and Configuration."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.core import names
from webhook.core.errors import Problem

PROFILE_KIND = "FabricProfile"
PROFILE_API_VERSION = f"{names.PREFIX}v1alpha1"
PLURAL = "fabricprofiles"
DEFINITION = f"{PLURAL}.{PROFILE_API_VERSION.partition('/')[0]}"
"""Name of the CustomResourceDefinition."""
SETTINGS_KIND = "Configuration"
SETTINGS_API_VERSION = f"config.{names.PREFIX}v1alpha1"
API_VERSIONS = {PROFILE_KIND: PROFILE_API_VERSION, SETTINGS_KIND: SETTINGS_API_VERSION}


def faults_in_object(name: str, problems: Iterable[Problem]) -> list[str]:
    """Write the faults of FabricProfile *name* without the object: ``spec.networks[0]: …``."""
    head = f"{PROFILE_KIND} {name}: "
    return [f"{each.path.removeprefix(head)}: {each.message}" for each in problems]
