"""Names: the verdicts were printed by k8s.io/apimachinery v0.36.3 (validation.IsQualifiedName and its relatives)."""

from collections.abc import Callable

import pytest

from webhook.core.qualified_name import (
    extended_resource_problem,
    is_dns_subdomain,
    is_label_key,
    is_label_value,
)

LONGEST_DOMAIN = ".".join(["a" * 63] * 3 + ["a" * 61])


TAKEN: list[tuple[Callable[[str], bool], list[str]]] = [
    (is_dns_subdomain, ["a", "a.b", "rail-0.fabric", LONGEST_DOMAIN]),
    (is_label_key, ["a", "A_b.C-9", "a.b/c", "rdma/A", f"{LONGEST_DOMAIN}/{'b' * 63}"]),
    (is_label_value, ["", "a", "A_b.C-9", "a" * 63]),
]
REFUSED: list[tuple[Callable[[str], bool], list[str]]] = [
    (is_dns_subdomain, ["", ".", "a..b", ".a", "a.", "a.-b", LONGEST_DOMAIN + "a", "a\n"]),
    (is_label_key, ["", "/a", "a/", "a/b/c", "A/b", "a/-b", "_a", "a" * 64, "a/b\n"]),
    (is_label_value, ["-", "a/b", "a b", "a" * 64, "a\n"]),
]


@pytest.mark.parametrize(("check", "texts"), TAKEN)
def test_takes(check: Callable[[str], bool], texts: list[str]) -> None:
    assert [text for text in texts if not check(text)] == []


@pytest.mark.parametrize(("check", "texts"), REFUSED)
def test_refuses(check: Callable[[str], bool], texts: list[str]) -> None:
    assert [text for text in texts if check(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "rdma/rdma_shared_device_a",
        "nvidia.com/hostdev",
        "openshift.io/eth_rail0",
        "networking.gke.io.networks/rdma-0.IP",
    ],
)
def test_takes_an_extended_resource(text: str) -> None:
    assert extended_resource_problem(text) == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rdma_shared_device_a", "has no domain"),
        ("cpu", "has no domain"),
        ("kubernetes.io/rdma", "kubernetes.io/"),
        ("node.kubernetes.io/rdma", "kubernetes.io/"),
        ("requests.nvidia.com/gpu", "starts with requests."),
        ("RDMA/a", "is not a qualified name"),
        ("rdma/", "is not a qualified name"),
        ("/a", "is not a qualified name"),
        ("a/b/c", "is not a qualified name"),
        ("rdma/a b", "is not a qualified name"),
        (f"rdma/{'a' * 64}", "is not a qualified name"),
        (f"{LONGEST_DOMAIN}/a", "is not a qualified name"),
    ],
)
def test_says_why_no_container_can_ask_for_it(text: str, problem: str) -> None:
    assert problem in extended_resource_problem(text)
