"""What ``check`` says of certificates, with those that a controller has issued."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from certs.issue import issue_authority
from tests.certs.simulation import NOW
from tests.diagnose.check.cluster import findings, installed
from tests.diagnose.findings import expect
from tests.fake_objects import CONFIGURATION, Cluster, Replica
from webhook.core import names
from webhook.diagnose.snapshot import Snapshot

SECRET = "Secret fabric-injector/fabric-injector-tls"
CERTIFICATE = f"fail certificate-unusable {SECRET}, tls.crt |"
BUNDLE = "fail certificate-unusable caBundle of 0.fabric-injector.io |"


def strip(cluster: Cluster) -> None:
    cluster.configure(b"")


def exchange(cluster: Cluster) -> None:
    cluster.configure(issue_authority("other", now=NOW, lifetime=timedelta(days=9)).certificate)


def rename(cluster: Cluster) -> None:
    cluster.objects[CONFIGURATION]["webhooks"][0]["clientConfig"]["service"]["name"] = "renamed"


def spoil_key(cluster: Cluster) -> None:
    cluster.change_secret(tls_key=b"garbage")


def remove(cluster: Cluster) -> None:
    cluster.change_secret(tls_crt=None)


def give_away(cluster: Cluster) -> None:
    cluster.annotate(CONFIGURATION, **{"cert-manager.io/inject-ca-from": "a/b"})


@pytest.mark.parametrize(
    ("spoil", "days", "rows"),
    [
        (None, 0, [f"ok ok {SECRET} | is valid until 2026-03-31, and caBundle trusts it"]),
        (strip, 0, [f"{BUNDLE} is empty: API servers refuse the webhook | the controller"]),
        (exchange, 0, [f"{BUNDLE} trusts no CA that signed tls.crt: API servers refuse"]),
        (rename, 0, [f"{CERTIFICATE} lacks renamed.fabric"]),
        (None, 25, [f"{CERTIFICATE} should have been renewed"]),
        (None, 31, [f"{CERTIFICATE} is not valid now"]),
        (None, 400, [f"{BUNDLE} holds no CA that is valid now", f"{CERTIFICATE} is not valid now"]),
        (
            spoil_key,
            0,
            [f"fail certificate-unusable {SECRET}, tls.key | is not the key of tls.crt"],
        ),
        (remove, 0, [f"{CERTIFICATE} holds no certificate"]),
        (give_away, 31, [f"{CERTIFICATE} is not valid now | look at cert-man"]),
    ],
)
def test_finds(
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Cluster], Any] | None,
    days: int,
    rows: list[str],
) -> None:
    cluster = Cluster()
    cluster.configure(b"")
    Replica(cluster).turn()
    if spoil is not None:
        spoil(cluster)
    connection = installed()
    configurations = CONFIGURATION.rpartition("/")[0]
    connection.objects[configurations] = [cluster.objects[CONFIGURATION]]
    data = {key: base64.b64encode(value).decode() for key, value in cluster.secret.items()}
    path = f"/api/v1/namespaces/fabric-injector/secrets/{names.TLS_SECRET}"
    connection.objects[path]["data"] = data
    now: datetime = NOW + timedelta(days=days)
    monkeypatch.setattr(Snapshot, "now", now)
    expect(findings(connection, "check_certificates"), *rows)
