"""Give the training container variables that hold the pod's own address on the fabric.

Servers such as vLLM take the address that they announce from a variable of their own. The address
is known once the network is attached. It comes as rank 0's own does: the controller writes it into
an annotation, and the wait container waits for that.
"""

from collections.abc import Iterable
from typing import Final

from webhook.core.draft import Draft
from webhook.core.injection.device_variables import give
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Reason
from webhook.core.plan import Plan

STEP: Final = Row("address-variables")


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Add the variables that the profile names and the training container lacks."""
    profile, network = plan.profile, plan.rendezvous_network
    if not profile.address_variables:
        return [STEP.not_asked(f"profile {profile.name} names no addressVariables")]
    if plan.rendezvous is None or network is None:
        none = plan.why_no_rendezvous
        reason, why = (none.reason, none.message) if none else (Reason.NO_IPAM, "no network")
        return [STEP.skipped(reason, f"the pod's own address is not published: {why}")]
    writer = plan.source.words.writer
    what = f"the pod's own address on {network.place}, once {writer} has given it"
    return give(draft, plan, STEP, dict.fromkeys(profile.address_variables, "local-addr"), what)
