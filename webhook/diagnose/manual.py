"""Collect the codes of all rules: what each means, and what to do."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import webhook.diagnose
from webhook.core.profiles.slips import did_you_mean
from webhook.diagnose.finding import Code


def all_codes() -> dict[str, Code]:
    """Return the codes of every module of webhook.diagnose, by name, topic by topic."""
    found: dict[str, Code] = {}
    for module in pkgutil.walk_packages(webhook.diagnose.__path__, "webhook.diagnose."):
        values = vars(import_module(module.name)).values()
        found |= {each.name: each for each in values if isinstance(each, Code)}
    return dict(sorted(found.items(), key=lambda item: (item[1].topic, item[0])))


def find_code(written: str) -> tuple[Code | None, str]:
    """Return the code of this name, else None and the name that may be meant."""
    known, name = all_codes(), written.strip().lower().replace("_", "-")
    return known.get(name), did_you_mean(name, known)
