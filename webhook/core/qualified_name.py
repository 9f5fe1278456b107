"""Judge names as Kubernetes judges them.

Source: k8s.io/apimachinery pkg/api/validate/content, pkg/util/validation; k8s.io/kubernetes
pkg/apis/core/helper/helpers.go.
"""

import re

DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_SUBDOMAIN = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
LABEL_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_DNS_SUBDOMAIN = re.compile(DNS_SUBDOMAIN)
_LABEL_NAME = re.compile(LABEL_NAME)


def is_dns_subdomain(text: str) -> bool:
    """Tell whether *text* is an RFC 1123 subdomain: most objects' name."""
    return len(text) <= 253 and _DNS_SUBDOMAIN.fullmatch(text) is not None


def is_label_key(text: str) -> bool:
    """Tell whether *text* is a label key, a qualified name to Kubernetes: ``[subdomain/]name``."""
    prefix, slash, name = text.rpartition("/")
    return (not slash or is_dns_subdomain(prefix)) and bool(name) and is_label_value(name)


def is_label_value(text: str) -> bool:
    """Tell whether *text* is a label value; empty is one."""
    return not text or (len(text) <= 63 and _LABEL_NAME.fullmatch(text) is not None)


def is_extended_resource(text: str) -> bool:
    """Tell whether a container can ask for the extended resource *text*.

    Source: IsExtendedResourceName, validateContainerResourceName.
    """
    is_kept = "kubernetes.io/" in text or text.startswith("requests.")
    return "/" in text and not is_kept and is_label_key(text) and is_label_key(f"requests.{text}")
