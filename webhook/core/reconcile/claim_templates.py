"""Decide which ResourceClaimTemplates are to be made, and which to be removed: one in each namespace where a pod may name it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from webhook.core import names
from webhook.core.claim_templates import template_name, template_spec
from webhook.core.model import Object
from webhook.core.profiles import Profile

UNNEEDED_SECONDS = 600.0
"""How long a template stays that neither a namespace's profile nor a pod needs: the pods of a job may come one after the other."""
MOST_PAST = 256
"""How many contents of earlier profiles are remembered, for pods whose template somebody deletes."""

_Key: TypeAlias = tuple[str, str]


class TemplateContent(NamedTuple):
    """Hold what a template of a profile is to say: *claim*, its name in *profile*, and its *spec*."""

    profile: str
    claim: str
    spec: Object


class Work(NamedTuple):
    """Hold what is to be done now, by namespace and name; *seconds*: until something else may be, if nothing changes before."""

    make: list[_Key]
    remove: list[_Key]
    seconds: float | None


class TemplateUpkeep:
    """Remember which profiles are in force, and since when a template has been needed by nobody.

    A template counts as needed while its namespace names a profile that is not known, as after its object was deleted or could not be
    read: the webhook serves on with the last one that it could use.
    """

    def __init__(self) -> None:
        self._profiles: dict[str, Profile] = {}
        self._contents: dict[str, TemplateContent] = {}
        self._unneeded: dict[_Key, float] = {}

    def put(self, profiles: Mapping[str, Profile | None]) -> None:
        """Put the profiles in force; of one whose content cannot be used, None, the last one counts."""
        present = {name: each or self._profiles.get(name) for name, each in profiles.items()}
        self._profiles = {name: each for name, each in present.items() if each is not None}
        for profile in self._profiles.values():
            for claim in profile.claims:
                name = template_name(claim)
                self._contents.pop(name, None)  # the newest last
                self._contents[name] = TemplateContent(profile.name, claim.name, template_spec(claim))
        present_names = {template_name(claim) for each in self._profiles.values() for claim in each.claims}
        past = [name for name in self._contents if name not in present_names]
        for name in past[: max(0, len(past) - MOST_PAST)]:
            del self._contents[name]

    def content(self, name: str) -> TemplateContent | None:
        """Return what a template of this name is to say; None where that is not known."""
        return self._contents.get(name)

    def next(self, namespaces: Mapping[str, str], named: Iterable[_Key], there: Iterable[_Key], now: float) -> Work:
        """Say what is to be done.

        *namespaces*: the profile that each labelled namespace names. *named*: what pods name. *there*: the templates that exist.
        """
        wanted = {
            (namespace, template_name(claim))
            for namespace, name in namespaces.items()
            if (profile := self._profiles.get(name)) is not None and profile.is_for(namespace)
            for claim in profile.claims
        }
        pods = set(named)
        present = set(there)
        made_for_pods = {key for key in pods if self._may_use(*key)}
        needed = wanted | pods
        for key in present:
            if key in needed or (namespaces.get(key[0]) or "") not in ("", names.PROFILE_NONE, *self._profiles):
                self._unneeded.pop(key, None)
            else:
                self._unneeded.setdefault(key, now)
        for key in self._unneeded.keys() - present:
            del self._unneeded[key]
        due = {key: since + UNNEEDED_SECONDS for key, since in self._unneeded.items()}
        return Work(
            sorted((wanted | made_for_pods) - present),
            sorted(key for key, at in due.items() if at <= now),
            min((at - now for at in due.values() if at > now), default=None),
        )

    def _may_use(self, namespace: str, name: str) -> bool:
        """Tell whether a pod of the namespace may have what it names: a label by which it says so is not trusted.

        Several profiles may give the same claim, each to other namespaces.
        """
        content = self._contents.get(name)
        return content is not None and any(
            profile.is_for(namespace)
            for profile in self._profiles.values()
            if profile.name == content.profile or any(template_name(claim) == name for claim in profile.claims)
        )
