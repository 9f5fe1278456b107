"""Read what a command is given: files, ``-`` is standard input, and the profiles to go by."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from webhook.core import names
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.printable import printable, quoted
from webhook.core.profiles import Profiles
from webhook.core.profiles.objects import PROFILE_KIND
from webhook.core.wording import listed
from webhook.core.yaml_reader import decode
from webhook.dry_run.templates import parse_documents
from webhook.kube.connection import Connection
from webhook.kube.reader import Reader
from webhook.kube.resource import key_text
from webhook.world.installed_profiles import beside_installed_settings, installed_profiles
from webhook.world.profiles_read import ProfileFault, ProfilesRead, of_file_objects, read_file
from webhook.world.view import PermittedWorld

LOOKUP_SECONDS = 10.0

_EXTENSIONS = (".json", ".yaml", ".yml")
"""What kubectl reads of a folder."""


def read_manifests(
    manifests: Sequence[Path], warnings: dict[int, Sequence[str]], *, recursive: bool = False
) -> list[Any]:
    """Read the documents of all files; raise InputError with the file and what is wrong in it.

    `parse_documents` fills *warnings*; each gets the name of its file.
    """
    documents: list[Any] = []
    for path in list_files(manifests, recursive=recursive):
        found: dict[int, Sequence[str]] = {}
        text = read_text(path)
        try:
            documents += parse_documents(text, warnings=found)
        except InputError as error:
            raise InputError(f"{shown(path)}: {error}") from None
        for key, of_one in found.items():
            warnings[key] = [f"{shown(path)}: {each}" for each in of_one]
    if not documents:
        files = ", ".join(map(shown, manifests))
        raise InputError(f"{files}: expected a manifest, found nothing; give it some object")
    return documents


def list_files(paths: Sequence[Path], *, recursive: bool) -> list[Path]:
    """Return the files, and of folders those that kubectl reads; raise InputError if none."""
    files: list[Path] = []
    for path in paths:
        if path.name == "-" or not path.is_dir():
            files.append(path)
            continue
        inside = path.glob("**/*" if recursive else "*")
        found = sorted(each for each in inside if each.suffix in _EXTENSIONS and each.is_file())
        if not found:
            folders = "" if recursive else ", or give -R to read the folders inside"
            expected = f"expected files that end in {', '.join(_EXTENSIONS)}, found none"
            raise InputError(f"{path}: {expected}; name a file{folders}")
        files += found
    return files


def read_text(path: Path) -> str:
    """Read a file, or standard input for ``-``; raise InputError if it is unreadable or no text."""
    try:
        return decode(sys.stdin.buffer.read() if path.name == "-" else path.read_bytes())
    except OSError as error:
        problem = f"cannot be read ({error.strerror}); correct the path or its mode"
        raise InputError(f"{shown(path)}: {problem}") from None
    except InputError as error:
        raise InputError(f"{shown(path)}: {error}") from None
    except ValueError:
        raise InputError(f"{quoted(shown(path))}: a path holds no NUL; correct it") from None


def shown(path: Path) -> str:
    """Name a file for people."""
    return "standard input" if path.name == "-" else str(path)


def read_profiles_file(path: Path) -> ProfilesRead:
    """Read a file of profiles; its faults are all that `profiles validate` finds, if it can run.

    Raises InputError for a file that cannot be read.
    """
    text = read_text(path)
    read = read_file(shown(path), text)
    if not read.faults:
        return read
    try:
        from webhook.validate.text import check_text
    except ModuleNotFoundError:  # it needs an extra
        return read
    found = [
        ProfileFault(f"{shown(path)}, line {each.line}", f"{each.path}: {each.message}")
        for each in check_text(text).problems
    ]
    return replace(read, faults=tuple(found) or read.faults)


def read_profiles_option(path: Path | None) -> ProfilesRead | None:
    """Read the profiles of ``--profiles``, None without it; raise InputError with its faults."""
    if path is None:
        return None
    read = read_profiles_file(path)
    read.known()
    return read


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
