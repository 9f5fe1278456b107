"""Which names of a client's certificate count."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.http.client_names import names_of


@pytest.mark.parametrize(
    ("certificate", "names"),
    [
        pytest.param({}, (), id="no certificate"),
        pytest.param(
            {"subject": ((("commonName", "kube-apiserver"),),)},
            ("kube-apiserver",),
            id="common name",
        ),
        pytest.param(
            {
                "subject": ((("organizationName", "system:masters"),), (("commonName", "a"),)),
                "subjectAltName": (),
            },
            ("a",),
            id="an organization is no name",
        ),
        pytest.param(
            {"subject": (), "subjectAltName": (("DNS", "a.example"), ("DNS", "*.example"))},
            ("a.example", "*.example"),
            id="DNS names, as they are",
        ),
        pytest.param(
            {
                "subject": (),
                "subjectAltName": (
                    ("IP Address", "10.0.0.1"),
                    ("email", "a@b"),
                    ("URI", "spiffe://a"),
                ),
            },
            (),
            id="other kinds do not count",
        ),
        pytest.param(
            {
                "subject": ((("commonName", "a"), ("commonName", "b")),),
                "subjectAltName": (("DNS", "a"),),
            },
            ("a", "b"),
            id="each once",
        ),
    ],
)
def test_reads(certificate: dict[str, Any], names: tuple[str, ...]) -> None:
    assert names_of(certificate) == names
