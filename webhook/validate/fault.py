"""Say what a fault of an object is."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.core.yaml_reader import Location


@dataclass(frozen=True, slots=True)
class Fault:
    """Name one fault of an object: where it is, and what is wrong.

    *path*: the API server's, ``spec.podLabels[a.b/c]``, if it is not as *location* says.
    *is_blocking*: it keeps rules around it from evaluation.
    """

    location: Location
    message: str
    path: str = ""
    is_blocking: bool = False

    @property
    def where(self) -> str:
        """Return the path."""
        parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.location)
        return self.path or "".join(parts).removeprefix(".")
