"""Remember on the pod what was added to its own devices, so that another pass over it adds nothing more."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.model import Object

_ANNOTATIONS = ("metadata", "annotations")


def read_added(pod: Object) -> dict[str, int]:
    """Read ``rdma/a=2,rdma/b=1``; pieces that say no number say nothing."""
    added: dict[str, int] = {}
    for piece in podspec.annotations(pod).get(names.ADDED_DEVICES, "").split(","):
        resource, _, amount = piece.partition("=")
        if amount.isascii() and amount.isdigit() and len(amount) < 20:
            added[resource] = int(amount)
    return added


def write_added(draft: Draft, amounts: Mapping[str, int | Fraction]) -> None:
    """Set the annotation to *amounts*, or remove it where there are none."""
    text = ",".join(f"{resource}={amount}" for resource, amount in amounts.items())
    if text:
        draft.set_key(_ANNOTATIONS, names.ADDED_DEVICES, text)
    elif names.ADDED_DEVICES in podspec.annotations(draft.pod):
        draft.remove_key(_ANNOTATIONS, names.ADDED_DEVICES)
