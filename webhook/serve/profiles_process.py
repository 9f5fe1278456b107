"""Read the profiles in a process of their own: it ends when it has, with pydantic and whatever else that took."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from webhook.core.errors import InputError, ProfilesError
from webhook.core.profiles import ClusterSettings, Profile, Profiles
from webhook.serve.plain import from_plain
from webhook.serve.slot import Slot

SECONDS = 20.0
DATA_BYTES = 96 << 20
"""Most memory for data, whatever the profiles hold: the container has room for it, beside admission's 120 MB."""
TOO_LARGE = 3
"""Its exit status where that is too little."""


def parse_profiles_apart(content: bytes, slot: Slot, seconds: float = SECONDS) -> Profiles:
    """Read the content of profiles.yaml as ``parse_profiles`` does, in a process that has *slot* meanwhile.

    Raises ProfilesError with every fault, InputError where the process fails or is not done within *seconds*.
    """
    profiles: Profiles = _value(_run("file", content, slot, seconds))
    return profiles


def parse_configuration_apart(
    content: bytes, slot: Slot, seconds: float = SECONDS
) -> ClusterSettings:
    """Read the content of a configuration file as ``parse_configuration`` does, otherwise as above."""
    settings: ClusterSettings = _value(_run("configuration", content, slot, seconds))
    return settings


def parse_objects_apart(
    contents: Mapping[str, bytes], slot: Slot, seconds: float = SECONDS
) -> Mapping[str, Profile | ProfilesError]:
    """Read the contents of FabricProfiles, JSON by name, all in one process: each is a profile or every fault of it.

    Raises InputError where the process fails or is not done within *seconds*.
    """
    content = b"{%s}" % b",".join(
        json.dumps(name).encode() + b":" + spec for name, spec in contents.items()
    )
    found = _run("objects", content, slot, seconds)
    return {name: _result(each) for name, each in found.items()}


def _result(found: Any) -> Profile | ProfilesError:
    try:
        profile: Profile = _value(found)
    except ProfilesError as error:
        return error
    return profile


def _value(found: Any) -> Any:
    if "problems" in found:
        raise ProfilesError(from_plain(found["problems"]))
    return from_plain(found["value"])


def _run(what: str, content: bytes, slot: Slot, seconds: float = SECONDS) -> Any:
    deadline = time.monotonic() + seconds
    command = [sys.executable, "-m", "webhook", "read-profiles", what]
    noun = "configuration" if what == "configuration" else "profiles"
    try:
        with slot.held(seconds):
            done = subprocess.run(
                command,
                input=content,
                stdout=subprocess.PIPE,
                timeout=max(0.0, deadline - time.monotonic()),
                check=False,
                start_new_session=True,
            )
    except TimeoutError:
        raise InputError(
            f"another process of ours has not ended in {seconds:.3g} s; try again in a minute"
        ) from None
    except subprocess.TimeoutExpired:
        raise InputError(
            f"the {noun} cannot be read in {seconds:.3g} s; try again, for the machine may be busy, or write less"
        ) from None
    except OSError as error:
        raise InputError(
            f"the process that reads the {noun} cannot be started: {error.strerror}"
        ) from None
    if done.returncode == TOO_LARGE:
        raise InputError(
            f"the {noun} cannot be read with {DATA_BYTES >> 20} MiB of memory; write less"
        )
    if done.returncode:
        raise InputError(
            f"the process that reads the {noun} has ended ({_how_ended(done.returncode)}); the log may say more"
        )
    return json.loads(done.stdout)


def _how_ended(status: int) -> str:
    """Say how a process with this exit status has ended, ``Killed`` or ``status 1``."""
    return (signal.strsignal(-status) if status < 0 else "") or f"status {status}"
