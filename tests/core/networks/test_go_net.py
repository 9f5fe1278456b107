"""Addresses as Go's net package reads them."""

from __future__ import annotations

import pytest

from webhook.core.networks.go_net import is_cidr, is_mac, parse_ip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("02:00:5e:10:00:01", True),
        ("02-00-5E-10-00-01", True),
        ("0200.5e10.0001", True),
        ("02005e100001", True),
        ("02:00:5e:10:00:00:00:01", True),
        ("0200.5e10.0000.0001", True),
        ("02005e1000000001", True),
        (":".join(["a0"] * 20), True),
        (".".join(["a0b1"] * 10), True),
        ("a0" * 20, True),
        ("", False),
        ("02:00:5e:10:00", False),
        ("02:00:5e:10:00:01:02", False),
        ("02:00:5e:10:00-01", False),
        ("2:0:5e:10:0:1", False),
        ("02:00:5e:10:00:0g", False),
        ("02:00:5e:10:00:01 ", False),
        ("0x02005e100001", False),
        ("0200.5e10", False),
        (".".join(["a0b1"] * 9), False),
        ("a0" * 7, False),
    ],
)
def test_tells_hardware_addresses(text: str, expected: bool) -> None:
    assert is_mac(text) is expected


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("::", "::"),
        ("FD00::7", "fd00::7"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("::ffff:10.0.0.7", "::ffff:a00:7"),
        ("1:2:3:4:5:6:10.0.0.7", "1:2:3:4:5:6:a00:7"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
    ],
)
def test_reads_addresses(text: str, canonical: str) -> None:
    assert int(parse_ip(text) or 0) == int(parse_ip(canonical) or 0)
    assert parse_ip(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "10.0.0.07",
        "10.0.0",
        "10.0.0.256",
        "10.0.0.7 ",
        "10.0.0.7/24",
        "10.0.0.7%eth0",
        "0x0a.0.0.7",
        "\u0661.0.0.7",
        ":",
        ":::",
        "fe80::1%net1",
        "::1%",
        "1::2::3",
        "1:2:3:4:5:6:7::8",
        "12345::",
        "::g",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7:10.0.0.7",
        "::10.0.0.07",
        "[::1]",
        "localhost",
    ],
)
def test_refuses_what_is_no_address(text: str) -> None:
    assert parse_ip(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.7/24", True),
        ("10.0.0.0/0", True),
        ("10.0.0.0/32", True),
        ("10.0.0.0/00024", True),
        ("10.0.0.0/" + "0" * 100_000, True),
        ("::ffff:10.0.0.7/120", True),
        ("fd00::/128", True),
        ("10.0.0.7", False),
        ("10.0.0.7/", False),
        ("10.0.0.7/33", False),
        ("fd00::/129", False),
        ("fd00::/" + "1" * 100_000, False),
        ("10.0.0.7/+8", False),
        ("10.0.0.7/-1", False),
        ("10.0.0.7/8/8", False),
        ("10.0.0.7/\u0668", False),
        ("fe80::1%eth0/64", False),
        ("/24", False),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_tells_addresses_with_prefix_length(text: str, expected: bool) -> None:
    assert is_cidr(text) is expected
