"""What the manifests say agrees with the code: names, ports, options, times, version."""

import re
from typing import Any

import pytest
import yaml

from tests import ROOT
from webhook import __version__
from webhook.cli import imported
from webhook.control.run import DEFAULT_NAMESPACE, LEASE
from webhook.core import names
from webhook.serve.run import GRACE_SECONDS, LINGER_SECONDS, MOST_DRAIN_SECONDS
from webhook.validate.definition import definition

MANIFESTS = ROOT / "manifests"
KUSTOMIZATION = yaml.safe_load((MANIFESTS / "base/kustomization.yaml").read_text())
OBJECTS: list[dict[str, Any]] = [
    each
    for name in KUSTOMIZATION["resources"]
    for each in yaml.safe_load_all((MANIFESTS / "base" / name).read_text())
]
COMPONENTS = ("webhook", "controller")


def shipped(kind: str, name: str) -> dict[str, Any]:
    [found] = [one for one in OBJECTS if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found


def pod(component: str) -> dict[str, Any]:
    template: dict[str, Any] = shipped("Deployment", f"fabric-injector-{component}")["spec"]
    found: dict[str, Any] = template["template"]["spec"]
    return found


def container(component: str) -> dict[str, Any]:
    (found,) = pod(component)["containers"]
    assert isinstance(found, dict)
    return found


def test_runs_the_image_of_this_version_and_tells_the_webhook_its_name() -> None:
    for component in COMPONENTS:
        image = {"name": container(component)["image"], "newTag": __version__}
        assert KUSTOMIZATION["images"] == [image]
    [variable] = container("webhook")["env"]
    assert variable["name"] == "FABRIC_INJECTOR_SERVE_IMAGE"
    [replacement] = KUSTOMIZATION["replacements"]
    [target] = replacement["targets"]
    webhook = "spec.template.spec.containers.[name=webhook]"
    assert replacement["source"]["fieldPath"] == f"{webhook}.image"
    assert target["fieldPaths"] == [f"{webhook}.env.[name={variable['name']}].value"]


@pytest.mark.parametrize("component", COMPONENTS)
def test_gives_options_that_the_command_has_and_ports_that_it_listens_on(component: str) -> None:
    name, *options = container(component)["args"]
    context = imported(name).make_context(name, options)
    ports = {each["containerPort"] for each in container(component)["ports"]}
    listened = {
        value for key, value in context.params.items() if key in ("listen", "metrics_listen")
    }
    assert {address.port for address in listened} == ports
    assert {address.host for address in listened} == {"0.0.0.0"}
    probes = [
        container(component)[f"{probe}Probe"]["httpGet"]
        for probe in ("startup", "liveness", "readiness")
    ]
    assert [probe["path"] for probe in probes] == ["/livez", "/livez", "/readyz"]
    assert {probe["port"] for probe in probes} == {"metrics"}


def test_mounts_what_the_options_name() -> None:
    mounts = {each["name"]: each["mountPath"] for each in container("webhook")["volumeMounts"]}
    config, tls = (option.partition("=")[2] for option in container("webhook")["args"][1:])
    assert config == f"{mounts['config']}/config.yaml"
    [volume] = (each["configMap"] for each in pod("webhook")["volumes"] if each["name"] == "config")
    assert volume["name"] == names.CONFIG_MAP
    assert volume["optional"] is True
    assert tls == mounts["tls"]
    for component in ("webhook", "controller"):
        assert all(each["readOnly"] for each in container(component)["volumeMounts"])
        assert not any("subPath" in each for each in container(component)["volumeMounts"])


def test_both_read_one_configuration() -> None:
    for kind in ("volumes", "volumeMounts"):
        theirs, ours = (
            (pod if kind == "volumes" else container)(each)[kind]
            for each in ("webhook", "controller")
        )
        assert ours == [each for each in theirs if each["name"] == "config"]
    assert container("controller")["args"][1:] == [container("webhook")["args"][1]]


def test_mounts_no_key_of_an_authority() -> None:
    (secret,) = (each["secret"] for each in pod("webhook")["volumes"] if "secret" in each)
    assert secret["secretName"] == names.TLS_SECRET
    assert {item["key"] for item in secret["items"]} == {"tls.crt", "tls.key", "ca.crt"}
    assert not any("secret" in each for each in pod("controller")["volumes"])


def test_lets_a_webhook_drain_before_it_is_killed() -> None:
    longest = MOST_DRAIN_SECONDS + LINGER_SECONDS + GRACE_SECONDS
    assert pod("webhook")["terminationGracePeriodSeconds"] >= longest + 10


def test_calls_the_service_that_the_certificate_is_for() -> None:
    (entry,) = shipped("MutatingWebhookConfiguration", names.WEBHOOK_CONFIGURATION)["webhooks"]
    called = {"name": names.SERVICE, "namespace": DEFAULT_NAMESPACE, "path": "/mutate", "port": 443}
    assert entry["clientConfig"] == {"service": called}, "no caBundle: the controller owns it"
    service = shipped("Service", names.SERVICE)
    (port,) = service["spec"]["ports"]
    assert service["metadata"]["namespace"] == DEFAULT_NAMESPACE
    assert (port["port"], port["targetPort"]) == (443, "admission")
    deployed = shipped("Deployment", "fabric-injector-webhook")["spec"]["template"]["metadata"]
    assert service["spec"]["selector"].items() <= deployed["labels"].items()


def test_reaches_labelled_namespaces_and_never_its_own_or_the_systems() -> None:
    (entry,) = shipped("MutatingWebhookConfiguration", names.WEBHOOK_CONFIGURATION)["webhooks"]
    opted_in, excluded = entry["namespaceSelector"]["matchExpressions"]
    assert opted_in == {"key": names.PROFILE, "operator": "Exists"}
    assert {"kube-system", DEFAULT_NAMESPACE} <= set(excluded.pop("values"))
    assert excluded == {"key": "kubernetes.io/metadata.name", "operator": "NotIn"}
    opted_out = {"key": names.PROFILE, "operator": "NotIn", "values": [names.PROFILE_NONE]}
    assert entry["objectSelector"] == {"matchExpressions": [opted_out]}
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "scope": "Namespaced"}
    assert entry["rules"] == [{**pods, "operations": ["CREATE"]}]
    assert (entry["failurePolicy"], entry["timeoutSeconds"]) == ("Fail", 5)
    assert (entry["sideEffects"], entry["matchPolicy"]) == ("None", "Equivalent")
    assert entry["reinvocationPolicy"] == "IfNeeded"
    assert names.WEBHOOK_CONFIGURATION > "lws-mutating-webhook-configuration", "called after it"


