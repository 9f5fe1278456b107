"""Decide what the controller publishes and complains of: pod metadata in, writes out; no clock, no network."""

from webhook.core.reconcile.jobs import Jobs, Unit
from webhook.core.reconcile.member import Member, read_member
from webhook.core.reconcile.publication import Publication

__all__ = ["Jobs", "Member", "Publication", "Unit", "read_member"]
