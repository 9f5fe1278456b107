"""Which names of a client's certificate count."""

from typing import Any

from tests.tables import table
from webhook.http.listener import names_of


@table(
    "certificate, names",
    {
        "no certificate": ({}, ()),
        "common name": ({"subject": ((("commonName", "kube-apiserver"),),)}, ("kube-apiserver",)),
        "an organization is no name": (
            {
                "subject": ((("organizationName", "system:masters"),), (("commonName", "a"),)),
                "subjectAltName": (),
            },
            ("a",),
        ),
        "DNS names, as they are": (
            {"subject": (), "subjectAltName": (("DNS", "a.example"), ("DNS", "*.example"))},
            ("a.example", "*.example"),
        ),
        "other kinds do not count": (
            {
                "subject": (),
                "subjectAltName": (
                    ("IP Address", "10.0.0.1"),
                    ("email", "a@b"),
                    ("URI", "spiffe://a"),
                ),
            },
            (),
        ),
        "each once": (
            {
                "subject": ((("commonName", "a"), ("commonName", "b")),),
                "subjectAltName": (("DNS", "a"),),
            },
            ("a", "b"),
        ),
    },
)
def test_reads(certificate: dict[str, Any], names: tuple[str, ...]) -> None:
    assert names_of(certificate) == names
