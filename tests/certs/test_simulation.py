"""Rotation over simulated years: each leaf that may be served chains to each caBundle."""

import random
from collections.abc import Mapping
from datetime import timedelta

import pytest

from certs.bundle import read_bundle
from certs.rotation import Kind, Policy
from tests.certs.simulation import DAY, MINUTE, NOW, SECOND, Simulation

KEYS = ("tls.crt", "tls.key", "ca.crt", "ca.key")
GARBAGE = (
    b"",
    b"garbage",
    b"\xff\xfe",
    b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    b"[" * 100_000,
)


def damaged(
    chance: random.Random, secret: Mapping[str, bytes], older: list[Mapping[str, bytes]]
) -> Mapping[str, bytes]:
    """Do to a Secret what people, backups and disks do."""
    match chance.randrange(4):
        case 0:
            return {}
        case 1:
            return dict(chance.choice([each for each in older if is_before(each, secret)] or [{}]))
        case 2:
            return {key: value for key, value in secret.items() if chance.random() < 0.5}
        case _:
            return {
                key: chance.choice(GARBAGE) if chance.random() < 0.5 else secret.get(key, b"")
                for key in KEYS
            }


def is_before(backup: Mapping[str, bytes], secret: Mapping[str, bytes]) -> bool:
    """Tell whether the authority that signs is no newer in the backup: people restore backwards."""
    old, new = read_bundle(backup).signing, read_bundle(secret).signing
    return bool(old and new and old.not_valid_before_utc <= new.not_valid_before_utc)


@pytest.mark.parametrize(("seed", "faults"), [(0, 0.0), (0, 0.02), (1, 0.02)])
def test_never_serves_what_some_api_server_refuses(seed: int, faults: float) -> None:
    chance = random.Random(f"{seed} {faults}")
    simulation = Simulation()
    simulation.turn()
    quiet = 0
    while simulation.now < NOW + 400 * DAY:
        hurry = quiet < 12
        simulation.now += (
            timedelta(seconds=chance.uniform(1, 25))
            if hurry
            else timedelta(hours=chance.expovariate(1 / 30))
        )
        simulation.check()
        if chance.random() < faults:
            simulation.write(
                damaged(chance, simulation.secret, [data for _, data in simulation.secrets])
            )
            simulation.check()
        written = len(simulation.secrets) + len(simulation.ca_bundles)
        asked = chance.choice([*Kind]) if chance.random() < 0.02 else None
        waiting = simulation.turn(asked, publish=chance.random() < 0.9).waiting
        simulation.check()
        quiet = (
            0
            if len(simulation.secrets) + len(simulation.ca_bundles) != written or waiting
            else quiet + 1
        )
    simulation.run(3 * MINUTE)
    assert simulation.served()
    assert simulation.leaf.not_valid_after_utc > simulation.now + 9 * DAY
    assert len([change for change in simulation.changes if change.startswith("new CA")]) >= 2


@pytest.mark.parametrize(
    ("authority", "leaf"),
    [(90 * MINUTE, 30 * MINUTE), (DAY, 365 * DAY), (7 * DAY, 7 * DAY)],
    ids=str,
)
def test_holds_for_short_and_odd_lifetimes(authority: timedelta, leaf: timedelta) -> None:
    simulation = Simulation(policy=Policy(authority_lifetime=authority, leaf_lifetime=leaf))
    simulation.run(3 * authority, max(authority / 300, 10 * SECOND))
    assert len([change for change in simulation.changes if change.startswith("new CA")]) >= 4
