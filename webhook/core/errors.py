"""Define the exceptions: each is raised where the fact is known, and answered at an edge.

WebhookError
├── Denied            the pod can never work: answered 200, ``allowed: false``, code 422.
├── MalformedReview   the bytes are not an AdmissionReview v1 of a pod: answered 400.
├── Unavailable       cannot know now (cache not synced): answered 503 with Retry-After.
├── ProfilesError     the profiles file cannot be used; holds every problem with its line.
└── InputError        the input of a command cannot be read: answered 400, or exit status 2.
"""

from collections.abc import Sequence
from typing import NamedTuple

from webhook.core.model import Reason


class WebhookError(Exception):
    """Base of every failure that fabric-injector raises on purpose."""


class Denied(WebhookError):
    """Refuse a pod that can never work.

    *further*: other faults of the pod that were found beside this one.
    """

    def __init__(self, step: str, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.step = step
        self.reason = reason
        self.message = message
        self.further: tuple[Denied, ...] = ()


def raise_first(faults: Sequence[Denied]) -> None:
    """Raise the first of the faults of a pod, which carries the others."""
    if faults:
        faults[0].further = tuple(faults[1:])
        raise faults[0]


class MalformedReview(WebhookError):
    """Reject bytes that are not an AdmissionReview v1 of a pod."""


class Unavailable(WebhookError):
    """Say that the answer cannot be known now; the API server may ask again."""


class InputError(WebhookError):
    """Reject the input of a command or of the dry run."""


class Problem(NamedTuple):
    """Name one fault of a file: *path* as ``spec.networks[0].network``, *line* from 1."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.path}: {self.message}"


class ProfilesError(WebhookError):
    """Reject a profiles file, with all its faults at once."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems
