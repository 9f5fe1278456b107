"""Who puts in a namespace's labels or a profile is told what is wrong with them, and nobody is stopped where the webhook is gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests import pods
from tests.waiting import wait_until
from webhook.core.names import CONFIG_MAP
from webhook.core.profiles.custom_resource import custom_resource_definition
from webhook.core.profiles.objects import PLURAL, PROFILE_API_VERSION, PROFILE_KIND

from .client import Client, Response
from .conftest import NamespaceFactory
from .controlplane import ControlPlane
from .webhook import MISSPELT, Webhook
from .webhook import validating as registered

PROFILE = "fabric-injector.io/profile"
PATH = f"/apis/{PROFILE_API_VERSION}/{PLURAL}"
CALLS = "apiserver_admission_webhook_request_total"
ENTRIES = ("namespaces.fabric-injector.io", "profiles.fabric-injector.io")


def profile(spec: Any, name: str = "only-here") -> dict[str, Any]:
    return {"apiVersion": PROFILE_API_VERSION, "kind": PROFILE_KIND, "metadata": {"name": name}, "spec": spec}


def create(api: Client, spec: Any, name: str = "only-here", *, dry_run: bool = False) -> Response:
    return api.request("POST", f"{PATH}{'?dryRun=All' if dry_run else ''}", profile(spec, name))


def checked(api: Client, spec: Any, name: str) -> Response:
    """Ask until the content of the profile was looked at: on a busy machine the process for it may take too long."""
    found: list[Response] = []

    def ask_again() -> bool:
        found[:] = [create(api, spec, name, dry_run=True)]
        return not any("was not checked" in warning for warning in found[0].warnings)

    wait_until(ask_again, "the profile to be checked", 60)
    return found[0]


def relabelled(api: Client, profile: str) -> list[str]:
    """Return the warnings for a new namespace that names the profile; none is created."""
    metadata = {"name": "misspelt", "labels": {PROFILE: profile}}
    return api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, dry_run=True).warnings


def relabel(api: Client, name: str, **labels: str | None) -> Response:
    """Change labels as `kubectl label` does; a name is that after our prefix."""
    changed = {f"fabric-injector.io/{key}": value for key, value in labels.items()}
    return api.request("PATCH", f"/api/v1/namespaces/{name}", {"metadata": {"labels": changed}})


def calls(control_plane: ControlPlane) -> float:
    return sum(control_plane.metric(CALLS, name=entry) for entry in ENTRIES)


@pytest.fixture(scope="module")
def webhook(
    control_plane: ControlPlane, api: Client, webhook_command: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Webhook]:
    """The webhook of the module, which follows the FabricProfiles."""
    api.ensure(custom_resource_definition())
    wait_until(lambda: api.request("GET", PATH).status == 200, "the CRD to be served", 30)
    with Webhook(control_plane, tmp_path_factory.mktemp("webhook"), None, webhook_command) as running:
        yield running
    for each in api.expect("GET", PATH)["items"]:
        api.expect("DELETE", f"{PATH}/{each['metadata']['name']}")


@pytest.fixture(scope="module")
def validating(control_plane: ControlPlane, api: Client, webhook: Webhook) -> Iterator[Webhook]:
    """The webhook, asked by the shipped validating configuration too, with a profile in force."""
    with registered(api, webhook.url, webhook.authority.pem):
        wait_until(
            lambda: bool(api.create(MISSPELT, dry_run=True).warnings), "the API server to ask about namespaces", 30
        )
        wait_until(
            lambda: bool(create(api, {"networks": [{"network": "no/where"}]}, "probe", dry_run=True).warnings),
            "the API server to ask about profiles",
            30,
        )
        assert create(api, {}).status == 201
        wait_until(lambda: "only-here" in str(relabelled(api, "nobody")), "the profile to be in force", 30)
        yield webhook


def test_a_label_with_a_typo_shows_the_warning(
    control_plane: ControlPlane, validating: Webhook, namespace: NamespaceFactory
) -> None:
    name = namespace()
    told = control_plane.kubectl("label", "namespace", name, f"{PROFILE}=only-her")
    assert f"namespace/{name} labeled" in told.stdout
    assert told.stderr.startswith(
        f'Warning: label {PROFILE}: no profile is named "only-her": its training pods are denied; '
        "did you mean only-here? there are only-here"
    )
    told = control_plane.kubectl("label", "--overwrite", "namespace", name, f"{PROFILE}=only-here")
    assert told.stderr == ""
    told = control_plane.kubectl("label", "namespace", name, "fabric-injector/mode=observe")
    assert "did you mean fabric-injector.io/mode?" in told.stderr


def test_a_label_that_follows_its_profile_at_once_is_right(api: Client, validating: Webhook) -> None:
    for number in range(3):
        assert create(api, {}, f"new-{number}").status == 201
        assert relabelled(api, f"new-{number}") == []
        api.expect("DELETE", f"{PATH}/new-{number}")


def test_is_asked_only_where_labels_of_ours_change(
    control_plane: ControlPlane, api: Client, validating: Webhook, namespace: NamespaceFactory
) -> None:
    before = calls(control_plane)
    plain = namespace()
    path = f"/api/v1/namespaces/{plain}"
    api.expect("PATCH", path, {"metadata": {"labels": {"team": "a"}, "annotations": {PROFILE: "x"}}})
    assert calls(control_plane) == before
    labelled = namespace({PROFILE: "only-here"})
    assert calls(control_plane) == before + 1
    api.expect("PATCH", f"/api/v1/namespaces/{labelled}", {"metadata": {"labels": {"team": "a"}}})
    assert calls(control_plane) == before + 1
    for changed in ({"profile": "none"}, {"mode": "observe"}, {"mode": None}, {"profile": None}):
        assert relabel(api, labelled, **changed).status == 200
    assert calls(control_plane) == before + 5
    assert relabel(api, "kube-system", profile="nobody").warnings == []
    assert relabel(api, "kube-system", profile=None).status == 200
    assert calls(control_plane) == before + 5


def test_names_the_jobs_that_a_label_would_split(api: Client, validating: Webhook, namespace: NamespaceFactory) -> None:
    name = namespace()
    for number in range(2):
        pod = pods.load(f"pods/kubeflow-pytorchjob-{number}.yaml")
        metadata = {key: pod["metadata"][key] for key in ("name", "labels", "annotations") if key in pod["metadata"]}
        owner = {**pod["metadata"]["ownerReferences"][0], "name": "bert", "blockOwnerDeletion": False}
        metadata["ownerReferences"] = [owner]
        spec = {"containers": pod["spec"]["containers"]}
        api.expect("POST", f"/api/v1/namespaces/{name}/pods", {"metadata": metadata, "spec": _plain(spec)})
    answer = relabel(api, name, profile="only-here")
    assert answer.status == 200
    (warning,) = answer.warnings
    assert warning.startswith(
        "1 unfinished training job here (PyTorchJob bert): only pods created from now on are injected"
    )


def _plain(spec: dict[str, Any]) -> dict[str, Any]:
    """Leave out what refers to volumes that are not there."""
    kept = ("name", "image", "command", "args", "env", "resources")
    return {"containers": [{key: each[key] for key in kept if key in each} for each in spec["containers"]]}


def test_refuses_a_profile_that_the_schema_takes(api: Client, validating: Webhook) -> None:
    twice = checked(api, {"networks": [{"network": "a/b", "resource": "rdma/a,rdma/a"}]}, "twice")
    assert twice.status == 422
    assert twice.message.startswith(
        'admission webhook "profiles.fabric-injector.io" denied the request: FabricProfile twice: spec.networks[0].resource: '
    )
    absent = checked(api, {"networks": [{"network": "no/where"}]}, "absent")
    assert absent.status == 201
    assert absent.warnings == ["FabricProfile absent: network no/where does not exist: its pods are denied until then"]


def test_refuses_a_configuration_that_the_webhook_would_not_take(api: Client, validating: Webhook) -> None:
    """Whoever applies it hears of it, and not only whoever reads the log."""
    head = "apiVersion: config.fabric-injector.io/v1alpha1\nkind: Configuration\n"
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fabric-injector"}}
    api.ensure(space)
    api.request("DELETE", f"/api/v1/namespaces/fabric-injector/configmaps/{CONFIG_MAP}")  # that of another test

    def put(name: str, **data: str) -> Response:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        found: list[Response] = []

        def ask_again() -> bool:
            found[:] = [api.request("POST", "/api/v1/namespaces/fabric-injector/configmaps?dryRun=All", body)]
            return not any("was not checked" in warning for warning in found[0].warnings)

        wait_until(ask_again, "the configuration to be checked", 60)
        return found[0]

    typo = put(CONFIG_MAP, **{"config.yaml": f"{head}multus: {{defaultNetwork: 1}}\n"})
    assert typo.status == 422
    assert typo.message.startswith(
        'admission webhook "configuration.fabric-injector.io" denied the request: ConfigMap fabric-injector-config: config.yaml: '
        "line 3: Configuration: multus.defaultNetwork: "
    )
    right = put(CONFIG_MAP, **{"config.yaml": f"{head}multus: {{defaultNetworks: 1}}\n"})
    assert (right.status, right.warnings) == (201, [])
    assert "config.yml" in str(put(CONFIG_MAP, **{"config.yml": head}).warnings)
    assert put("another", **{"config.yaml": "a: ["}).status == 201


def test_keeps_a_profile_that_a_namespace_names(
    control_plane: ControlPlane, api: Client, validating: Webhook, namespace: NamespaceFactory
) -> None:
    """As long as one does, and by whatever way it is deleted; its labels are nobody's concern."""
    name = namespace({PROFILE: "only-here"})
    before = calls(control_plane)
    api.expect("PATCH", f"{PATH}/only-here", {"metadata": {"labels": {"team": "a"}}})
    assert calls(control_plane) == before
    refused = "it ("
    wait_until(lambda: api.request("DELETE", f"{PATH}/only-here?dryRun=All").status == 422, "the label to be seen", 15)
    for path in (f"{PATH}/only-here", PATH):
        answer = api.request("DELETE", path)
        assert (answer.status, refused in answer.message) == (422, True), answer.message
    users = [
        each["metadata"]["name"]
        for each in api.expect("GET", f"/api/v1/namespaces?labelSelector={PROFILE}=only-here")["items"]
    ]
    assert name in users
    for each in users:
        assert relabel(api, each, profile=None).status == 200
    assert api.request("DELETE", f"{PATH}/only-here").status == 200
    assert create(api, {}).status == 201


def test_nobody_waits_for_a_webhook_that_is_gone(api: Client, validating: Webhook, namespace: NamespaceFactory) -> None:
    name = namespace({PROFILE: "only-here"})
    validating.stop(force=True)
    try:
        assert relabel(api, name, profile="nobody").status == 200
        assert create(api, {"networks": [{"network": "a/b", "resource": "rdma/a,rdma/a"}]}, "twice").status == 201
        assert api.request("DELETE", f"{PATH}/only-here").status == 200
        assert (
            api.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{name}-2", "labels": {PROFILE: "x"}}}
            ).status
            == 201
        )
    finally:
        validating.start()
