"""Certificates as clients judge them: strict verification, names, times and key usages."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs.issue import KeyPair, issue_authority, issue_serving

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
YEAR, MONTH = timedelta(days=365), timedelta(days=30)
NAMES = (
    "fabric-injector.fabric-injector-system.svc",
    "fabric-injector.fabric-injector-system.svc.cluster.local",
)


@pytest.fixture(scope="module")
def authority() -> KeyPair:
    return issue_authority("fabric-injector CA", now=NOW, lifetime=YEAR)


@pytest.fixture(scope="module")
def serving(authority: KeyPair) -> KeyPair:
    return issue_serving(
        authority,
        "fabric-injector",
        dns_names=NAMES,
        ip_addresses=("127.0.0.1", "::1"),
        now=NOW,
        lifetime=MONTH,
    )


def certificate(pair: KeyPair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate)


def verify(authority: KeyPair, serving: KeyPair, name: str, at: datetime) -> None:
    builder = PolicyBuilder().store(Store([certificate(authority)])).time(at)
    builder.build_server_verifier(x509.DNSName(name)).verify(certificate(serving), [])


@pytest.mark.parametrize("name", NAMES)
def test_a_strict_verifier_accepts_it(authority: KeyPair, serving: KeyPair, name: str) -> None:
    verify(authority, serving, name, NOW)


@pytest.mark.parametrize(
    ("name", "at"),
    [
        pytest.param("other.svc", NOW, id="another name"),
        pytest.param(NAMES[0], NOW + MONTH + timedelta(seconds=1), id="after its end"),
        pytest.param(NAMES[0], NOW - timedelta(minutes=6), id="before its start"),
    ],
)
def test_is_refused_for(authority: KeyPair, serving: KeyPair, name: str, at: datetime) -> None:
    with pytest.raises(VerificationError):
        verify(authority, serving, name, at)


def test_makes_an_authority_that_signs_leaves_only(authority: KeyPair) -> None:
    found = certificate(authority)
    basic = found.extensions.get_extension_for_class(x509.BasicConstraints)
    usage = found.extensions.get_extension_for_class(x509.KeyUsage)
    assert (basic.critical, basic.value.ca, basic.value.path_length) == (True, True, 0)
    assert (usage.critical, usage.value.key_cert_sign, usage.value.digital_signature) == (
        True,
        True,
        False,
    )
    assert (found.not_valid_before_utc, found.not_valid_after_utc) == (
        NOW - timedelta(minutes=5),
        NOW + YEAR,
    )


def test_makes_a_leaf_for_servers_only(authority: KeyPair, serving: KeyPair) -> None:
    found = certificate(serving)
    usage = found.extensions.get_extension_for_class(x509.KeyUsage).value
    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert (usage.digital_signature, usage.key_cert_sign) == (True, False)
    extended = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(extended) == [ExtendedKeyUsageOID.SERVER_AUTH]
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == list(NAMES)
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == [
        "127.0.0.1",
        "::1",
    ]
    key = found.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert isinstance(key.curve, ec.SECP256R1)


def test_ends_a_leaf_with_its_authority(authority: KeyPair) -> None:
    late = NOW + YEAR - timedelta(days=1)
    leaf = issue_serving(authority, "late", dns_names=NAMES, now=late, lifetime=MONTH)
    assert certificate(leaf).not_valid_after_utc == NOW + YEAR


def test_refuses_an_expired_authority(authority: KeyPair) -> None:
    with pytest.raises(ValueError, match="the authority expired at 2027-03-01"):
        issue_serving(authority, "late", dns_names=NAMES, now=NOW + YEAR, lifetime=MONTH)
