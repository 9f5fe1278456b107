"""A Secret that anybody may have written: whatever it holds can be read, and never half."""

from itertools import permutations

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st

from certs.bundle import Bundle, read_bundle
from certs.issue import issue_authority, issue_serving
from certs.pem import read_certificates, read_key
from tests.certs.simulation import DAY, NAMES, NOW
from tests.tables import table

AUTHORITY = issue_authority("fabric-injector CA", now=NOW, lifetime=365 * DAY)
OTHER = issue_authority("fabric-injector CA", now=NOW, lifetime=365 * DAY)
LEAF = issue_serving(AUTHORITY, "fabric-injector", dns_names=NAMES, now=NOW, lifetime=30 * DAY)
WHOLE = {
    "tls.crt": LEAF.certificate,
    "tls.key": LEAF.key,
    "ca.crt": AUTHORITY.certificate,
    "ca.key": AUTHORITY.key,
}


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, passphrase: bytes = b"") -> bytes:
    encryption = (
        serialization.BestAvailableEncryption(passphrase)
        if passphrase
        else serialization.NoEncryption()
    )
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )


def parts(bundle: Bundle) -> tuple[bool, bool, int]:
    return bundle.serving is not None, bundle.signer is not None, len(bundle.authorities)


def test_reads_a_whole_one() -> None:
    bundle = read_bundle(WHOLE)
    assert (bundle.serving, bundle.signer) == (LEAF, AUTHORITY)
    assert bundle.ca_bundle == AUTHORITY.certificate


@table(
    "change, found",
    {
        "no certificate": ({"tls.crt": b""}, (False, True, 1)),
        "half a certificate": ({"tls.crt": LEAF.certificate[:300]}, (False, True, 1)),
        "CA as leaf": (
            {"tls.crt": AUTHORITY.certificate, "tls.key": AUTHORITY.key},
            (False, True, 1),
        ),
        "another key": ({"tls.key": AUTHORITY.key}, (False, True, 1)),
        "another authority": ({"ca.crt": OTHER.certificate}, (False, False, 1)),
        "no authority": ({"ca.crt": b"garbage"}, (False, False, 0)),
        "a leaf as authority": ({"ca.crt": LEAF.certificate}, (False, False, 0)),
        "half a CA key": ({"ca.key": b"-----BEGIN PRIVATE KEY-----"}, (True, False, 1)),
        "another CA's key": ({"ca.key": OTHER.key}, (True, False, 1)),
        "two": (
            {"ca.crt": b"# ours\n" + OTHER.certificate + b"\xff\n" + AUTHORITY.certificate},
            (True, True, 2),
        ),
        "one three times": ({"ca.crt": AUTHORITY.certificate * 3}, (True, True, 1)),
    },
)
def test_leaves_out_misfits(change: dict[str, bytes], found: tuple[bool, bool, int]) -> None:
    assert parts(read_bundle({**WHOLE, **change})) == found


def test_finds_in_the_live_bundle_what_the_secret_lost() -> None:
    lost = {**WHOLE, "ca.crt": b""}
    assert parts(read_bundle(lost, OTHER.certificate + AUTHORITY.certificate)) == (True, True, 2)
    assert parts(read_bundle({}, OTHER.certificate)) == (False, False, 1)


def test_reads_the_same_whatever_the_order_of_the_authorities() -> None:
    one, other = (
        {"ca.crt": first + second}
        for first, second in permutations((AUTHORITY.certificate, OTHER.certificate))
    )
    assert read_bundle(one) == read_bundle(other)


@given(
    st.dictionaries(
        st.sampled_from([*WHOLE]),
        st.binary(max_size=200) | st.sampled_from([*WHOLE.values(), OTHER.certificate, OTHER.key]),
    ),
    st.binary(max_size=100) | st.sampled_from([AUTHORITY.certificate, OTHER.certificate]),
)
def test_reads_anything(data: dict[str, bytes], published: bytes) -> None:
    bundle = read_bundle(data, published)
    assert bundle.serving is None or bundle.authorities
    assert (bundle.signing is None) == (bundle.signer is None)
    again = read_bundle({**data, **bundle.data()}, published)
    assert again == bundle


@pytest.mark.parametrize(
    "key",
    [
        b"",
        b"\x00",
        pem(ec.generate_private_key(ec.SECP256R1()), b"secret"),
        pem(rsa.generate_private_key(65537, 2048)),
    ],
    ids=["empty", "nil", "locked", "RSA"],
)
def test_takes_no_other_key(key: bytes) -> None:
    assert read_key(key) is None


def test_reads_no_bundle_beyond_measure() -> None:
    assert read_certificates(b" " * (2 << 20) + AUTHORITY.certificate) == ()
    assert read_certificates(b"-----BEGIN CERTIFICATE-----" * 30_000) == ()
