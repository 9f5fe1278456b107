"""Decide what the controller publishes and complains of: pod metadata in, writes out; no clock, no network."""

from webhook.core.reconcile.jobs import Jobs, Publication, Unit
from webhook.core.reconcile.member import Member, read_member

__all__ = ["Jobs", "Member", "Publication", "Unit", "read_member"]
