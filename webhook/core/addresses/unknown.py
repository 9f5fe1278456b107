"""A source that this version does not know, but the one that injected the pod did: told to people, never guessed."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import names
from webhook.core.addresses.source import Choice, Words
from webhook.core.model import Object
from webhook.core.networks import ResolvedNetworks
from webhook.core.networks.status import MAX_NAME, Secondary, Wanted
from webhook.core.networks.status import parse_wanted as parse_namespaced
from webhook.core.profiles import Profile

WORDS = Words(
    asked="",
    told=names.ADDRESS_SOURCE,
    writer="nobody",
    attaches_nothing="where no network is attached",
    look="run webhook and controller in the same version",
    look_on_node="at the versions of webhook and controller",
)


def choose(_pod: Object, profile: Profile, _networks: ResolvedNetworks) -> Choice:
    """Choose no network."""
    return Choice(
        problem=f"profile {profile.name} names a source of addresses that is not known here"
    )


def parse_wanted(text: str) -> Wanted | None:
    """Read what either form tells, for messages."""
    return parse_namespaced(text) or parse_namespaced(text, is_namespaced=False)


def told(annotations: Mapping[str, str]) -> str:
    """Return the source's name."""
    return (annotations.get(names.ADDRESS_SOURCE) or "")[:MAX_NAME]


def secondary(told: str, _wanted: Wanted) -> Secondary:
    """Say that nothing can be found."""
    return Secondary(
        problem=f"it says {told[:40]!r}, a source of addresses that this version does not know"
    )
