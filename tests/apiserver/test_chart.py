"""The Helm chart renders what kustomize renders, value by value, and refuses values that mean nothing."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests import ROOT
from tests.apiserver.installation import remove
from tests.cluster.assets import render
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import program
from tests.cluster.installation import MANIFESTS, NAMESPACE, install_yaml
from tests.cluster.objects import made
from tests.manifests.chart_readme import examples_of, uncommented
from tests.tables import read
from tests.waiting import wait_until
from webhook import __version__
from webhook.cli import main
from webhook.core.names import CONFIG_MAP
from webhook.core.profiles.load import parse_configuration

from .test_components import APPLY, with_components

CHART = MANIFESTS / "chart"
TABLES = read(__file__, "manifests/chart.yaml")
VALUES: dict[str, str] = TABLES["components"]
PROFILES = "/apis/fabric-injector.io/v1alpha1/fabricprofiles"
DEFINITION = (
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fabricprofiles.fabric-injector.io"
)
OF_HELM = {
    "app.kubernetes.io/instance": "fabric-injector",
    "app.kubernetes.io/managed-by": "Helm",
    "app.kubernetes.io/part-of": "fabric-injector",
    "app.kubernetes.io/version": __version__,
    "helm.sh/chart": f"fabric-injector-{__version__}",
}
"""Labels of the chart's objects that those of install.yaml do not have."""
EXAMPLES = list(examples_of((CHART / "values.yaml").read_text()))
PROFILE = {
    "networks": [{"network": "default/rdma-net-ipam", "resource": "rdma/rdma_shared_device_a"}]
}


@pytest.fixture(scope="module")
def helm(programs: None) -> Path:
    return program("helm")


def run(helm: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("HELM_", "KUBE"))
    }
    done = subprocess.run([helm, *arguments], capture_output=True, text=True, timeout=120, env=kept)
    # of a checkout Helm names the two links on stderr; a packaged chart has files in their place
    done.stderr = "".join(
        line for line in done.stderr.splitlines(True) if "found symbolic link" not in line
    )
    return done


