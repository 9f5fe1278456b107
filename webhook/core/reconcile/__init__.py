"""Decide what the controller publishes and complains of: pods in, writes out; no network."""

from webhook.core.reconcile.jobs import Jobs, Publication
from webhook.core.reconcile.member import Fate, Member, Unit, beside_claims, read_member
from webhook.core.reconcile.rank_zero import Suspect

__all__ = ["Fate", "Jobs", "Member", "Publication", "Suspect", "Unit"]
__all__ += ["beside_claims", "read_member"]
