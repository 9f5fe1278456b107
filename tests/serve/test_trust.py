"""Readiness and the live caBundle: what is a fault, what is none, and what nobody can know."""

import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.serving import ServingCertificate
from certs.throwaway import make_throwaway
from tests.fake_objects import CONFIGURATION, Cluster, FakeConnection
from webhook.kube.connection import RequestFailed
from webhook.serve.certificate import TrustWatch
from webhook.world import cluster as world_cluster


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
    expected = "MutatingWebhookConfiguration zz-fabric-injector, webhook 1.fabric-injector.io: caBundle is empty"
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


def test_asks_in_a_thread_until_it_is_stopped(world: World) -> None:
    world.watch.start()
    world.watch.stop()
    world.watch._thread.join(10)
    assert not world.watch._thread.is_alive()
