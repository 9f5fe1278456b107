"""Names: the verdicts were printed by k8s.io/apimachinery v0.36.3 (validation.IsQualifiedName and its relatives)."""

from collections.abc import Callable

import pytest

from webhook.core.qualified_name import (
    is_dns_subdomain,
    is_extended_resource,
    is_label_key,
    is_label_value,
)

LONGEST_DOMAIN = ".".join(["a" * 63] * 3 + ["a" * 61])


TAKEN: list[tuple[Callable[[str], bool], list[str]]] = [
    (is_dns_subdomain, ["a", "a.b", "rail-0.fabric", LONGEST_DOMAIN]),
    (is_label_key, ["a", "A_b.C-9", "a.b/c", "rdma/A", f"{LONGEST_DOMAIN}/{'b' * 63}"]),
    (is_label_value, ["", "a", "A_b.C-9", "a" * 63]),
    (is_extended_resource, ["rdma/hca_a", "nvidia.com/x", "networking.gke.io.networks/a-0.IP"]),
]
REFUSED: list[tuple[Callable[[str], bool], list[str]]] = [
    (is_dns_subdomain, ["", ".", "a..b", ".a", "a.", "a.-b", LONGEST_DOMAIN + "a", "a\n"]),
    (is_label_key, ["", "/a", "a/", "a/b/c", "A/b", "a/-b", "_a", "a" * 64, "a/b\n"]),
    (is_label_value, ["-", "a/b", "a b", "a" * 64, "a\n"]),
    (is_extended_resource, ["cpu", "kubernetes.io/a", "node.kubernetes.io/a", "requests.a.b/c"]),
    (is_extended_resource, ["RDMA/a", "rdma/", "/a", "a/b/c", "rdma/a b", f"rdma/{'a' * 64}"]),
    (is_extended_resource, [f"{LONGEST_DOMAIN}/a"]),
]


@pytest.mark.parametrize(("check", "texts"), TAKEN)
def test_takes(check: Callable[[str], bool], texts: list[str]) -> None:
    assert [text for text in texts if not check(text)] == []


@pytest.mark.parametrize(("check", "texts"), REFUSED)
def test_refuses(check: Callable[[str], bool], texts: list[str]) -> None:
    assert [text for text in texts if check(text)] == []
