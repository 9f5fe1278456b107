"""Read the contents of FabricProfiles for their status, in a process of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from webhook.core.cluster.profile_status import Content
from webhook.core.errors import InputError, ProfilesError
from webhook.core.profiles import Profile
from webhook.core.profiles.objects import faults_in_object
from webhook.serve.profiles_process import parse_objects_apart
from webhook.serve.slot import Slot


def read_contents_apart(specs: Mapping[str, Any], slot: Slot) -> dict[str, Content]:
    """Read the contents of FabricProfiles by name, each as if there were no other; a process that fails says nothing of them.

    Where it fails with many, each half is tried: one of them may be what it fails with.
    """
    if not specs:
        return {}
    try:
        found = parse_objects_apart(
            {name: json.dumps(spec).encode() for name, spec in specs.items()}, slot
        )
    except InputError as error:
        listed = list(specs)
        if len(listed) == 1:
            return {listed[0]: Content(None, str(error), is_read=False)}
        half = len(listed) // 2
        parts = ({name: specs[name] for name in part} for part in (listed[:half], listed[half:]))
        return {
            name: content
            for part in parts
            for name, content in read_contents_apart(part, slot).items()
        }
    return {name: _content(name, result) for name, result in found.items()}


def _content(name: str, result: Profile | ProfilesError) -> Content:
    if isinstance(result, Profile):
        return Content(result)
    return Content(None, "; ".join(faults_in_object(name, result.problems)))
