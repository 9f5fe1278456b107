"""Turn the short form of profiles.yaml into objects of the API, and back."""

from __future__ import annotations

from typing import Any

from webhook.core import names
from webhook.core.errors import Problem, ProfilesError
from webhook.core.profiles.document import ProfilesDocument
from webhook.core.profiles.load import parse_profiles
from webhook.core.profiles.objects import (
    LONGEST_NAME,
    PROFILE_API_VERSION,
    PROFILE_KIND,
    SETTINGS,
    SETTINGS_API_VERSION,
    SETTINGS_KIND,
)
from webhook.core.qualified_name import is_dns_subdomain
from webhook.core.yaml_reader import read_documents


def to_objects(content: str | bytes) -> list[dict[str, Any]]:
    """Return a FabricProfile for each profile, and a Configuration for what is the whole cluster's, if anything.

    *content*: the short form, objects, or the ConfigMap that holds either. What the API's schema writes otherwise is changed: null,
    and ``allowedNamespaces: all``, are left out. Raises ProfilesError with every fault, also for names that no object can have.
    """
    content = _unwrapped(content)
    parse_profiles(content)
    document = ProfilesDocument(content)
    profiles: dict[str, Any] = document.value.get("profiles") or {}
    problems = [
        document.problem(
            ("profiles", name),
            f"{name} can name no object, whose name is 1 to {LONGEST_NAME} of a-z, 0-9, '-', '.'; rename the profile, and the "
            "labels that name it",
            at_key=True,
        )
        for name in profiles
        if not is_dns_subdomain(name) or len(name) > LONGEST_NAME
    ]
    if problems:
        raise ProfilesError(tuple(problems))
    made = [_profile(name, value) for name, value in profiles.items()]
    settings = {key: _present(value) for key, value in document.value.items() if key != "profiles" and value}
    if settings:
        made.insert(0, {"apiVersion": SETTINGS_API_VERSION, "kind": SETTINGS_KIND, **settings})
    return made


def to_short_form(content: str | bytes) -> dict[str, Any]:
    """Return the short form of objects, as versions before FabricProfile read it. Raises ProfilesError with every fault."""
    content = _unwrapped(content)
    parse_profiles(content)
    value = ProfilesDocument(content).value
    return {key: value[key] for key in (*SETTINGS, "profiles") if value.get(key)}


def _profile(name: str, value: dict[str, Any] | None) -> dict[str, Any]:
    spec = _present(value or {})
    if spec.get("allowedNamespaces") == "all":
        del spec["allowedNamespaces"]
    return {"apiVersion": PROFILE_API_VERSION, "kind": PROFILE_KIND, "metadata": {"name": name}, "spec": spec}


def _present(value: Any) -> Any:
    """Return *value* without the nulls in its objects, which mean absent in every field."""
    if isinstance(value, dict):
        return {key: _present(item) for key, item in value.items() if item is not None}
    return [_present(item) for item in value] if isinstance(value, list) else value


def _unwrapped(content: str | bytes) -> str | bytes:
    """Return the profiles that a ConfigMap holds, or *content* where it is none."""
    text = content if isinstance(content, str) else content.decode("utf-8-sig", "replace")
    if "ConfigMap" not in text:
        return content
    found = [document.value for document in read_documents(text)]
    maps = [each for each in found if isinstance(each, dict) and each.get("kind") == "ConfigMap"]
    if not maps:
        return content
    data = maps[0].get("data")
    held = data.get(names.PROFILES_FILE) if isinstance(data, dict) else None
    if len(found) > 1 or not isinstance(held, str):
        message = f"write one ConfigMap alone, whose data holds {names.PROFILES_FILE}"
        raise ProfilesError((Problem("data", 1, message),))
    return held
