"""Judge the ConfigMap that holds the Configuration: its author hears of a mistake at once, and not from a log."""

from __future__ import annotations

from typing import Any

from webhook.core import names
from webhook.core.errors import ProfilesError, Unavailable
from webhook.core.validation import MOST_FAULTS, Validation, ValidationWorld
from webhook.core.wording import listed


def review_configuration(data: Any, world: ValidationWorld) -> Validation:
    """Judge *data*, that of the ConfigMap as it would be."""
    subject = f"ConfigMap {names.CONFIG_MAP}"
    found = data if isinstance(data, dict) else {}
    content = found.get(names.CONFIG_FILE)
    if not isinstance(content, str):
        keys = f"its keys are {listed(sorted(map(str, found)))}" if found else "it has no data"
        return Validation(warnings=(f"{subject}: {names.CONFIG_FILE} is missing, and {keys}: the defaults hold",))
    try:
        world.check_configuration(content)
    except ProfilesError as error:
        faults = listed(map(str, error.problems), MOST_FAULTS, "; ")
        return Validation(f"{subject}: {names.CONFIG_FILE}: {faults}")
    except Unavailable as error:
        return Validation(warnings=(f"{subject}: its content was not checked: {error}",))
    return Validation()
