"""What is looked at again and again: the live caBundle, and whether claims are served."""

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.serving import ServingCertificate
from certs.throwaway import make_throwaway
from tests.core.builders import profile
from tests.fake_objects import CONFIGURATION, Cluster, FakeConnection
from webhook.core.claim_templates import CLAIMS_UNSERVED
from webhook.core.errors import Unavailable
from webhook.core.profiles import ClaimRequest, ProfileClaim
from webhook.kube.connection import RequestFailed
from webhook.serve.watches import (
    CLAIMS_AGAIN_SECONDS,
    CLAIMS_SECONDS,
    SECONDS,
    ClaimsWatch,
    TrustWatch,
    Watch,
    follow,
)
from webhook.world import cluster as world_cluster
from webhook.world.active_profiles import ActiveProfiles


class World:
    """A server's certificate, and the configuration that it is compared with."""

    def __init__(self, folder: Path) -> None:
        make_throwaway(
            folder, now=datetime.now(UTC), dns_names=["fabric-injector.fabric-injector.svc"]
        )
        self.authority = (folder / "ca.crt").read_bytes()
        self.cluster = Cluster()
        certificate = ServingCertificate(folder)
        asked = world_cluster.Cluster(FakeConnection(self.cluster))
        self.watch = TrustWatch(
            lambda: asked.webhook_configuration("zz-fabric-injector"), certificate
        )

    def problem(self) -> str:
        self.watch.look()
        return self.watch.problem()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_is_not_ready_before_it_has_asked(world: World) -> None:
    assert world.watch.problem() == "the webhook configuration was not asked for yet"


def test_is_ready_where_every_entry_trusts_it(world: World) -> None:
    world.cluster.configure(world.authority, world.authority)
    assert world.problem() == ""


def test_is_ready_before_it_is_registered(world: World) -> None:
    assert world.problem() == ""


def test_names_the_entry_that_refuses(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.cluster.configure(world.authority, b"")
    entry = "MutatingWebhookConfiguration zz-fabric-injector, webhook 1.fabric-injector.io"
    expected = f"{entry}: caBundle is empty"
    assert world.problem().startswith(expected)
    assert world.problem().startswith(expected)
    assert len(caplog.records) == 1
    world.cluster.configure(world.authority, world.authority)
    assert world.problem() == ""


def test_names_a_service_that_the_certificate_is_not_for(world: World) -> None:
    client = {"service": {"name": "other", "namespace": "fabric-injector"}}
    world.cluster.configure(world.authority)
    entry = world.cluster.objects[CONFIGURATION]["webhooks"][0]
    entry["clientConfig"] |= client
    assert "'other.fabric-injector.svc'" in world.problem()


@pytest.mark.parametrize(
    "error", [RequestFailed("GET answered 403: no", 403), ValueError("odd")], ids=["403", "bug"]
)
def test_keeps_what_it_found(
    world: World, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    caplog.set_level(logging.WARNING)

    def fail(_method: str, _path: str) -> None:
        raise error

    world.cluster.before = fail
    assert (world.problem(), world.problem()) == ("", "")
    assert (
        len([record for record in caplog.records if "not compared with caBundle" in record.message])
        == 1
    )
    world.cluster.before = lambda _method, _path: None
    world.cluster.configure(b"")
    assert world.problem()
    world.cluster.before = fail
    assert world.problem()


CARDS = profile(name="cards", claims=(ProfileClaim("nic", (ClaimRequest("r", "dranet.net"),)),))


def unknown() -> bool:
    raise Unavailable("nobody answers")


@pytest.mark.parametrize(
    ("ask", "before", "problem", "seconds"),
    [
        (lambda: True, "", "", CLAIMS_SECONDS),
        (lambda: False, "", CLAIMS_UNSERVED, CLAIMS_SECONDS),
        (lambda: True, CLAIMS_UNSERVED, "", CLAIMS_SECONDS),
        (unknown, CLAIMS_UNSERVED, CLAIMS_UNSERVED, CLAIMS_AGAIN_SECONDS),
        (unknown, "", "", CLAIMS_AGAIN_SECONDS),
    ],
)
def test_puts_beside_the_profiles_whether_claims_are_served(
    ask: Callable[[], bool], before: str, problem: str, seconds: float
) -> None:
    active = ActiveProfiles(claims_problem=before)
    active.put(profiles={"cards": CARDS})
    assert ClaimsWatch(ask, active).look() == seconds
    assert active.current().claims_problem == problem
    assert active.current().profiles == {"cards": CARDS}


def test_asks_for_no_claims_where_no_profile_has_some() -> None:
    active = ActiveProfiles()
    active.put(profiles={"plain": profile(name="plain")})
    assert ClaimsWatch(unknown, active).look() == SECONDS


def test_looks_on_whatever_a_look_raises() -> None:
    """What is due is looked at until the process ends."""
    stopped, looks = threading.Event(), list[str]()

    class Failing(Watch):
        def look(self) -> float:
            looks.append("failing")
            raise ValueError("odd")

    class Last(Watch):
        def look(self) -> float:
            looks.append("last")
            stopped.set()
            return 0

    follow([Failing(), Last()], stopped)
    assert looks == ["failing", "last"]
