"""The Helm chart renders what kustomize renders, value by value, and refuses values that mean nothing."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from webhook import __version__
from webhook.core.profiles import parse_profiles

from .assets import AssetsUnavailable, binary
from .conftest import PROFILES, unavailable
from .controlplane import ControlPlane
from .installation import MANIFESTS, NAMESPACE, remove
from .kustomize import render
from .test_components import APPLY, with_components

CHART = MANIFESTS / "chart"
VALUES = {
    "cert-manager": "certManager=true",
    "failure-policy-ignore": "failurePolicy=Ignore",
    "grafana-dashboard": "grafanaDashboard=true",
    "network-policy": "networkPolicy=true",
    "pod-opt-in": "podOptIn=true",
    "profile-viewer": "profileViewer=true",
    "prometheus": "serviceMonitor=true",
    "prometheus-rules": "prometheusRule=true",
}
"""The value that stands for each component."""


@pytest.fixture(scope="module")
def helm(programs: None) -> Path:
    try:
        return binary("helm")
    except AssetsUnavailable as problem:
        unavailable(str(problem))


def run(helm: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HELM_", "KUBE"))}
    return subprocess.run([helm, *arguments], capture_output=True, text=True, timeout=120, env=kept)


def template(helm: Path, *values: str, namespace: str = NAMESPACE) -> str:
    settings = [f"--set={value}" for value in values]
    done = run(helm, "template", "fabric-injector", str(CHART), f"--namespace={namespace}", *settings)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def objects(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Give the objects by kind and name; the release's own namespace is made by Helm, if at all."""
    found = [each for each in yaml.safe_load_all(text) if each and each["kind"] != "Namespace"]
    named = {(each["kind"], each["metadata"]["name"]): each for each in found}
    assert len(named) == len(found)
    return named


def test_renders_what_install_yaml_holds(helm: Path) -> None:
    assert objects(template(helm)) == objects((MANIFESTS / "install.yaml").read_text())


def test_every_component_has_its_value() -> None:
    assert set(VALUES) == {folder.name for folder in (MANIFESTS / "components").iterdir()}


@pytest.mark.parametrize("names", [*([name] for name in VALUES), list(VALUES)], ids="+".join)
def test_values_do_what_components_do(helm: Path, tmp_path: Path, names: list[str]) -> None:
    rendered = objects(template(helm, *(VALUES[name] for name in names)))
    assert rendered == objects(with_components(tmp_path / "overlay", *names))


def test_the_port_is_closed_to_all_but_the_api_servers(helm: Path, cluster: ControlPlane, tmp_path: Path) -> None:
    """By a value as by the patch that the manual prints, and the API server takes it."""
    manual = (MANIFESTS / "README.md").read_text()
    (printed,) = re.findall(r"^```yaml\n(patches:\n.*?)^```", manual, re.DOTALL | re.MULTILINE)
    overlay = tmp_path / "overlay"
    with_components(overlay, "network-policy")
    kustomization = yaml.safe_load((overlay / "kustomization.yaml").read_text()) | yaml.safe_load(printed)
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    patched = objects(render(overlay))
    (first, *_) = patched["NetworkPolicy", "fabric-injector-webhook"]["spec"]["ingress"]
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump({"networkPolicy": True, "apiServers": first["from"]}))
    done = run(helm, "template", "x", str(CHART), f"--namespace={NAMESPACE}", f"--values={values}")
    assert objects(done.stdout) == patched
    assert [peer for peer in first["from"] if "ipBlock" in peer]
    open_to_all = objects(template(helm, "networkPolicy=true"))["NetworkPolicy", "fabric-injector-webhook"]
    assert "from" not in open_to_all["spec"]["ingress"][0], "an empty list, too, would let in everybody"
    cluster.api.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    policy = yaml.safe_dump(patched["NetworkPolicy", "fabric-injector-webhook"])
    assert cluster.kubectl(*APPLY, "--dry-run=server", input=policy).stderr == ""


