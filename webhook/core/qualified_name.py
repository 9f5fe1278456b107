"""Judge names as Kubernetes judges them.

Source: k8s.io/apimachinery pkg/api/validate/content, pkg/util/validation; k8s.io/kubernetes pkg/apis/core/helper/helpers.go.
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
    """Tell whether *text* is a label key, which Kubernetes also calls a qualified name: ``[subdomain/]name``."""
    prefix, slash, name = text.rpartition("/")
    return (not slash or is_dns_subdomain(prefix)) and bool(name) and is_label_value(name)


def is_label_value(text: str) -> bool:
    """Tell whether *text* is a label value; empty is one."""
    return not text or (len(text) <= 63 and _LABEL_NAME.fullmatch(text) is not None)


def extended_resource_problem(text: str) -> str:
    """Say why a container cannot ask for the extended resource *text*; empty where it can.

    Source: IsExtendedResourceName, validateContainerResourceName.
    """
    if "/" not in text:
        return "has no domain; write domain/name, such as rdma/rdma_shared_device_a"
    if "kubernetes.io/" in text:
        return "is in kubernetes.io/, which Kubernetes keeps for itself"
    if text.startswith("requests."):
        return "starts with requests., which only a ResourceQuota may write"
    if not is_label_key(text) or not is_label_key(f"requests.{text}"):
        return (
            "is not a qualified name; write domain/name: a lowercase DNS domain of at most 244 characters, "
            "and a name of at most 63 letters, digits, '-', '_', '.' that starts and ends with a letter or digit"
        )
    return ""
