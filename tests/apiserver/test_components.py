"""Components and overlays on a real API server, with the custom resources that they use: accepted, and what they promise."""

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import ROOT
from tests.apiserver.installation import Installation, admit, injected, remove
from tests.cluster.assets import render
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installation import MANIFESTS, NAMESPACE
from tests.cluster.objects import account, pod
from tests.waiting import wait_until

COMPONENTS = sorted(folder.name for folder in (MANIFESTS / "components").iterdir())
OVERLAYS = sorted(folder.name for folder in (MANIFESTS / "overlays").iterdir())
APPLY = ("apply", "--server-side", "--validate=strict", "--filename=-")


@pytest.fixture
def apply(extended: ControlPlane) -> Iterator[Callable[[str], str]]:
    """Apply manifests, strictly; give what kubectl says, and remove them afterwards."""
    applied: list[str] = []

    def run(text: str) -> str:
        applied.append(text)
        done = extended.kubectl(*APPLY, input=text)
        assert done.stderr == "", "a warning"
        return done.stdout

    yield run
    for text in applied:
        remove(extended, text)


def render_overlay(name: str, _: Path) -> str:
    return render(MANIFESTS / "overlays" / name)


def with_components(folder: Path, names: Iterable[str]) -> str:
    """Render the base with these components, in this order, as somebody's own overlay would."""
    folder.mkdir()
    above = "/".join(".." for _ in folder.resolve().parts[1:])
    manifests = above + str(MANIFESTS)
    kustomization = {
        "resources": [f"{manifests}/base"],
        "components": [f"{manifests}/components/{name}" for name in names],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    return render(folder)


def find(text: str, kind: str, name: str) -> dict[str, Any]:
    (found,) = (
        each
        for each in yaml.safe_load_all(text)
        if (each["kind"], each["metadata"]["name"]) == (kind, name)
    )
    assert isinstance(found, dict)
    return found


WAYS: dict[str, Callable[[Path], str]] = {
    **{f"overlay {name}": partial(render_overlay, name) for name in OVERLAYS},
    **{name: partial(with_components, names=[name]) for name in COMPONENTS},
    "all": partial(with_components, names=COMPONENTS),
}


@pytest.mark.parametrize("way", WAYS)
def test_overlays_and_components_are_accepted(
    extended: ControlPlane, tmp_path: Path, way: str
) -> None:
    text = WAYS[way](tmp_path / "overlay")
    extended.api.ensure(find(text, "Namespace", NAMESPACE))
    done = extended.kubectl(*APPLY, "--dry-run=server", input=text)
    assert done.stderr == ""
    manifests = list(yaml.safe_load_all(text))
    assert len(done.stdout.splitlines()) == len(manifests)
    assert all(each["metadata"]["labels"]["app.kubernetes.io/name"] for each in manifests)


def test_ignore_lets_pods_pass_and_the_api_server_counts_them(
    apply: Callable[[str], str], extended: ControlPlane, tmp_path: Path
) -> None:
    """Nothing runs; by the series that the alert asks for."""
    apply(with_components(tmp_path / "overlay", ["failure-policy-ignore"]))
    name = {"name": "pods.fabric-injector.io"}

    def passed_over() -> bool:
        assert admit(extended.api, "labelled").status == 201
        return extended.metric("apiserver_admission_webhook_fail_open_count", **name) > 0

    wait_until(passed_over, "the API server to know the configuration")
    assert not injected(extended.api)


def test_opt_in_reaches_labelled_pods_of_unlabelled_namespaces(
    apply: Callable[[str], str], extended: ControlPlane, installation: Installation, tmp_path: Path
) -> None:
    """And no others, and never kube-system; the controller keeps the caBundle of both entries."""
    apply(with_components(tmp_path / "overlay", ["pod-opt-in"]))
    installation.start_controller()
    webhook = installation.start_webhook()
    api = extended.api
    wait_until(
        lambda: injected(api, "unlabelled"), "a pod of an unlabelled namespace to be injected"
    )
    assert injected(api, "labelled")
    first, second = installation.configuration()["webhooks"]
    assert base64.b64decode(first["clientConfig"]["caBundle"]).startswith(b"-----BEGIN CERTIFICATE")
    assert first["clientConfig"] == second["clientConfig"]
    api.ensure(account(), "kube-system")
    installation.stop_webhook(webhook)
    wait_until(lambda: admit(api, "unlabelled").status == 500, "the webhook to be away")
    assert api.create(pod(), "unlabelled", dry_run=True).status == 201
    assert admit(api, "unlabelled", "none").status == 201
    assert admit(api, "kube-system").status == 201


def test_the_manuals_own_overlay_renders(programs: None, tmp_path: Path) -> None:
    """As printed, but for where it finds what it builds on."""
    manual = (ROOT / "docs/install.md").read_text()
    (printed,) = re.findall(
        r"^```yaml\n# kustomization.yaml\n(.*?)^```", manual, re.DOTALL | re.MULTILINE
    )
    above = "/".join(".." for _ in tmp_path.resolve().parts[1:])
    local = re.sub(
        r"https://…/manifests/([\w/-]+)\?ref=v[\d.]+", rf"{above}{MANIFESTS}/\1", printed
    )
    assert local != printed
    (tmp_path / "kustomization.yaml").write_text(local)
    (tmp_path / "config.yaml").write_text("kind: Configuration\n")
    text = render(tmp_path)
    assert find(text, "ConfigMap", "fabric-injector-config")["data"] == {
        "config.yaml": "kind: Configuration\n"
    }
    deployment = find(text, "Deployment", "fabric-injector-webhook")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"].startswith("registry.example.com/fabric-injector:")
    assert find(text, "ServiceMonitor", "fabric-injector")
    kinds = [each["kind"] for each in yaml.safe_load_all(text)]
    assert (kinds[0], kinds[-1]) == ("Namespace", "MutatingWebhookConfiguration")
