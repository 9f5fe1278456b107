"""Read the profiles in a process of their own: it ends when it has, with pydantic and whatever else that took."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from webhook.core.cluster.profile_status import Content
from webhook.core.errors import InputError, ProfilesError
from webhook.core.profiles import Profiles
from webhook.core.profiles.objects import PROFILE_API_VERSION, PROFILE_KIND
from webhook.serve.plain import from_plain
from webhook.serve.slot import Slot

SECONDS = 20.0
DATA_BYTES = 96 << 20
"""As much as the page's process may have: one of the two runs at a time."""
TOO_LARGE = 3
"""Its exit status where that is too little."""


def parse_profiles_apart(content: bytes, slot: Slot) -> Profiles:
    """Read the content of profiles.yaml as ``parse_profiles`` does, in a process that takes *slot* from whoever has it.

    Raises ProfilesError with every fault, InputError where the process fails.
    """
    command = [sys.executable, "-m", "webhook", "read-profiles"]
    try:
        with slot.evicting():
            done = subprocess.run(
                command, input=content, stdout=subprocess.PIPE, timeout=SECONDS, check=False, start_new_session=True
            )
    except subprocess.TimeoutExpired:
        raise InputError(f"the profiles cannot be read in {SECONDS:g} s; make the file smaller") from None
    except OSError as error:
        raise InputError(f"the process that reads the profiles cannot be started: {error.strerror}") from None
    if done.returncode == TOO_LARGE:
        raise InputError(f"the profiles need more than {DATA_BYTES >> 20} MiB to be read; make the file smaller")
    if done.returncode:
        how = signal.strsignal(-done.returncode) if done.returncode < 0 else f"status {done.returncode}"
        raise InputError(f"the process that reads the profiles has ended ({how}); the log may say more")
    read = json.loads(done.stdout)
    if "problems" in read:
        raise ProfilesError(from_plain(read["problems"]))
    profiles: Profiles = from_plain(read["profiles"])
    return profiles


def read_contents_apart(specs: Mapping[str, Any], slot: Slot) -> dict[str, Content]:
    """Read the contents of FabricProfiles by name, each as if there were no other: one with a fault hides none."""
    if not specs:
        return {}
    objects = [
        {"apiVersion": PROFILE_API_VERSION, "kind": PROFILE_KIND, "metadata": {"name": name}, "spec": spec}
        for name, spec in specs.items()
    ]
    try:
        read = parse_profiles_apart(json.dumps({"kind": "List", "items": objects}).encode(), slot)
        return {name: Content(profile) for name, profile in read.profiles.items()}
    except (ProfilesError, InputError) as error:
        names = list(specs)
        if len(names) == 1:
            return {names[0]: _content(names[0], error)}
    half = len(names) // 2  # to find one faulty content of a thousand takes ten more processes, not a thousand
    parts = ({name: specs[name] for name in part} for part in (names[:half], names[half:]))
    return {name: content for part in parts for name, content in read_contents_apart(part, slot).items()}


def _content(name: str, error: ProfilesError | InputError) -> Content:
    if isinstance(error, InputError):
        return Content(None, str(error), is_read=False)
    told = "; ".join(f"{problem.path}: {problem.message}" for problem in error.problems)
    return Content(None, told.replace(f"{PROFILE_KIND} {name}: ", ""))
