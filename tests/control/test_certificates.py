"""The controller's writes of certificates: in which order, by whom, and what is left alone."""

import logging
from datetime import timedelta

import pytest

from certs.issue import issue_authority
from certs.pem import hosts, is_signed_by, read_authorities, read_certificates
from tests.certs.simulation import DAY, MINUTE, NOW, SECOND
from tests.fake_objects import CONFIGURATION, SECRET, Cluster, Replica
from webhook.core import names


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.configure(b"", b"")
    return cluster


@pytest.fixture
def replica(cluster: Cluster) -> Replica:
    """A controller that has issued everything a minute ago."""
    replica = Replica(cluster)
    replica.run(MINUTE)
    return replica


def writes(cluster: Cluster) -> list[tuple[str, str]]:
    return [request for request in cluster.requests if request[0] != "GET"]


def signer_is_trusted(cluster: Cluster) -> bool:
    (leaf,) = read_certificates(cluster.secret["tls.crt"])
    return all(
        any(is_signed_by(leaf, each) for each in read_authorities(ca_bundle))
        for ca_bundle in cluster.ca_bundles
    )


def test_writes_the_secret_then_every_entry(cluster: Cluster) -> None:
    replica = Replica(cluster)
    replica.turn()
    assert writes(cluster) == [("POST", SECRET.rsplit("/", 1)[0]), ("PATCH", CONFIGURATION)]
    assert cluster.ca_bundles == [cluster.secret["ca.crt"]] * 2
    assert signer_is_trusted(cluster)
    (leaf,) = read_certificates(cluster.secret["tls.crt"])
    assert hosts(leaf) == {"fabric-injector.fabric-injector.svc"}
    assert replica.ends == {"authority": NOW + 365 * DAY, "serving": NOW + 30 * DAY}


