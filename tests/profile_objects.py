"""Write the short form of profiles as objects of the API."""

from __future__ import annotations

from typing import Any

import yaml

from webhook.core.profiles.objects import (
    PROFILE_API_VERSION,
    PROFILE_KIND,
    SETTINGS_API_VERSION,
    SETTINGS_KIND,
)


def to_objects(short_form: str) -> list[dict[str, Any]]:
    """Return a FabricProfile for each profile, behind a Configuration where the text holds more than profiles."""
    document = yaml.safe_load(short_form)
    for spec in document["profiles"].values():
        if (spec or {}).get("allowedNamespaces") == "all":  # what an object says by saying nothing
            del spec["allowedNamespaces"]
    made = [
        {
            "apiVersion": PROFILE_API_VERSION,
            "kind": PROFILE_KIND,
            "metadata": {"name": name},
            "spec": spec or {},
        }
        for name, spec in document.pop("profiles").items()
    ]
    return (
        [{"apiVersion": SETTINGS_API_VERSION, "kind": SETTINGS_KIND, **document}, *made]
        if document
        else made
    )
