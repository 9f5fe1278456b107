"""Describe profiles and namespaces: the document that ``GET /state`` answers."""

from collections.abc import Iterable

from webhook import __version__
from webhook.core import names
from webhook.core.model import Namespace, Object
from webhook.core.profiles import Profiles


def state_document(
    profiles: Profiles, namespaces: Iterable[Namespace], problems: Iterable[str] = ()
) -> Object:
    """Return what the form needs, by name. *problems*: what could not be read, and why.

    Shape: ``{"version", "problems": [text], "namespaces": [{"name", "profile", "observed"}],
    "profiles": [{"name"}]}``.
    """
    spaces = [
        {
            "name": space.name,
            "profile": space.labels.get(names.PROFILE, ""),
            "observed": space.labels.get(names.MODE) == names.MODE_OBSERVE,
        }
        for space in sorted(namespaces, key=lambda each: each.name)
    ]
    known = [{"name": name} for name in sorted(profiles.profiles)]
    told = {"version": __version__, "problems": list(problems)}
    return {**told, "namespaces": spaces, "profiles": known}
