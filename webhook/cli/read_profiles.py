"""Read the profiles for ``serve``, which starts this alone; not listed."""

from __future__ import annotations

import json
import os
import resource
import sys

import click

NICENESS = 5


@click.command("read-profiles")
@click.option("--yields", is_flag=True)
def command(yields: bool) -> None:
    """Read the content of profiles.yaml from standard input, and write plain data: the profiles, or all problems."""
    from webhook.core.errors import ProfilesError
    from webhook.core.profiles import parse_profiles
    from webhook.serve.plain import to_plain
    from webhook.serve.profiles_process import DATA_BYTES, SECONDS, TOO_LARGE

    if yields:
        os.nice(NICENESS)  # admission comes first
    resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES))
    resource.setrlimit(
        resource.RLIMIT_CPU, (int(SECONDS), int(SECONDS))
    )  # it may outlive who started it, but not for long
    try:
        told = {"profiles": to_plain(parse_profiles(sys.stdin.buffer.read()))}
    except ProfilesError as error:
        told = {"problems": to_plain(error.problems)}
    except MemoryError:
        os._exit(TOO_LARGE)  # what was made of them is still held: there is no memory to say more
    json.dump(told, sys.stdout)