def template(
    helm: Path,
    *settings: str,
    values: str | dict[str, Any] = "",
    namespace: str = NAMESPACE,
    chart: Path = CHART,
) -> str:
    """Render the chart with the text or content of a values file, and with options of Helm."""
    text = values if isinstance(values, str) else yaml.safe_dump(values)
    options = [each if each.startswith("--") else f"--set={each}" for each in settings]
    with NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        options += [f"--values={file.name}", f"--namespace={namespace}"]
        done = run(helm, "template", "fabric-injector", str(chart), *options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def of_the_test(each: dict[str, Any]) -> bool:
    return bool(each["metadata"].get("annotations", {}).get("helm.sh/hook") == "test")


def as_shipped(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Give the objects without what only Helm needs: its labels, which all have, and the annotations of the definition."""
    found = objects(text)
    definition = found["CustomResourceDefinition", "fabricprofiles.fabric-injector.io"]["metadata"]
    assert definition.pop("annotations") == {
        "helm.sh/resource-policy": "keep",
        "meta.helm.sh/release-name": "fabric-injector",
        "meta.helm.sh/release-namespace": NAMESPACE,
    }
    for each in found.values():
        labels = each["metadata"]["labels"]
        assert {key: labels.pop(key) for key in OF_HELM} == OF_HELM
    return found


def objects(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Give the objects by kind and name; the release's own namespace is made by Helm, if at all."""
    found = [
        each
        for each in yaml.safe_load_all(text)
        if each and each["kind"] != "Namespace" and not of_the_test(each)
    ]
    named = {(each["kind"], each["metadata"]["name"]): each for each in found}
    assert len(named) == len(found)
    return named


def test_renders_what_install_yaml_holds(helm: Path) -> None:
    assert as_shipped(template(helm)) == objects(install_yaml().read_text())


def test_a_packaged_chart_renders_the_same(helm: Path, tmp_path: Path) -> None:
    done = run(helm, "package", str(CHART), f"--destination={tmp_path}")
    assert done.returncode == 0, done.stderr
    (package,) = tmp_path.glob("*.tgz")
    assert template(helm, chart=package) == template(helm)


def test_every_component_has_its_value() -> None:
    assert set(VALUES) == {folder.name for folder in (MANIFESTS / "components").iterdir()}


@pytest.mark.parametrize("names", [*([name] for name in VALUES), list(VALUES)], ids="+".join)
def test_values_do_what_components_do(helm: Path, tmp_path: Path, names: list[str]) -> None:
    rendered = as_shipped(template(helm, *(VALUES[name] for name in names)))
    assert rendered == objects(with_components(tmp_path / "overlay", names))


def test_the_port_is_closed_to_all_but_the_api_servers(
    helm: Path, cluster: ControlPlane, tmp_path: Path
) -> None:
    """By a value as by the patch that the manual prints, and the API server takes it."""
    manual = (ROOT / "docs/install.md").read_text()
    (printed,) = re.findall(r"^```yaml\n(patches:\n.*?)^```", manual, re.DOTALL | re.MULTILINE)
    overlay = tmp_path / "overlay"
    with_components(overlay, ["network-policy"])
    kustomization = yaml.safe_load((overlay / "kustomization.yaml").read_text()) | yaml.safe_load(
        printed
    )
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    patched = objects(render(overlay))
    (first, *_) = patched["NetworkPolicy", "fabric-injector-webhook"]["spec"]["ingress"]
    values = {"networkPolicy": True, "apiServers": first["from"]}
    assert as_shipped(template(helm, values=values)) == patched
    assert [peer for peer in first["from"] if "ipBlock" in peer]
    open_to_all = objects(template(helm, "networkPolicy=true"))[
        "NetworkPolicy", "fabric-injector-webhook"
    ]
    assert "from" not in open_to_all["spec"]["ingress"][0], (
        "an empty list, too, would let in everybody"
    )
    cluster.api.ensure(made("v1 Namespace", NAMESPACE))
    policy = yaml.safe_dump(patched["NetworkPolicy", "fabric-injector-webhook"])
    assert cluster.kubectl(*APPLY, "--dry-run=server", input=policy).stderr == ""


def test_lint_finds_nothing(helm: Path) -> None:
    done = run(helm, "lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stdout + done.stderr


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_works_when_uncommented_where_it_stands(helm: Path, number: int) -> None:
    text = (CHART / "values.yaml").read_text()
    block = list(re.finditer(r"(?:^#(?!#).*\n)+", text, re.MULTILINE))[number]
    text = text[: block.start()] + uncommented(block[0]) + text[block.end() :]
    assert template(helm, values=text)
    assert contains(yaml.safe_load(text), yaml.safe_load(EXAMPLES[number]))


def test_all_examples_work_together(helm: Path) -> None:
    found = template(helm, values=uncommented((CHART / "values.yaml").read_text()))
    assert objects(found)["FabricProfile", "rdma-shared"]["spec"] == PROFILE


def contains(whole: Any, part: Any) -> bool:
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and contains(whole[key], part[key]) for key in part
        )
    return bool(whole == part)


def test_profiles_become_objects(helm: Path) -> None:
    """Ordinary ones where the API knows them; before, by a hook that runs when it does, with what Helm knows its own by."""
    values = {"profiles": {"rdma-shared": PROFILE}}
    for known in (True, False):
        versions = ["--api-versions=fabric-injector.io/v1alpha1/FabricProfile"] if known else []
        found = objects(template(helm, *versions, values=values))["FabricProfile", "rdma-shared"]
        assert found["spec"] == PROFILE
        annotations = found["metadata"].get("annotations", {})
        assert ("post-install" in annotations.get("helm.sh/hook", "")) is not known
        assert ("meta.helm.sh/release-name" in annotations) is not known


def test_settings_become_the_configuration_that_both_mount(helm: Path) -> None:
    multus = {"namespaceIsolation": True, "globalNamespaces": ["default", "fabric"]}
    found = objects(template(helm, values={"multus": multus}))
    settings = parse_configuration(found["ConfigMap", CONFIG_MAP]["data"]["config.yaml"])
    assert settings.multus.namespace_isolation
    assert list(settings.multus.global_namespaces) == ["default", "fabric"]
    for component in ("webhook", "controller"):
        deployment = found["Deployment", f"fabric-injector-{component}"]
        volumes = at(deployment, "spec.template.spec.volumes")
        assert CONFIG_MAP in [each["configMap"]["name"] for each in volumes if "configMap" in each]
    assert ("ConfigMap", CONFIG_MAP) not in objects(template(helm)), "an admin's own stays as it is"


def test_lives_in_another_namespace_as_well(helm: Path) -> None:
    """Every place that names the namespace follows the release's, and nothing else does."""
    before = (
        r'(namespace: |namespace=|\.namespace == "|each == "|- |fabric-injector\.|inject-ca-from: )'
    )
    here, there = (
        template(helm, *VALUES.values(), namespace=name) for name in (NAMESPACE, "elsewhere")
    )
    followed = re.sub(
        before + NAMESPACE + r'(?=$|"| #|\.svc|/)', r"\1elsewhere", here, flags=re.MULTILINE
    )
    assert there == followed


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("webhok.replicas=3", "webhok"),
        ("webhook.replicas=many", "/webhook/replicas"),
        ("profiles.Shared.ipcLock=true", "/profiles"),
        ("apiServers[0].ipBlock.cidr=192.0.2.10/32", "/networkPolicy"),
    ],
)
def test_refuses_values_that_mean_nothing(helm: Path, value: str, named: str) -> None:
    done = run(helm, "template", "x", str(CHART), f"--set={value}")
    assert done.returncode != 0
    assert named in done.stderr


PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def at(found: Any, path: str) -> Any:
    """Give what is at a path of keys and numbers."""
    for key in path.split("."):
        found = found[int(key) if isinstance(found, list) else key]
    return found


def test_values_reach_the_objects(helm: Path) -> None:
    found = objects(template(helm, values=TABLES["values"]))
    for which, places in TABLES["reached"].items():
        kind, name = which.split()
        there = {path: at(found[kind, name], path) for path in places}
        assert there == places, which
    pod = found["Deployment", "fabric-injector-webhook"]["spec"]["template"]
    assert pod["metadata"]["labels"]["app.kubernetes.io/component"] == "webhook"
    ours = at(pod, f"spec.affinity.podAntiAffinity.{PREFERRED}")
    assert len(ours) > 1, "our own wish stays"
    assert ("PriorityClass", "fabric-injector") not in found
    assert ("ValidatingAdmissionPolicy", "fabric-injector-priority") not in found
    for name in ("webhook", "controller"):
        peers = at(found["NetworkPolicy", f"fabric-injector-{name}"], "spec.ingress.-1.from")
        label = "kubernetes.io/metadata.name"
        allowed = [each["namespaceSelector"]["matchLabels"][label] for each in peers]
        assert allowed == ["metrics", "observability"]
    tagged = objects(template(helm, "webhook.tag=0.0.8"))["Deployment", "fabric-injector-webhook"]
    assert at(tagged, "spec.template.spec.containers.0.image") == "fabric-injector:0.0.8"


class Release:
    """A release of the chart on a real API server."""

    def __init__(self, helm: Path, cluster: ControlPlane, folder: Path) -> None:
        self.helm, self.cluster, self.folder = helm, cluster, folder

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        options = (f"--namespace={NAMESPACE}", f"--kubeconfig={self.cluster.admin}")
        return run(self.helm, command, "fabric-injector", *arguments, *options)

    def put(self, command: str, **profiles: str) -> None:
        """Install or upgrade with these profiles, each of one network."""
        values = self.folder / "values.yaml"
        specs = {name: {"networks": [{"network": network}]} for name, network in profiles.items()}
        values.write_text(yaml.safe_dump({"profiles": specs}))
        more = ["--create-namespace"] if command == "install" else []
        done = self.run(command, str(CHART), f"--values={values}", *more)
        assert done.returncode == 0, done.stderr

    def profiles(self) -> dict[str, str]:
        items = self.cluster.api.expect("GET", PROFILES)["items"]
        return {each["metadata"]["name"]: each["spec"]["networks"][0]["network"] for each in items}


