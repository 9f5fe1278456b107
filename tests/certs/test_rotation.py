"""What rotation decides, one situation at a time; test_simulation.py lets years pass."""

from datetime import timedelta

import pytest
from cryptography import x509

from certs.issue import KeyPair, issue_authority, issue_serving
from certs.pem import hosts, is_signed_by, read_authorities
from certs.rotation import MOST_AUTHORITIES, Kind, Policy
from tests.certs.simulation import DAY, MINUTE, NAMES, NOW, SECOND, Simulation

(NAME,) = NAMES
SETTLE = Policy().settle


@pytest.fixture
def settled() -> Simulation:
    """One authority and one certificate, ten days old."""
    simulation = Simulation()
    simulation.turn()
    simulation.now += 10 * DAY
    simulation.turn()
    simulation.changes.clear()
    return simulation


def authorities(simulation: Simulation) -> tuple[x509.Certificate, ...]:
    return read_authorities(simulation.ca_bundle)


def test_renews_the_leaf_at_two_thirds_of_its_life(settled: Simulation) -> None:
    settled.now = NOW + 20 * DAY - SECOND
    settled.turn()
    assert settled.changes == []
    settled.now += SECOND
    settled.turn()
    assert settled.leaf.not_valid_after_utc == NOW + 50 * DAY
    assert len(authorities(settled)) == 1


def test_publishes_a_new_authority_before_it_signs(settled: Simulation) -> None:
    (old,) = authorities(settled)
    settled.turn(Kind.AUTHORITY)
    new, kept = authorities(settled)
    assert kept == old
    assert is_signed_by(settled.leaf, old)
    while is_signed_by(settled.leaf, old):
        settled.now += 10 * SECOND
        settled.turn()
    assert settled.now == NOW + 10 * DAY + SETTLE + 10 * SECOND
    assert is_signed_by(settled.leaf, new)
    assert old in authorities(settled)


def test_counts_anew_where_the_authority_was_gone_for_a_moment(settled: Simulation) -> None:
    (old,) = authorities(settled)
    settled.turn(Kind.AUTHORITY)
    settled.now += SETTLE - SECOND
    settled.turn()
    published = settled.ca_bundle
    settled.publish(settled.ca_bundles[0][1])
    settled.now += SECOND
    settled.turn()
    assert settled.ca_bundle == published
    settled.run(SETTLE - 10 * SECOND, 5 * SECOND)
    assert is_signed_by(settled.leaf, old)
    settled.run(20 * SECOND)
    assert not is_signed_by(settled.leaf, old)


def test_drops_an_authority_when_its_last_leaf_has_ended(settled: Simulation) -> None:
    (old,) = authorities(settled)
    settled.turn(Kind.AUTHORITY)
    settled.run(SETTLE + MINUTE)
    settled.now = NOW + 40 * DAY + 4 * MINUTE  # a clock may be five minutes late
    settled.turn()
    assert old in authorities(settled)
    settled.now += 2 * MINUTE
    settled.turn()
    assert old not in authorities(settled)
    assert settled.changes[-1] == "1 CA left: every certificate that it signed has expired"
    settled.now += MINUTE
    settled.turn()
    assert len(authorities(settled)) == 1


def test_renews_the_authority_at_two_thirds_of_its_life() -> None:
    simulation = Simulation()
    for day in range(0, 250, 5):
        simulation.now = NOW + day * DAY
        simulation.turn()
    assert [change for change in simulation.changes if change.startswith("new CA")] == [
        "new CA until 2027-03-01 12:00 UTC: there is none whose key is known",
        "new CA until 2027-11-01 12:00 UTC: two thirds of the last one's life are over",
    ]


def test_issues_for_names_that_are_new(settled: Simulation) -> None:
    settled.names = frozenset({NAME, "10.0.0.7", "fd00::7", "injector.example.com"})
    settled.turn()
    assert hosts(settled.leaf) == settled.names
    settled.names = NAMES
    before = settled.leaf
    settled.turn()
    assert settled.leaf == before


def test_bounds_what_requests_can_add(settled: Simulation) -> None:
    for _ in range(MOST_AUTHORITIES + 3):
        waiting = settled.turn(Kind.AUTHORITY).waiting
        settled.run(SETTLE + MINUTE, MINUTE)
    assert len(authorities(settled)) == MOST_AUTHORITIES
    assert "no CA is made on request" in waiting


def test_issues_anew_after_everything_has_expired(settled: Simulation) -> None:
    settled.now += 1000 * DAY
    settled.turn()
    assert is_signed_by(settled.leaf, authorities(settled)[0])
    settled.now += 10 * MINUTE
    settled.turn()
    assert len(authorities(settled)) == 1


def test_publishes_before_it_serves_where_the_secret_was_deleted(settled: Simulation) -> None:
    (old,) = authorities(settled)
    settled.write({})
    settled.turn()
    assert len(authorities(settled)) == 2
    assert "tls.crt" not in settled.secret
    settled.run(SETTLE + MINUTE)
    assert is_signed_by(settled.leaf, authorities(settled)[0])
    assert old in authorities(settled)
    settled.now += 31 * DAY
    settled.turn()
    assert old not in authorities(settled)


def test_issues_at_once_where_secret_and_bundle_are_gone(settled: Simulation) -> None:
    settled.write({})
    settled.publish(b"")
    settled.turn()
    assert is_signed_by(settled.leaf, authorities(settled)[0])


def test_finds_its_authority_in_the_bundle_where_the_secret_lost_it(settled: Simulation) -> None:
    before, ca_bundle = settled.leaf, settled.ca_bundle
    settled.write({**settled.secret, "ca.crt": b"garbage"})
    settled.turn()
    assert (settled.leaf, settled.ca_bundle, settled.secret["ca.crt"]) == (
        before,
        ca_bundle,
        ca_bundle,
    )


def test_goes_on_with_an_authority_of_somebody_else() -> None:
    own = issue_authority("example.com issuing CA 7", now=NOW, lifetime=3650 * DAY)
    simulation = Simulation()
    simulation.write({"ca.crt": own.certificate, "ca.key": own.key})
    simulation.turn()
    assert simulation.ca_bundle == own.certificate
    assert simulation.leaf.issuer.rfc4514_string() == "CN=example.com issuing CA 7"


def test_ends_a_leaf_before_its_authority_without_turning_in_circles() -> None:
    simulation = Simulation(policy=Policy(authority_lifetime=DAY, leaf_lifetime=365 * DAY))
    simulation.run(16 * timedelta(hours=1) - MINUTE, MINUTE)
    assert len(simulation.changes) == 2


def test_takes_no_certificate_of_another_authority_of_the_same_name(settled: Simulation) -> None:
    other = issue_authority("fabric-injector CA", now=NOW, lifetime=365 * DAY)
    forged: KeyPair = issue_serving(other, "x", dns_names=NAMES, now=NOW, lifetime=30 * DAY)
    settled.write({**settled.secret, "tls.crt": forged.certificate, "tls.key": forged.key})
    settled.turn()
    assert is_signed_by(settled.leaf, authorities(settled)[0])
