"""Read the profiles in a process of their own: it ends when it has, with pydantic and whatever else that took."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

from webhook.core.errors import InputError, ProfilesError
from webhook.core.profiles import Profiles
from webhook.serve.plain import from_plain
from webhook.serve.slot import Slot

SECONDS = 20.0
DATA_BYTES = 96 << 20
"""As much as the page's process may have: one of the two runs at a time."""
TOO_LARGE = 3
"""Its exit status where that is too little."""


def parse_profiles_apart(content: bytes, slot: Slot, seconds: float = SECONDS, *, yields: bool = False) -> Profiles:
    """Read the content of profiles.yaml as ``parse_profiles`` does, in a process that takes *slot* from whoever has it.

    *yields*: others come first, for the slot as for the processor.
    Raises ProfilesError with every fault, InputError where the process fails or is not done within *seconds*.
    """
    deadline = time.monotonic() + seconds
    command = [sys.executable, "-m", "webhook", "read-profiles", *(["--yields"] if yields else [])]
    try:
        with slot.evicting(seconds, yields=yields):
            done = subprocess.run(
                command,
                input=content,
                stdout=subprocess.PIPE,
                timeout=max(0.0, deadline - time.monotonic()),
                check=False,
                start_new_session=True,
            )
    except TimeoutError:
        raise InputError(f"another process of ours has not ended in {seconds:.3g} s; try again in a minute") from None
    except subprocess.TimeoutExpired:
        raise InputError(
            f"the profiles cannot be read in {seconds:.3g} s; make the file smaller, or try again"
        ) from None
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
