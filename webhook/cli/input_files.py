"""Read the files that a command names; ``-`` is standard input."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from webhook.world.profiles_read import ProfilesRead


_EXTENSIONS = (".json", ".yaml", ".yml")
"""What kubectl reads of a folder."""


def read_manifests(
    manifests: Sequence[Path],
    warnings: dict[int, Sequence[str]] | None = None,
    *,
    recursive: bool = False,
) -> list[Any]:
    """Read the documents of all files; raise InputError with the file and what is wrong in it, or where all are empty.

    Of a folder its files are read as kubectl reads them, with *recursive* those of the folders inside too.
    *warnings* is filled as `parse_documents` fills it, with the file's name.
    """
    from webhook.core.errors import InputError
    from webhook.dry_run.templates import parse_documents

    documents: list[Any] = []
    for path in list_files(manifests, recursive=recursive):
        text = read_text(path)
        found: dict[int, Sequence[str]] = {}
        try:
            documents += parse_documents(text, warnings=found)
        except InputError as error:
            raise InputError(f"{shown(path)}: {error}") from None
        if warnings is not None:
            warnings |= {
                key: [f"{shown(path)}: {each}" for each in of_one] for key, of_one in found.items()
            }
    if not documents:
        raise InputError(
            f"{', '.join(map(shown, manifests))}: expected a manifest, found nothing; give it some object"
        )
    return documents


def list_files(paths: Sequence[Path], *, recursive: bool) -> list[Path]:
    """Return the files, and of folders those that kubectl reads; raise InputError where a folder has none."""
    from webhook.core.errors import InputError

    files: list[Path] = []
    for path in paths:
        if path.name == "-" or not path.is_dir():
            files.append(path)
            continue
        inside = path.glob("**/*" if recursive else "*")
        found = sorted(
            each for each in inside if each.name.endswith(_EXTENSIONS) and not each.is_dir()
        )
        if not found:
            remedy = (
                "name a file" if recursive else "name a file, or give -R to read the folders inside"
            )
            raise InputError(
                f"{path}: expected files that end in {', '.join(_EXTENSIONS)}, found none; {remedy}"
            )
        files += found
    return files


def read_text(path: Path) -> str:
    """Read a file, or standard input for ``-``; raise InputError where it cannot be read or is not UTF-8."""
    from webhook.core.errors import InputError
    from webhook.core.printable import quoted
    from webhook.core.yaml_reader import decode

    try:
        content = sys.stdin.buffer.read() if path.name == "-" else path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{shown(path)}: cannot be read ({error.strerror}); correct the path or its mode"
        ) from None
    except ValueError:
        raise InputError(
            f"{quoted(shown(path))}: is no path of a file, which holds no NUL; correct it"
        ) from None
    try:
        return decode(content)
    except InputError as error:
        raise InputError(f"{shown(path)}: {error}") from None


def shown(path: Path) -> str:
    """Name a file for people."""
    return "standard input" if path.name == "-" else str(path)


def read_profiles_option(path: Path | None) -> ProfilesRead | None:
    """Read the profiles of ``--profiles``; None where it was not given. Raises InputError where they cannot be used."""
    if path is None:
        return None
    from webhook.world.profiles_read import read_file

    read = read_file(str(path), read_text(path))
    read.known()
    return read
