"""Read the profiles for ``serve``, which starts this alone; not listed."""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from typing import Any

import click


@click.command("read-profiles")
@click.argument("what", type=click.Choice(["file", "configuration", "objects"]))
def command(what: str) -> None:
    """Read profiles from standard input, and write plain data: the value, or all problems.

    file: the content of profiles.yaml. configuration: that of a configuration file. objects: the contents of FabricProfiles by name,
    as JSON; what is written is by name too.
    """
    from webhook.core.profiles.load import parse_configuration, parse_profiles, read_profile
    from webhook.serve.profiles_process import DATA_BYTES, SECONDS, TOO_LARGE

    resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES))
    resource.setrlimit(
        resource.RLIMIT_CPU, (int(SECONDS), int(SECONDS))
    )  # it may outlive who started it, but not for long
    try:
        content = sys.stdin.buffer.read()
        if what == "file":
            told = _tell(parse_profiles, content)
        elif what == "configuration":
            told = _tell(parse_configuration, content)
        else:
            told = {
                name: _tell(read_profile, name, spec) for name, spec in json.loads(content).items()
            }
    except MemoryError:
        os._exit(TOO_LARGE)  # what was made of them is still held: there is no memory to say more
    json.dump(told, sys.stdout)


def _tell(read: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    from webhook.core.errors import ProfilesError
    from webhook.serve.plain import to_plain

    try:
        return {"value": to_plain(read(*arguments))}
    except ProfilesError as error:
        return {"problems": to_plain(error.problems)}
