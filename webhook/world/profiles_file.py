"""Read the profiles of a file, and follow its changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from webhook.core.errors import InputError, WebhookError
from webhook.core.profiles import Profiles, parse_profiles
from webhook.world.followed_file import FollowedFile


def read_profiles(path: Path) -> Profiles:
    """Read the profiles in the file at *path*.

    Raises ProfilesError with every fault of the content, InputError where the file cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"profiles file {path}: cannot be read: {error.strerror}") from error
    return parse_profiles(content)


class ProfilesFile(FollowedFile[Profiles]):
    """Hold the profiles of a file. Raises ProfilesError or InputError where it cannot be used at start."""

    def __init__(
        self,
        path: Path,
        *,
        parse: Callable[[bytes], Profiles] = parse_profiles,
        on_reload: Callable[[Profiles], None] = lambda _: None,
        on_error: Callable[[WebhookError], None] = lambda _: None,
        interval_seconds: float = 1.0,
    ) -> None:
        super().__init__(
            path,
            parse=parse,
            on_reload=on_reload,
            on_error=on_error,
            interval_seconds=interval_seconds,
        )

    def checks(self) -> Mapping[str, str]:
        """Say what keeps the profiles from being known: nothing, once they were read."""
        return {"profiles": ""}
