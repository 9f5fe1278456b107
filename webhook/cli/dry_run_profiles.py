"""Choose the profiles of a dry run: those of a file, of objects, of the cluster, or samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import click

from webhook.cli.input_files import read_text, shown
from webhook.core import names
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.printable import printable
from webhook.core.profiles import Profiles, parse_profiles
from webhook.core.profiles.objects import PROFILE_KIND, SETTINGS_KIND
from webhook.diagnose.wording import listed
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.reader import Reader
from webhook.kube.resource import key_text
from webhook.world.installed_profiles import beside_installed_settings, installed_profiles
from webhook.world.profiles_read import ProfilesRead, of_file_objects, read_file
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
    elsewhere: str = "give --profiles FILE, or --server to ask the cluster",
) -> Profiles:
    """Return the profiles of the file, else of the *found* objects, else of the cluster, else samples.

    *tell* gets what is left out, or taken to have its defaults. *elsewhere*: what to do where the cluster's cannot be used.
    """
    if path:
        read = read_file(shown(path), read_text(path))
        if connection:
            read = beside_installed_settings(
                Reader(connection, LOOKUP_SECONDS), system_namespace, read
            )
        else:
            read = _beside_settings_of(found, read)
        return _told(read, tell)
    if connection:
        return _told(_installed(connection, system_namespace, elsewhere), tell)
    if among := of_file_objects("--objects", found):
        return among.known()
    click.echo("no --profiles: the sample profiles are used, see fabric-injector demo", err=True)
    return parse_profiles(
        files("webhook.demo").joinpath("profiles.yaml").read_text(encoding="utf-8")
    )


def _beside_settings_of(found: list[Object], read: ProfilesRead) -> ProfilesRead:
    """Give profiles of a file the Configuration among the *found* objects, unless the file has one itself."""
    among = of_file_objects(
        "--objects", [each for each in found if each.get("kind") == SETTINGS_KIND]
    )
    if among is None:
        return read
    if read.known().has_settings:
        note(f"the {SETTINGS_KIND} in --objects is not used: {read.source} has one itself")
        return read
    return replace(read, profiles=replace(read.known(), multus=among.known().multus))


def _installed(connection: Connection, system_namespace: str, elsewhere: str) -> ProfilesRead:
    """Read those that the webhook uses."""
    try:
        read = installed_profiles(Reader(connection, LOOKUP_SECONDS), system_namespace)
        read.known()
    except RequestFailed as error:
        if not error.is_refusal:
            raise
        may = (
            ", or ask for ClusterRole fabric-injector-profile-viewer" if error.status == 403 else ""
        )
        raise InputError(f"the profiles cannot be read: {error}; {elsewhere}{may}") from None
    except InputError as error:
        raise InputError(f"{error}; {elsewhere}") from None
    return read


def _told(read: ProfilesRead, tell: Callable[[str], None]) -> Profiles:
    """Return the profiles; say what is left out, and what is taken to have its defaults."""
    profiles = read.known()
    for fault in read.faults:
        left_out = fault.where.removeprefix(f"{PROFILE_KIND} ") in read.unusable
        tell(f"{fault.where}: {fault.message}{'; it is left out here' if left_out else ''}")
    if read.unread:
        tell(read.unread)
    return profiles


def check_profile(name: str | None, known: Profiles) -> None:
    """Raise InputError where no profile has the name that is asked for."""
    if name is not None and name != names.PROFILE_NONE and name not in known.profiles:
        choice = ", ".join([*sorted(known.profiles), names.PROFILE_NONE])
        raise InputError(f"--profile {name}: no profile is named so; use one of: {choice}")


def tell_assumed(world: PermittedWorld) -> None:
    """Say which networks may not be read, and what they are taken for."""
    if world.assumed:
        named = listed(sorted(map(key_text, world.assumed)))
        taken = "taken to exist, to give addresses and to name no device of their own"
        remedy = (
            "ask for get of network-attachment-definitions there, or let --server ask the cluster"
        )
        note(f"networks that you may not read are {taken}: {named}; {remedy}")
