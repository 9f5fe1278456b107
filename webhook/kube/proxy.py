"""Choose the HTTP proxy that the environment asks for, by the rules that kubectl (Go) follows."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit


def environment_proxy(server: str, environ: Mapping[str, str]) -> str:
    """Give the proxy for the URL *server* from HTTPS_PROXY, HTTP_PROXY and NO_PROXY (either case); empty for none.

    NO_PROXY lists host names (their subdomains too), addresses, CIDR ranges, or ``*``. Loopback is never proxied.
    Source: golang.org/x/net/http/httpproxy.
    """
    url = urlsplit(server)
    proxy, exempt = (
        environ.get(key) or environ.get(key.lower(), "")
        for key in (f"{url.scheme.upper()}_PROXY", "NO_PROXY")
    )
    host = url.hostname or ""
    if (
        not proxy
        or _is_loopback(host)
        or any(_matches(host, entry.strip().lower()) for entry in exempt.split(","))
    ):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _matches(host: str, entry: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        name = entry.removeprefix("*").removeprefix(".")
        return entry == "*" or (name != "" and (host == name or host.endswith(f".{name}")))
