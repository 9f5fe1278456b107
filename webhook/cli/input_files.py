"""Read the files that a command names; ``-`` is standard input."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from webhook.core.errors import InputError
from webhook.core.printable import quoted
from webhook.core.yaml_reader import decode
from webhook.dry_run.templates import parse_documents
from webhook.world.profiles_read import ProfileFault, ProfilesRead, read_file

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
