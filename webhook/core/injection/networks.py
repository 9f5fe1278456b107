"""Ask Multus for the profile's networks."""

from collections.abc import Iterator
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Reason
from webhook.core.networks import Attachment
from webhook.core.plan import Plan
from webhook.core.printable import printable
from webhook.core.wording import listed

STEP: Final = Row("networks")
_MOST_LISTED: Final = 20


def inject(draft: Draft, plan: Plan) -> Iterator[Decision]:
    """Write the resulting networks annotation."""
    path, annotation = ("metadata", "annotations"), f"annotation {names.NETWORKS}"
    attached = [attachment for attachment in plan.attachments if not attachment.default]
    if plan.host_network:
        message = "the pod uses the node's network, where Multus attaches nothing"
        yield STEP.skipped(Reason.HOST_NETWORK, message)
        if plan.profile.networks or podspec.annotations(draft.pod).get(names.NETWORKS):
            message = "spec.hostNetwork is true, so Multus attaches no network; remove it to get"
            yield STEP.warned(plan, Reason.HOST_NETWORK, f"{message} the networks")
    elif plan.networks is not None and draft.set_key(path, names.NETWORKS, plan.networks):
        added = [attachment for attachment in attached if attachment.added]
        yield STEP.added(f"{annotation} gets {_listed(added)}")
    elif attached:
        yield STEP.already_there(f"{annotation} has {_listed(attached)} already")


def _listed(attachments: list[Attachment]) -> str:
    shown = [printable(f"{each.key} ({each.interface})") for each in attachments]
    return listed(shown, _MOST_LISTED)
