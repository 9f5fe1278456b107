"""Names: the verdicts were printed by k8s.io/apimachinery v0.36.3 (validation.IsQualifiedName and its relatives)."""

import pytest

from webhook.core.qualified_name import (
    extended_resource_problem,
    is_dns_label,
    is_dns_subdomain,
    is_env_name,
    is_label_key,
    is_label_value,
)

LONGEST_DOMAIN = ".".join(["a" * 63] * 3 + ["a" * 61])


@pytest.mark.parametrize("text", ["a", "rails", "9", "a-b", "a" * 63])
def test_takes_a_dns_label(text: str) -> None:
    assert is_dns_label(text)


@pytest.mark.parametrize(
    "text", ["", "A", "a.b", "a_b", "-a", "a-", "a" * 64, "a\n", "é"], ids=repr
)
def test_refuses_what_is_no_dns_label(text: str) -> None:
    assert not is_dns_label(text)


@pytest.mark.parametrize("text", ["a", "a.b", "rail-0.fabric", LONGEST_DOMAIN])
def test_takes_a_dns_subdomain(text: str) -> None:
    assert is_dns_subdomain(text)


@pytest.mark.parametrize(
    "text", ["", ".", "a..b", ".a", "a.", "a.-b", LONGEST_DOMAIN + "a", "a\n"], ids=repr
)
def test_refuses_what_is_no_dns_subdomain(text: str) -> None:
    assert not is_dns_subdomain(text)


@pytest.mark.parametrize(
    "text", ["a", "A_b.C-9", "a.b/c", "rdma/A", f"{LONGEST_DOMAIN}/{'b' * 63}"]
)
def test_takes_a_label_key(text: str) -> None:
    assert is_label_key(text)


@pytest.mark.parametrize(
    "text", ["", "/a", "a/", "a/b/c", "A/b", "a/-b", "_a", "a" * 64, "a/b\n"], ids=repr
)
def test_refuses_what_is_no_label_key(text: str) -> None:
    assert not is_label_key(text)


@pytest.mark.parametrize("text", ["", "a", "A_b.C-9", "a" * 63], ids=repr)
def test_takes_a_label_value(text: str) -> None:
    assert is_label_value(text)


@pytest.mark.parametrize("text", ["-", "a/b", "a b", "a" * 64, "a\n"], ids=repr)
def test_refuses_what_is_no_label_value(text: str) -> None:
    assert not is_label_value(text)


@pytest.mark.parametrize("text", ["A", "_", "my.env-name", "-a", ".a", "NCCL_IB_HCA"])
def test_takes_a_variable_name(text: str) -> None:
    assert is_env_name(text)


@pytest.mark.parametrize("text", ["", "1A", "A=B", "A B", ".", "..", "..a", "A\n", "é"], ids=repr)
def test_refuses_what_is_no_variable_name(text: str) -> None:
    assert not is_env_name(text)


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
