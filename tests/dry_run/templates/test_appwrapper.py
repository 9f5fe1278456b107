"""AppWrapper, and what it marks of what it wraps."""

from __future__ import annotations

from tests.dry_run.templates.kinds import PLAIN, find, workload, wrapped
from webhook.core import podspec


def test_places_wrapped_objects_beside_their_wrapper() -> None:
    inner = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **PLAIN}
    [found] = find(wrapped("v1beta1", inner)).pods
    assert found.namespace == "train"


def test_labels_wrapped_pods() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **PLAIN}
    labelled = workload(
        "apps/v1",
        "Deployment",
        "web",
        {"template": {"metadata": {"labels": {"app": "web"}}, **PLAIN}},
    )
    bare = workload("apps/v1", "Deployment", "bare", {"template": PLAIN})
    first, second, third = (each.pod for each in find(wrapped("v1beta1", pod, labelled, bare)).pods)
    assert podspec.labels(first) == {"appwrapper.mcad.ibm.com": "aw", "resourceName": "p"}
    assert podspec.controller(first)["kind"] == "AppWrapper"
    assert podspec.labels(second) == {
        "app": "web",
        "appwrapper.mcad.ibm.com": "aw",
        "resourceName": "web",
    }
    assert podspec.labels(third) == {}
    for inner in (bare, pod):
        [other] = find(wrapped("v1beta2", inner)).pods
        assert podspec.labels(other.pod) == {"workload.codeflare.dev/appwrapper": "aw"}
