"""Keep web pages from a loopback port: those under another name, and those of another origin."""

import re

from webhook.http.refusal import Refusal

OWN_SITES = ("", "none", "same-origin")
"""Values of Sec-Fetch-Site: absent outside browsers, ``none`` for an address that was typed."""
_LOOPBACK = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?", re.IGNORECASE | re.ASCII)


def refuse_foreign(host: str, origin: str, site: str) -> Refusal | None:
    """Judge a request by its headers Host, Origin and Sec-Fetch-Site (W3C Fetch Metadata)."""
    if not _LOOPBACK.fullmatch(host):  # DNS rebinding
        advice = "a web page under another name must not read it"
        return Refusal(421, "host", f"this port answers only http://localhost: {advice}")
    if site not in OWN_SITES or origin.lower() not in ("", f"http://{host.lower()}"):
        found = "the request comes from a web page of another origin"
        return Refusal(403, "cross-site", f"{found}: open this port's own")
    return None