def test_lets_the_accounts_use_what_the_code_uses() -> None:
    role = shipped("Role", "fabric-injector-controller")
    named = {name for rule in role["rules"] for name in rule.get("resourceNames", ())}
    assert named == {LEASE, names.TLS_SECRET}
    mutating = ("mutatingwebhookconfigurations", names.WEBHOOK_CONFIGURATION)
    for component in COMPONENTS:
        rules = shipped("ClusterRole", f"fabric-injector-{component}")["rules"]
        held = [each for each in rules if "resourceNames" in each]
        assert [(*each["resources"], *each["resourceNames"]) for each in held] == [mutating]
        account = shipped("ServiceAccount", f"fabric-injector-{component}")
        assert account["automountServiceAccountToken"] is False
        assert pod(component)["serviceAccountName"] == account["metadata"]["name"]
        assert pod(component)["automountServiceAccountToken"] is True


def test_ships_no_profiles_which_an_upgrade_would_overwrite() -> None:
    assert [each for each in OBJECTS if each["kind"] in ("ConfigMap", "Secret")] == []


def test_ships_the_definition_that_the_command_checks_by() -> None:
    assert shipped("CustomResourceDefinition", definition()["metadata"]["name"]) == definition()


def test_says_of_every_object_which_part_it_belongs_to() -> None:
    """`kubectl apply --selector` upgrades the controller first by it."""
    shared = {("Namespace", "fabric-injector"), ("PriorityClass", "fabric-injector")}
    for each in OBJECTS:
        labels = each["metadata"]["labels"]
        assert labels["app.kubernetes.io/name"] == "fabric-injector"
        if (each["kind"], each["metadata"]["name"]) not in shared:
            assert labels["app.kubernetes.io/component"] in COMPONENTS
            other = (
                "controller" if labels["app.kubernetes.io/component"] == "webhook" else "webhook"
            )
            assert other not in each["metadata"]["name"]


def test_every_exception_of_the_scanner_is_argued() -> None:
    text = (MANIFESTS / ".checkov.yaml").read_text()
    assert re.findall(r"  - (CKV\w+) # .+: .+", text) == yaml.safe_load(text)["skip-check"]