def test_the_version_is_that_of_the_code() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_lint_finds_nothing(helm: Path) -> None:
    done = run(helm, "lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stdout + done.stderr


def test_profiles_become_the_config_map_that_the_webhook_mounts(helm: Path, tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump({"profiles": yaml.safe_load(PROFILES)}))
    done = run(helm, "template", "x", str(CHART), f"--namespace={NAMESPACE}", f"--values={values}")
    found = objects(done.stdout)
    config_map = found["ConfigMap", "fabric-injector-profiles"]
    assert list(parse_profiles(config_map["data"]["profiles.yaml"]).profiles) == ["rdma-shared"]
    volumes = found["Deployment", "fabric-injector-webhook"]["spec"]["template"]["spec"]["volumes"]
    assert {"name": config_map["metadata"]["name"]} in [each.get("configMap") for each in volumes]


def test_lives_in_another_namespace_as_well(helm: Path) -> None:
    """Every place that names the namespace follows the release's."""
    text = template(helm, *(value for value in VALUES.values()), namespace="elsewhere")
    found = objects(text)
    assert {each["metadata"].get("namespace", "elsewhere") for each in found.values()} == {"elsewhere"}
    first, second = found["MutatingWebhookConfiguration", "zz-fabric-injector"]["webhooks"]
    for entry in (first, second):
        assert entry["clientConfig"]["service"]["namespace"] == "elsewhere"
        assert entry["namespaceSelector"]["matchExpressions"][1]["values"] == ["kube-system", "elsewhere"]
    subjects = [
        subject for (kind, _), each in found.items() if kind.endswith("Binding") for subject in each.get("subjects", ())
    ]
    assert {each["namespace"] for each in subjects if each["kind"] == "ServiceAccount"} == {"elsewhere"}
    assert found["Certificate", "fabric-injector-tls"]["spec"]["dnsNames"] == ["fabric-injector.elsewhere.svc"]
    [validation] = found["ValidatingAdmissionPolicy", "fabric-injector-priority"]["spec"]["validations"]
    assert validation["expression"] == 'request.namespace == "elsewhere"'


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("webhok.replicas=3", "webhok"),
        ("webhook.replicas=0", "/webhook/replicas"),
        ("webhook.replicas=many", "/webhook/replicas"),
        ("failurePolicy=Perhaps", "/failurePolicy"),
        ("image.pullPolicy=never", "/image/pullPolicy"),
        ("profiles.networks=x", "profiles"),
        ("certManager=please", "/certManager"),
        ("apiServers[0].ipBlock.cidr=192.0.2.10", "/apiServers/0/ipBlock/cidr"),
        ("apiServers[0].address=192.0.2.10", "address"),
        ("apiServers[0].ipBlock.cidr=192.0.2.10/32", "/networkPolicy"),
    ],
)
def test_refuses_values_that_mean_nothing(helm: Path, value: str, named: str) -> None:
    done = run(helm, "template", "x", str(CHART), f"--set={value}")
    assert done.returncode != 0
    assert named in done.stderr


def test_values_reach_the_pods(helm: Path) -> None:
    found = objects(
        template(
            helm,
            "image.repository=registry.example/fabric-injector",
            "image.pullSecrets={pull}",
            "webhook.tag=0.0.9",
            "webhook.replicas=3",
            "webhook.nodeSelector.pool=system",
            "webhook.tolerations[0].operator=Exists",
            "webhook.extraArgs={--listen=[::]:8443}",
            "priorityClassName=system-cluster-critical",
        )
    )
    webhook, controller = (found["Deployment", f"fabric-injector-{each}"]["spec"] for each in ("webhook", "controller"))
    pod = webhook["template"]["spec"]
    assert webhook["replicas"] == 3
    assert pod["containers"][0]["image"] == "registry.example/fabric-injector:0.0.9"
    assert controller["template"]["spec"]["containers"][0]["image"] == f"registry.example/fabric-injector:{__version__}"
    assert pod["containers"][0]["args"][-1] == "--listen=[::]:8443"
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux", "pool": "system"}
    assert (pod["tolerations"][2:], pod["imagePullSecrets"]) == ([{"operator": "Exists"}], [{"name": "pull"}])
    assert pod["priorityClassName"] == "system-cluster-critical"
    assert ("PriorityClass", "fabric-injector") not in found
    assert ("ValidatingAdmissionPolicy", "fabric-injector-priority") not in found


def test_is_installed_by_helm_twice(helm: Path, cluster: ControlPlane) -> None:
    """Installed and upgraded in place, on a real API server; the second time changes nothing."""
    config = cluster.kubeconfig(cluster.folder / "helm.kubeconfig")
    common = (
        "upgrade",
        "--install",
        "fabric-injector",
        str(CHART),
        f"--namespace={NAMESPACE}",
        f"--kubeconfig={config}",
    )
    for _ in range(2):
        done = run(helm, *common, "--create-namespace", "--output=json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["info"]["status"] == "deployed"
    again = cluster.kubectl(*APPLY, "--dry-run=server", "--force-conflicts", input=template(helm))
    assert again.stderr == ""
    done = run(helm, "uninstall", "fabric-injector", f"--namespace={NAMESPACE}", f"--kubeconfig={config}")
    assert done.returncode == 0, done.stderr
    left = cluster.kubectl("get", "mutatingwebhookconfiguration", "--output=name").stdout
    assert "zz-fabric-injector" not in left
    remove(cluster, render(MANIFESTS / "overlays" / "default"))
