"""The validating configuration: what differs from what is shipped, none of which is a failure but failing closed."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import yaml

from certs.issue import issue_authority
from tests import ROOT
from tests.certs.simulation import DAY, MINUTE, NOW
from tests.fake_objects import Cluster, Replica
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.check.validation import check_validation

SUBJECT = "ValidatingWebhookConfiguration fabric-injector"


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.configure(b"")
    Replica(cluster).run(MINUTE)
    return cluster


def shipped(ca_bundle: bytes) -> Object:
    found: Object = yaml.safe_load((ROOT / "manifests/base/validating-webhook-configuration.yaml").read_text())
    for entry in found["webhooks"]:
        entry["clientConfig"]["caBundle"] = base64.b64encode(ca_bundle).decode()
    return found


def look(configuration: Object | None, cluster: Cluster, services: list[str] | None = None) -> list[str]:
    found = check_validation(
        configuration, names.VALIDATING_CONFIGURATION, "fabric-injector", services, cluster.secret, NOW + MINUTE
    )
    return [f"{each.level} {each.code} {each.subject}: {each.message}" for each in found]


def test_is_content_with_what_is_shipped(cluster: Cluster) -> None:
    configuration = shipped(cluster.secret["ca.crt"])
    told = [f"ok validation-as-shipped {SUBJECT}: tells mistakes to who makes them"]
    assert look(configuration, cluster) == told
    assert look(configuration, cluster, ["fabric-injector"]) == told


def test_misses_it(cluster: Cluster) -> None:
    assert look(None, cluster) == [f"warn validation-missing {SUBJECT}: does not exist"]


@pytest.mark.parametrize("resource", ["namespaces", "fabricprofiles", "configmaps"])
def test_misses_an_entry(cluster: Cluster, resource: str) -> None:
    """As of a version that did not have it."""
    configuration = shipped(cluster.secret["ca.crt"])
    kept = [each for each in configuration["webhooks"] if each["rules"][0]["resources"] != [resource]]
    assert len(kept) == len(configuration["webhooks"]) - 1
    told = [f"warn validation-incomplete {SUBJECT}: has no rule for {resource}"]
    assert look({**configuration, "webhooks": kept}, cluster) == told


ENTRY = f"{SUBJECT}, webhook namespaces.fabric-injector.io"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"failurePolicy": "Fail"},
            f"fail validation-fails-closed {ENTRY}: failurePolicy is Fail: "
            "while the webhook is away, nobody changes what it is called for",
        ),
        ({"rules": []}, f"warn validation-incomplete {SUBJECT}: has no rule for namespaces"),
        ({"path": "/mutate"}, f"warn validation-elsewhere {ENTRY}: calls path /mutate, and not /validate"),
        (
            {"name": "other"},
            f"warn validation-elsewhere {ENTRY}: calls Service fabric-injector/other, "
            "which is not one of namespace fabric-injector",
        ),
    ],
)
def test_tells_what_differs(cluster: Cluster, change: dict[str, Any], told: str) -> None:
    configuration = shipped(cluster.secret["ca.crt"])
    entry = configuration["webhooks"][0]
    for key, value in change.items():
        (entry if key in entry and key != "name" else entry["clientConfig"]["service"])[key] = value
    assert told in look(configuration, cluster, ["fabric-injector"])


def test_takes_a_url_that_ends_in_the_path(cluster: Cluster) -> None:
    configuration = shipped(cluster.secret["ca.crt"])
    client = configuration["webhooks"][0]["clientConfig"]
    del client["service"]
    client["url"] = "https://fabric-injector.fabric-injector.svc/validate"
    assert look(configuration, cluster)[0].startswith("ok ")
    client["url"] = "https://fabric-injector.fabric-injector.svc"
    assert look(configuration, cluster) == [f"warn validation-elsewhere {ENTRY}: calls path /, and not /validate"]


def test_tells_what_is_not_trusted(cluster: Cluster) -> None:
    assert look(shipped(b""), cluster)[0] == f"warn validation-distrusted {ENTRY}: caBundle is empty"
    assert look(shipped(b"garbage"), cluster)[0].endswith("caBundle holds no CA that is valid now")
    other = issue_authority("other", now=NOW, lifetime=DAY)
    assert look(shipped(other.certificate), cluster)[0].endswith("trusts no CA that signed tls.crt")


def test_says_nothing_of_a_certificate_that_is_not_there(cluster: Cluster) -> None:
    configuration = shipped(cluster.secret["ca.crt"])
    cluster.change_secret(tls_crt=None)
    assert look(configuration, cluster)[0].startswith("ok "), "it is told of the Secret"


@pytest.mark.parametrize("webhooks", [None, [], [{}], [{"clientConfig": {"service": {}}, "rules": [{}]}]])
def test_takes_a_configuration_that_holds_little(cluster: Cluster, webhooks: object) -> None:
    assert f"warn validation-incomplete {SUBJECT}: has no rule for fabricprofiles" in look(
        {"webhooks": webhooks}, cluster
    )
