"""What ``check`` says of certificates."""

from datetime import timedelta

import pytest

from certs.faults import pair_faults
from certs.issue import issue_authority
from tests.certs.simulation import NOW
from tests.diagnose.check.findings import brief
from tests.fake_objects import CONFIGURATION, Cluster, Replica
from webhook.diagnose.check.certificates import check_absent, check_certificates
from webhook.kube.webhook_configuration import read_webhook_configuration

TITLE = "Secret fabric-injector/fabric-injector-tls"


@pytest.fixture
def cluster() -> Cluster:
    """Give a cluster whose controller has just issued everything."""
    cluster = Cluster()
    cluster.configure(b"")
    Replica(cluster).turn()
    return cluster


def look(cluster: Cluster, after: timedelta = timedelta(), *, secret: bool = True) -> list[str]:
    configuration = read_webhook_configuration(cluster.objects[CONFIGURATION])
    return brief(
        check_certificates(cluster.secret if secret else None, TITLE, configuration, NOW + after)
    )


def test_finds_all_in_order(cluster: Cluster) -> None:
    assert look(cluster) == [f"ok {TITLE}: is valid until 2026-03-31, and caBundle trusts it"]
    assert look(cluster, secret=False) == [
        "ok caBundle of zz-fabric-injector: holds a CA that is valid"
    ]


def test_tells_who_keeps_the_ca_bundle(cluster: Cluster) -> None:
    cluster.annotate(CONFIGURATION, **{"cert-manager.io/inject-ca-from": "a/b"})
    assert look(cluster)[0].endswith("and caBundle trusts it; caBundle is kept by cert-manager")


REFUSED = "API servers refuse the webhook, and every pod of a labelled namespace"


def test_finds_a_stripped_ca_bundle(cluster: Cluster) -> None:
    cluster.configure(b"")
    assert look(cluster) == [f"fail caBundle of 0.fabric-injector.io: is empty: {REFUSED}"]
    assert look(cluster, secret=False) == [
        f"fail caBundle of 0.fabric-injector.io: is empty: {REFUSED}"
    ]


def test_finds_another_authority(cluster: Cluster) -> None:
    cluster.configure(issue_authority("other", now=NOW, lifetime=timedelta(days=9)).certificate)
    assert look(cluster) == [
        f"fail caBundle of 0.fabric-injector.io: trusts no CA that signed tls.crt: {REFUSED}"
    ]


def test_finds_what_has_ended(cluster: Cluster) -> None:
    assert look(cluster, timedelta(days=25)) == [
        f"fail {TITLE}, tls.crt: should have been renewed at 2026-03-21 12:00"
    ]
    assert look(cluster, timedelta(days=31)) == [f"fail {TITLE}, tls.crt: is not valid now"]
    assert look(cluster, timedelta(days=400)) == [
        f"fail caBundle of 0.fabric-injector.io: holds no CA that is valid now: {REFUSED}",
        f"fail {TITLE}, tls.crt: is not valid now",
    ]


def test_finds_a_name_that_the_certificate_lacks(cluster: Cluster) -> None:
    cluster.objects[CONFIGURATION]["webhooks"][0]["clientConfig"]["service"]["name"] = "renamed"
    assert look(cluster) == [
        f"fail {TITLE}, tls.crt: lacks renamed.fabric-injector.svc, which 0.fabric-injector.io calls: {REFUSED}"
    ]


def test_finds_a_torn_pair(cluster: Cluster) -> None:
    cluster.change_secret(tls_key=b"garbage")
    assert look(cluster) == [f"fail {TITLE}, tls.key: is not the key of tls.crt"]
    cluster.change_secret(tls_crt=None)
    assert look(cluster) == [f"fail {TITLE}, tls.crt: holds no certificate"]


def test_writes_a_fault_as_one_line(cluster: Cluster) -> None:
    (fault,) = pair_faults({}, NOW)
    assert (
        str(fault)
        == "tls.crt: holds no certificate; the controller issues one, or `certs issue` does"
    )


def test_tells_that_there_is_no_secret() -> None:
    assert brief([check_absent(TITLE, keeper="")]) == [
        f"fail {TITLE}: does not exist: the webhook has no certificate"
    ]
    assert check_absent(TITLE, keeper="cert-manager").action == "is cert-manager running?"