@pytest.fixture
def release(helm: Path, cluster: ControlPlane, tmp_path: Path) -> Iterator[Release]:
    """Give a release that is not installed yet, on a cluster without the definition of FabricProfile."""
    api = cluster.api
    if api.request("DELETE", DEFINITION).status == 200:
        wait_until(lambda: api.request("GET", DEFINITION).status == 404, "the definition to go")
        wait_until(lambda: api.request("GET", PROFILES).status == 404, "the API to go")
    release = Release(helm, cluster, tmp_path)
    yield release
    release.run("uninstall", "--ignore-not-found")
    remove(cluster, render(MANIFESTS / "overlays" / "default"))


def test_profiles_follow_the_values_through_the_life_of_a_release(release: Release) -> None:
    """Those that the first install made by its hook are taken over, changed and removed as those of later ones."""
    release.put("install", first="default/one", second="default/two")
    assert release.profiles() == {"first": "default/one", "second": "default/two"}
    release.put("upgrade", first="default/changed", third="default/three")
    assert release.profiles() == {"first": "default/changed", "third": "default/three"}
    text = template(release.helm, "--no-hooks")
    again = release.cluster.kubectl(*APPLY, "--dry-run=server", "--force-conflicts", input=text)
    assert again.stderr == ""
    release.put("upgrade", first="default/again")
    assert release.profiles() == {"first": "default/again"}
    assert release.run("rollback", "2").returncode == 0
    assert release.profiles() == {"first": "default/changed", "third": "default/three"}
    assert release.run("rollback", "1").returncode == 0
    assert release.profiles().items() >= {"first": "default/one", "second": "default/two"}.items()
    assert release.run("uninstall").returncode == 0
    left = release.cluster.kubectl("get", "mutatingwebhookconfiguration", "--output=name").stdout
    assert "zz-fabric-injector" not in left


def test_an_uninstall_keeps_the_definition_and_the_admins_profiles(release: Release) -> None:
    release.put("install", shipped="default/one")
    own = made(
        "fabric-injector.io/v1alpha1 FabricProfile",
        "own",
        spec={"networks": [{"network": "default/own"}]},
    )
    release.cluster.api.expect("POST", PROFILES, own)
    assert release.run("uninstall").returncode == 0
    assert release.profiles() == {"own": "default/own", "shipped": "default/one"}, (
        "before an upgrade they stay, as the notes of the install say"
    )
    release.put("install", shipped="default/two")
    assert release.profiles() == {"own": "default/own", "shipped": "default/two"}
    release.put("upgrade", shipped="default/two")
    assert release.run("uninstall").returncode == 0
    assert release.profiles() == {"own": "default/own"}
    release.put("install", shipped="default/two")
    release.put("upgrade", other="default/three")
    assert release.profiles() == {"own": "default/own", "other": "default/three"}


def test_the_account_of_helm_test_reads_all_but_the_secret(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `check` says it could not read is the certificates alone, and the pod passes PodSecurity's strictest level."""
    release.put("install", first="default/rdma-net-ipam")
    hooks = [
        each for each in yaml.safe_load_all(template(release.helm)) if each and of_the_test(each)
    ]
    (pod,) = (each for each in hooks if each["kind"] == "Pod")
    for each in hooks:
        policy = each["metadata"]["annotations"]["helm.sh/hook-delete-policy"]
        assert policy == "before-hook-creation,hook-succeeded"
    account, cluster = pod["spec"]["serviceAccountName"], release.cluster
    text = yaml.safe_dump_all(each for each in hooks if each["kind"] != "Pod")
    cluster.kubectl("apply", "--filename=-", input=text)
    try:
        enforce = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
        cluster.api.expect("PATCH", f"/api/v1/namespaces/{NAMESPACE}", enforce)
        answer = cluster.api.create(pod, NAMESPACE, dry_run=True)
        assert (answer.status, answer.warnings) == (201, []), answer.message
        token = cluster.service_account_token(NAMESPACE, account)
        monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig(tmp_path / "kubeconfig", token)))
        result = CliRunner().invoke(main, [*pod["spec"]["containers"][0]["args"], "--output=json"])
        findings = json.loads(result.output)["findings"]
        unread = [
            each["subject"]
            for each in findings
            if "cannot be read" in each["message"] or "403" in each["message"]
        ]
        assert unread == ["secrets fabric-injector/fabric-injector-tls"]
        assert [
            each["message"] for each in findings if each["subject"].startswith("ServiceAccount")
        ] != []
    finally:
        cluster.kubectl("delete", "--filename=-", input=text)
