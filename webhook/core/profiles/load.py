"""Turn the text of profiles.yaml into Profiles, or into all of its faults at once."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from webhook.core.errors import ProfilesError
from webhook.core.profiles.adapter import reader
from webhook.core.profiles.consistency import find_contradictions
from webhook.core.profiles.document import ProfilesDocument
from webhook.core.profiles.messages import explain
from webhook.core.profiles.objects import (
    PROFILE_API_VERSION,
    PROFILE_KIND,
    SETTINGS_API_VERSION,
    SETTINGS_KIND,
)
from webhook.core.profiles.profile import ClusterSettings, Profile, Profiles
from webhook.core.yaml_reader import json_as_yaml

REVISION_LENGTH = 12


def read_profile(name: str, spec: Any) -> Profile:
    """Read the content of a FabricProfile as plain values. Raises ProfilesError with every fault, in the paths of the object."""
    value = {
        "apiVersion": PROFILE_API_VERSION,
        "kind": PROFILE_KIND,
        "metadata": {"name": name},
        "spec": spec,
    }
    return parse_profiles(json_as_yaml(value)).profiles[name]


def parse_profiles(content: str | bytes) -> Profiles:
    """Read the content of profiles.yaml.

    Raises ProfilesError with every fault, in the order of their lines; YAML that cannot be read, or a ConfigMap around it, is the only
    fault then.
    """
    document = ProfilesDocument(content)
    if isinstance(document.value, dict) and document.value.get("kind") == "ConfigMap":
        message = 'found "ConfigMap"; give the text that its data holds under profiles.yaml, as a file of its own'
        raise ProfilesError((document.problem(("kind",), message),))
    return _read(document)


def parse_configuration(content: str | bytes) -> ClusterSettings:
    """Read the content of a configuration file, one Configuration object. Raises ProfilesError as above."""
    document = ProfilesDocument(content)
    if not document.holds_objects:
        wanted = f"apiVersion: {SETTINGS_API_VERSION} and kind: {SETTINGS_KIND}"
        raise ProfilesError(
            (
                document.problem(
                    (), f"is not a {SETTINGS_KIND}; write {wanted}, and its fields below"
                ),
            )
        )
    found = [
        document.problem(
            ("profiles", name),
            f"stands in the file of the {SETTINGS_KIND}; write profiles elsewhere",
        )
        for name in document.value["profiles"]
    ]
    if found:
        raise ProfilesError(tuple(found))
    return _read(document).settings


def _read(document: ProfilesDocument) -> Profiles:
    problems = {*document.problems}
    profiles = Profiles()
    try:
        profiles = reader().validate_python(document.value)
    except ValidationError as errors:
        problems.update(explain(error, document) for error in errors.errors(include_url=False))
    problems.update(document.problem(*found) for found in find_contradictions(document.value))
    if problems:
        raise ProfilesError(
            tuple(
                sorted(problems, key=lambda problem: (problem.line, problem.path, problem.message))
            )
        )
    written = document.value.get("profiles") or {}
    found = {
        name: replace(each, revision=_revision(written[name]))
        for name, each in profiles.profiles.items()
    }
    return replace(profiles, profiles=MappingProxyType(found))


def _revision(content: Any) -> str:
    """Return a short digest of a profile's content as it is written: the same in a file and in an object, and in every version."""
    text = json.dumps(content or {}, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:REVISION_LENGTH]
