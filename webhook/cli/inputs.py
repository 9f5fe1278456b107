"""Read what a command is given: files, ``-`` is standard input, and the profiles to go by."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from webhook.core import names
from webhook.core.errors import InputError
from webhook.core.printable import printable
from webhook.core.profiles import Profiles
from webhook.core.profiles.objects import PROFILE_KIND
from webhook.core.wording import listed
from webhook.core.yaml_reader import Document, decode
from webhook.diagnose.snapshot import Snapshot
from webhook.dry_run.templates import parse_documents
from webhook.kube.connection import Connection
from webhook.kube.resource import key_text
from webhook.world.cluster import Cluster
from webhook.world.profiles_read import ProfilesRead, read_file
from webhook.world.view import PermittedWorld

_EXTENSIONS = (".json", ".yaml", ".yml")
"""What kubectl reads of a folder."""


def read_manifests(manifests: Sequence[Path], *, recursive: bool) -> list[Document]:
    """Read the documents of all files; raise InputError with the file and what is wrong in it."""
    documents: list[Document] = []
    for path in list_files(manifests, recursive=recursive):
        text = read_text(path)
        try:
            found = parse_documents(text)
        except InputError as error:
            raise InputError(f"{shown(path)}: {error}") from None
        for each in found:
            warnings = [f"{shown(path)}: {warning}" for warning in each.warnings]
            documents.append(each._replace(warnings=warnings))
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


def shown(path: Path) -> str:
    """Name a file for people."""
    return "standard input" if path.name == "-" else str(path)


def read_profiles(path: Path | None, *, faulty: bool = False) -> ProfilesRead | None:
    """Read the file of ``--profiles``, None without one.

    Raises InputError for a file that cannot be read, and for its faults unless *faulty* ones count.
    """
    if path is None:
        return None
    read = read_file(shown(path), read_text(path))
    if read.faults and not faulty:
        fault = read.faults[0]
        validate = f"fabric-injector profiles validate -f {path} names all faults"
        raise InputError(f"the profiles cannot be used\n{fault.where}: {fault.message}\n{validate}")
    return read


def choose_profiles(read: ProfilesRead, name: str | None) -> Profiles:
    """Return the profiles, and note which are left out.

    Raises InputError where there are none to go by, or none has the *name* that is given.
    """
    profiles = read.known()
    for fault in read.faults:
        left_out = fault.where.removeprefix(f"{PROFILE_KIND} ") in read.unusable
        note(f"{fault.where}: {fault.message}{'; it is left out here' if left_out else ''}")
    choice = (*sorted(profiles.profiles), names.PROFILE_NONE)
    if name is not None and name not in choice:
        named = ", ".join(choice)
        raise InputError(f"--profile {name}: no profile has this name; use one of: {named}")
    return profiles


def permitted_world(connection: Connection) -> PermittedWorld:
    """Return what admission asks of the cluster, for somebody who may not read all networks."""
    return PermittedWorld(Cluster(connection, lookup_seconds=10.0))


def assumed_networks(world: PermittedWorld) -> str:
    """Say which networks the caller may not read; empty for none."""
    if not world.assumed:
        return ""
    named = listed(sorted(map(key_text, world.assumed)))
    return (
        f"networks you cannot read are assumed to exist: {named}; "
        "ask for get of network-attachment-definitions there, or use --server"
    )


def note_unread(snapshot: Snapshot, world: PermittedWorld) -> None:
    """Print what an answer does not know."""
    for each in snapshot.unread():
        note(f"{each.what}: {each.problem}")
    if assumed := assumed_networks(world):
        note(assumed)


def note(text: str) -> None:
    """Print a line beside the answer."""
    click.echo(printable(text, limit=None), err=True)
