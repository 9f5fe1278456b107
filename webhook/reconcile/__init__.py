"""Decide what the controller publishes and complains of: pod metadata in, writes out; no clock, no network."""

from webhook.reconcile.jobs import Jobs, Unit
from webhook.reconcile.member import Member, read_member
from webhook.reconcile.publication import Publication

__all__ = ["Jobs", "Member", "Publication", "Unit", "read_member"]
