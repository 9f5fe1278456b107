"""Say whether the profiles can be used, and which were looked at."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.core.finding import Finding
from webhook.diagnose.check.inventory import ProfilesRead
from webhook.diagnose.wording import counted, listed

TOPIC = "profiles"


def check_profiles(read: ProfilesRead, *, is_installed: bool) -> Iterator[Finding]:
    """Tell each fault with its line; profiles that could not be read are told with all else that could not be."""
    if read.profiles is not None:
        named = f": {listed(sorted(read.profiles.profiles), 10)}" if read.profiles.profiles else ""
        yield Finding("ok", TOPIC, read.source, f"{counted(len(read.profiles.profiles), 'profile')}, valid{named}")
    for fault in read.faults:
        yield Finding(
            "fail",
            TOPIC,
            f"{read.source}, line {fault.line}",
            f"{fault.path}: {fault.message}",
            "correct it; a webhook that runs keeps the last good profiles, one that starts ends",
        )
    if read.profiles is None and not read.faults and not read.problem:
        if is_installed:
            action = "create it from your profiles.yaml: the webhook does not start without"
            yield Finding("fail", TOPIC, read.source, "does not exist", action)
        else:
            message = "does not exist yet, so that neither networks nor devices were looked for"
            yield Finding(
                "warn", TOPIC, read.source, message, "give --profiles FILE to look at yours before installation"
            )
