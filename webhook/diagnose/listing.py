"""Hold what was read of a cluster, and what could not be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from webhook.world.view import REFUSED

T = TypeVar("T")


@dataclass(frozen=True, slots=True, order=True)
class Unread:
    """Name a part that could not be read, ``nodes``, and why: the rest is judged without it."""

    what: str
    problem: str

    @property
    def remedy(self) -> str | None:
        """Return what to do where the caller was not refused; None: what the code of such a finding says."""
        return (
            None if REFUSED in self.problem else "mend what the message names, or ask again later"
        )


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """Hold what there is of one kind; *problem*: why it could not be read, else empty. *installed*: the API knows the kind.

    *is_complete*: nothing was left out, neither a broken object nor what comes after too many. *broken*: how many were broken.
    """

    items: tuple[T, ...] = ()
    problem: str = ""
    installed: bool = True
    is_complete: bool = True
    broken: int = 0

    @property
    def known(self) -> tuple[T, ...] | None:
        """Return the objects where they are all, so that what is not among them does not exist; else None."""
        return self.items if self.is_complete and not self.problem else None


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """Hold one object, None where there is none; *problem*: why it could not be read, else empty."""

    value: T | None = None
    problem: str = ""

    @property
    def absent(self) -> bool:
        """Tell whether there is no such object, for certain."""
        return self.value is None and not self.problem
