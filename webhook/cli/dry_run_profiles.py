"""Choose the profiles of a dry run: those of a file, of objects or of the cluster."""

from collections.abc import Callable
from pathlib import Path

import click

from webhook.cli.input_files import read_profiles_file
from webhook.core import names
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.printable import printable
from webhook.core.profiles import Profiles
from webhook.core.profiles.objects import PROFILE_KIND
from webhook.diagnose.wording import listed
from webhook.kube.connection import Connection
from webhook.kube.reader import Reader
from webhook.kube.resource import key_text
from webhook.world.installed_profiles import beside_installed_settings, installed_profiles
from webhook.world.profiles_read import of_file_objects
from webhook.world.view import PermittedWorld

LOOKUP_SECONDS = 10.0


def note(text: str) -> None:
    """Print a line beside the answer."""
    click.echo(printable(text, limit=None), err=True)


def choose_profiles(
    path: Path | None,
    found: list[Object],
    connection: Connection | None,
    system_namespace: str,
    *,
    tell: Callable[[str], None] = note,
) -> Profiles:
    """Return the profiles of the file, else of the *found* objects, else of the cluster.

    *tell* gets what is left out. Raises InputError, and Unavailable where they may not be read.
    """
    read = read_profiles_file(path) if path else None
    if connection:
        reader = Reader(connection, LOOKUP_SECONDS)
        if read:
            read = beside_installed_settings(reader, system_namespace, read)
        else:
            read = installed_profiles(reader, system_namespace)
    read = read or of_file_objects("--objects", found)
    if read is None:
        raise InputError("--objects holds no FabricProfile: give --profiles FILE")
    profiles = read.known()
    for fault in read.faults:
        left_out = fault.where.removeprefix(f"{PROFILE_KIND} ") in read.unusable
        tell(f"{fault.where}: {fault.message}{'; it is left out here' if left_out else ''}")
    if read.unread:
        tell(read.unread)
    return profiles


def check_profile(name: str | None, known: Profiles) -> None:
    """Raise InputError where no profile has this name."""
    if name is not None and name != names.PROFILE_NONE and name not in known.profiles:
        choice = ", ".join([*sorted(known.profiles), names.PROFILE_NONE])
        raise InputError(f"--profile {name}: no profile has this name; use one of: {choice}")


def assumed_networks(world: PermittedWorld) -> str:
    """Say which networks the caller may not read; empty for none."""
    if not world.assumed:
        return ""
    named = listed(sorted(map(key_text, world.assumed)))
    return (
        f"networks you cannot read are assumed to exist: {named}; "
        "ask for get of network-attachment-definitions there, or use --server"
    )
