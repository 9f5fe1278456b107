"""Which names of a client's certificate count."""

from webhook.http.listener import names_of


def test_common_and_dns_names_count_each_once_and_nothing_else() -> None:
    certificate = {
        "subject": ((("organizationName", "system:masters"),), (("commonName", "a"),)),
        "subjectAltName": (
            ("DNS", "a"),
            ("DNS", "*.example"),
            ("IP Address", "10.0.0.1"),
            ("URI", "spiffe://a"),
        ),
    }
    assert names_of(certificate) == ("a", "*.example")
    assert names_of({}) == ()