def test_issues_before_there_is_a_configuration(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    cluster = Cluster()
    Replica(cluster).run(5 * MINUTE)
    assert read_certificates(cluster.secret["tls.crt"])
    assert writes(cluster) == [("POST", SECRET.rsplit("/", 1)[0])]
    told = [
        record.message
        for record in caplog.records
        if "there is no MutatingWebhookConfiguration" in record.message
    ]
    assert told == ["certificates: there is no MutatingWebhookConfiguration zz-fabric-injector yet"]
    cluster.configure(b"")
    Replica(cluster).turn()
    assert signer_is_trusted(cluster)


def test_writes_nothing_unless_it_leads(cluster: Cluster) -> None:
    replica = Replica(cluster)
    replica.leads = False
    replica.turn()
    assert writes(cluster) == []


def test_stops_between_its_two_writes_when_the_lease_is_lost(cluster: Cluster) -> None:
    replica = Replica(cluster)

    def lose(method: str, _path: str) -> None:
        replica.leads = replica.leads and method == "GET"

    cluster.before = lose
    replica.turn()
    assert [method for method, _ in writes(cluster)] == ["POST"]
    cluster.before = lambda _method, _path: None
    Replica(cluster).turn()
    assert signer_is_trusted(cluster)


def test_rotates_on_request_and_forgets_it(cluster: Cluster, replica: Replica) -> None:
    before = cluster.secret
    cluster.annotate(SECRET, **{names.ROTATE: "serving", "example.com/kept": "x"})
    replica.turn()
    assert cluster.objects[SECRET]["metadata"]["annotations"] == {"example.com/kept": "x"}
    assert cluster.secret["tls.crt"] != before["tls.crt"]
    assert cluster.secret["ca.crt"] == before["ca.crt"]
    cluster.annotate(SECRET, **{names.ROTATE: "authority"})
    replica.turn()
    assert [len(read_authorities(each)) for each in cluster.ca_bundles] == [2, 2]
    second = cluster.secret["tls.crt"]
    replica.run(3 * MINUTE)
    assert cluster.secret["tls.crt"] != second
    assert signer_is_trusted(cluster)


@pytest.mark.parametrize("ca_bundle", [b"", b"garbage"], ids=["stripped", "garbage"])
def test_repairs_a_ca_bundle(cluster: Cluster, replica: Replica, ca_bundle: bytes) -> None:
    cluster.configure(cluster.ca_bundles[0], ca_bundle)
    replica.turn()
    assert cluster.ca_bundles == [cluster.secret["ca.crt"]] * 2


@pytest.mark.parametrize("key", ["tls_crt", "tls_key", "ca_crt", "ca_key"])
@pytest.mark.parametrize("value", [None, b"", b"garbage"], ids=["missing", "empty", "garbage"])
def test_repairs_a_key(cluster: Cluster, replica: Replica, key: str, value: bytes | None) -> None:
    cluster.change_secret(**{key: value})
    replica.run(4 * MINUTE)
    assert signer_is_trusted(cluster)
    assert all(cluster.secret[name] for name in ("tls.crt", "tls.key", "ca.crt", "ca.key"))
    before = writes(cluster)
    replica.run(MINUTE)
    assert writes(cluster) == before


@pytest.mark.parametrize(
    "annotation", ["cert-manager.io/inject-ca-from", "service.beta.openshift.io/inject-cabundle"]
)
def test_leaves_a_configuration_that_somebody_else_keeps(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, annotation: str
) -> None:
    caplog.set_level(logging.INFO)
    cluster.configure(b"theirs", **{annotation: "true"})
    replica = Replica(cluster)
    replica.run(MINUTE)
    assert writes(cluster) == []
    assert len([record for record in caplog.records if "is left to" in record.message]) == 1


def test_leaves_a_secret_that_cert_manager_keeps(cluster: Cluster) -> None:
    cluster.put(
        SECRET,
        {"metadata": {"annotations": {"cert-manager.io/certificate-name": "fabric-injector"}}},
    )
    Replica(cluster).run(MINUTE)
    assert writes(cluster) == []


def test_two_controllers_race_for_the_first_secret(cluster: Cluster) -> None:
    first, second = Replica(cluster), Replica(cluster)

    def let_the_other_be_quicker(method: str, _path: str) -> None:
        if method == "POST":
            cluster.before = lambda _method, _path: None
            second.turn()

    cluster.before = let_the_other_be_quicker
    first.turn()
    first.turn()
    assert len(read_authorities(cluster.ca_bundles[0])) == 1
    assert signer_is_trusted(cluster)


@pytest.mark.parametrize("at", range(4))
def test_never_takes_back_what_others_published(
    cluster: Cluster, replica: Replica, at: int
) -> None:
    """One that stands still between two of its requests, while another rotates, changes nothing."""
    other = Replica(cluster)
    other.run(MINUTE)
    count = 0

    def overtake(_method: str, _path: str) -> None:
        nonlocal count
        count += 1
        if count == at + 1:
            cluster.before = lambda _method, _path: None
            cluster.annotate(SECRET, **{names.ROTATE: "authority"})
            other.turn()

    cluster.configure(b"", cluster.ca_bundles[0])  # so that there is something to write
    cluster.annotate(SECRET, **{names.ROTATE: "serving"})
    cluster.before = overtake
    replica.turn()
    assert signer_is_trusted(cluster)
    trusted = {each for ca_bundle in cluster.ca_bundles for each in read_authorities(ca_bundle)}
    assert {*read_authorities(cluster.secret["ca.crt"])} == trusted


def test_counts_a_new_leader_s_time_anew(cluster: Cluster, replica: Replica) -> None:
    cluster.annotate(SECRET, **{names.ROTATE: "authority"})
    replica.run(MINUTE)
    before = cluster.secret["tls.crt"]
    successor = Replica(cluster)
    successor.run(110 * SECOND)
    assert cluster.secret["tls.crt"] == before
    successor.run(30 * SECOND)
    assert cluster.secret["tls.crt"] != before


@pytest.mark.parametrize(
    "error", [timedelta(minutes=-6), timedelta(hours=1)], ids=["late", "early"]
)
def test_issues_nothing_by_odd_clocks(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, error: timedelta
) -> None:
    cluster.clock_error = error
    Replica(cluster).run(MINUTE)
    assert writes(cluster) == []
    assert len([record for record in caplog.records if "nothing is issued" in record.message]) == 1


def test_issues_for_whom_the_configuration_calls(cluster: Cluster) -> None:
    paths = ("10.0.0.7:8443/mutate", "[FD00:0::7]/", "Ä/", "[", "a.b")
    clients = [{"url": f"https://{path}"} for path in paths]
    cluster.put(CONFIGURATION, {"webhooks": [{"name": "x", "clientConfig": c} for c in clients]})
    replica = Replica(cluster)
    replica.run(MINUTE)
    (leaf,) = read_certificates(cluster.secret["tls.crt"])
    assert hosts(leaf) == {"10.0.0.7", "fd00::7", "a.b", "fabric-injector.fabric-injector.svc"}
    assert len(writes(cluster)) == 2


def test_is_not_confused_by_authorities_of_others(cluster: Cluster, replica: Replica) -> None:
    foreign = issue_authority("other", now=NOW, lifetime=365 * DAY).certificate
    cluster.configure(cluster.ca_bundles[0] + foreign, cluster.ca_bundles[0])
    replica.turn()
    assert [len(read_authorities(each)) for each in cluster.ca_bundles] == [2, 2]
    assert signer_is_trusted(cluster)
    cluster.now += 31 * DAY
    replica.turn()
    assert [len(read_authorities(each)) for each in cluster.ca_bundles] == [1, 1]
