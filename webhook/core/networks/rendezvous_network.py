"""Choose the attachment on which the ranks of a job meet."""

from __future__ import annotations

from collections.abc import Sequence

from webhook.core.networks.attachment import Attachment
from webhook.core.profiles import Profile


def choose_rendezvous_network(
    profile: Profile, namespace: str, attachments: Sequence[Attachment], places: Sequence[int]
) -> tuple[Attachment | None, str]:
    """Return the attachment whose address counts, or None and a sentence that says why no attachment does.

    1. the profile's rendezvous network, if it says one; then no other;
    2. the first of the profile's networks that gives addresses;
    3. with no networks in the profile, the first attachment that does.

    *attachments*: those of the networks annotation; *places*: index in them of each of the profile's networks.
    """
    named = profile.rendezvous.network
    if named is not None:
        key = f"{named.namespace or namespace}/{named.name}"
        candidates = [one for one in attachments if one.key == key and named.interface in (None, one.interface)][:1]
        if not candidates:
            wanted = f"{key}@{named.interface}" if named.interface else key
            return None, f"profile {profile.name} meets on network {wanted}, which is not attached to the pod"
    else:
        candidates = [attachments[place] for place in places] if profile.networks else list(attachments)
        if not candidates:
            return None, "no secondary network is attached to the pod"
    problems: dict[str, None] = {}
    for attachment in candidates:
        problem = _why_unfit(attachment, profile)
        if not problem:
            return attachment, ""
        problems[problem] = None
    return None, "; ".join(problems)


def _why_unfit(attachment: Attachment, profile: Profile) -> str:
    if not attachment.network.has_ipam:
        return f"network {attachment.key} has no IPAM, so its interface gets no address"
    if attachment.network.ipv6_only and profile.rendezvous.ip_family == "IPv4":
        return f"network {attachment.key} gives IPv6 addresses only, and profile {profile.name} meets on IPv4"
    return ""
