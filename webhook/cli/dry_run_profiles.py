"""Choose the profiles of a dry run: those of a file, of objects, of the cluster, or samples."""

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
_SAMPLES = "no --profiles: the sample profiles are used, see fabric-injector demo"


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
    """Return the profiles of the file, else of the *found* objects, else of the cluster.

    *tell* gets what is left out. *elsewhere*: what to do where the cluster's cannot be used.
    """
    reader = Reader(connection, LOOKUP_SECONDS) if connection else None
    if path:
        read = read_file(shown(path), read_text(path))
        if reader:
            read = beside_installed_settings(reader, system_namespace, read)
        else:
            read = _beside_settings_of(found, read)
    elif reader:
        read = _installed(reader, system_namespace, elsewhere)
    elif among := of_file_objects("--objects", found):
        return among.known()
    else:
        note(_SAMPLES)
        return sample_profiles()
    profiles = read.known()
    for fault in read.faults:
        left_out = fault.where.removeprefix(f"{PROFILE_KIND} ") in read.unusable
        tell(f"{fault.where}: {fault.message}{'; it is left out here' if left_out else ''}")
    if read.unread:
        tell(read.unread)
    return profiles


def sample_profiles() -> Profiles:
    """Return the profiles of the demo."""
    text = files("webhook.demo").joinpath("profiles.yaml").read_text(encoding="utf-8")
    return parse_profiles(text)


def _beside_settings_of(found: list[Object], read: ProfilesRead) -> ProfilesRead:
    """Give profiles without a Configuration the one among the *found* objects."""
    settings = [each for each in found if each.get("kind") == SETTINGS_KIND]
    among = of_file_objects("--objects", settings)
    if among is None:
        return read
    if read.known().has_settings:
        note(f"the {SETTINGS_KIND} in --objects is not used: {read.source} has one itself")
        return read
    return replace(read, profiles=replace(read.known(), multus=among.known().multus))


def _installed(reader: Reader, system_namespace: str, elsewhere: str) -> ProfilesRead:
    """Read those that the webhook uses."""
    try:
        read = installed_profiles(reader, system_namespace)
        read.known()
    except RequestFailed as error:
        if not error.is_refusal:
            raise
        role = ", or ask for ClusterRole fabric-injector-profile-viewer"
        may = role if error.status == 403 else ""
        raise InputError(f"the profiles cannot be read: {error}; {elsewhere}{may}") from None
    except InputError as error:
        raise InputError(f"{error}; {elsewhere}") from None
    return read


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
