"""FabricProfiles: what the loader refuses is refused, and one that is in use is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.core.validation.worlds import FewWords, review
from tests.worlds import profiles
from webhook.core.errors import MalformedReview
from webhook.core.model import Object
from webhook.core.profiles import Profiles
from webhook.core.review import answer_validation

PROFILES = profiles("profiles: {shared: {podLabels: {team: a}}, rails: {}}")


def profile(spec: Any, name: str = "fabric") -> Object:
    return {"metadata": {"name": name}, "spec": spec}


def answer(body: bytes, world: FewWords | None = None, using: Profiles = PROFILES) -> tuple[str, list[str]]:
    """Return the refusal, empty where the profile is let in, and the warnings."""
    answered = answer_validation(body, using, world or FewWords())
    response = json.loads(answered.body)["response"]
    assert response["uid"] == answered.uid == "705ab4f5-6393-11e8-b7cc-42010a800002"
    status = response.get("status", {})
    assert response["allowed"] is (status == {})
    if status:
        assert (status["code"], status["status"], status["reason"]) == (422, "Failure", "Invalid")
    return status.get("message", ""), response.get("warnings", [])


def created(spec: Any, world: FewWords | None = None, name: str = "fabric") -> tuple[str, list[str]]:
    found = answer(review("fabricprofiles", "CREATE", profile(spec, name)), world)
    assert answer(review("fabricprofiles", "UPDATE", profile(spec, name), profile({}, name)), world) == found
    return found


def test_takes_what_the_loader_takes() -> None:
    assert created({"networks": [{"network": "rails/rail-0"}]}, FewWords(networks=["rails/rail-0"])) == ("", [])
    assert created({}) == ("", [])


@pytest.mark.parametrize(("dry_run", "operation"), [(False, "CREATE"), (True, "UPDATE")])
def test_tells_the_log_what_was_asked(dry_run: bool, operation: str) -> None:
    body = review("fabricprofiles", operation, profile({}), profile({}), dryRun=dry_run)
    found = answer_validation(body, PROFILES, FewWords())
    assert (found.entry, found.operation, found.name, found.dry_run) == ("profiles", operation, "fabric", dry_run)


def test_warns_of_what_the_configuration_does_not_allow() -> None:
    spec = {"volumes": [{"name": "v", "hostPath": {"path": "/sys"}}]}
    warning = "volume v: hostPath /sys is not in allowed.hostPaths of the Configuration: pods that would get it are denied until it is"
    assert created(spec) == ("", [f"FabricProfile fabric: {warning}"])
    allowing = profiles("allowed: {hostPaths: [/sys]}\nprofiles: {}")
    assert answer(review("fabricprofiles", "CREATE", profile(spec)), using=allowing) == ("", [])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"networks": [{"network": "a/b", "resource": "rdma/a,rdma/a"}]},
            "spec.networks[0].resource: ",
        ),
        ({"networks": [{"network": "a/b", "count": 10**19}]}, "spec.networks[0].count: "),
        ({"resources": {"rdma/a": "1e40"}}, "spec.resources[rdma/a]: "),
        ({"podSecurity": "Deny"}, "spec.podSecurity: "),
        (None, ""),
        ([], ""),
    ],
)
def test_refuses_what_the_loader_refuses(spec: Any, message: str) -> None:
    refusal, warnings = created(spec)
    if spec is None:  # the schema refuses it; the file takes it for an empty one
        assert (refusal, warnings) == ("", [])
    else:
        assert refusal.startswith(f"FabricProfile fabric: {message}")
        assert refusal.count("FabricProfile") == 1


def test_tells_every_fault_but_few_of_many() -> None:
    refusal, _ = created({"podSecurity": "Deny", "nccl": True})
    assert "FabricProfile fabric: spec.nccl: is not a field" in refusal
    assert "; spec.podSecurity: " in refusal
    refusal, _ = created({"networks": [{"network": "!"} for _ in range(64)]})
    assert refusal.endswith("; and 54 more")
    assert refusal.count("spec.networks[") == 10


def test_refuses_the_pod_labels_of_another_profile() -> None:
    refusal, _ = created({"podLabels": {"team": "a"}})
    assert refusal == (
        "FabricProfile fabric: spec.podLabels: profile shared has the same; no pod could choose one of the two; write others"
    )
    assert created({"podLabels": {"team": "a"}}, name="shared") == ("", [])
    assert created({"podLabels": {"team": "b"}}) == ("", [])


def test_warns_of_networks_that_do_not_exist() -> None:
    networks = [{"network": f"rails/rail-{number}@rail{number}"} for number in range(8)]
    _, (warning,) = created({"networks": networks}, FewWords(networks=["rails/rail-0"]))
    assert warning == (
        "FabricProfile fabric: 7 networks rails/rail-1, rails/rail-2, rails/rail-3, rails/rail-4, rails/rail-5 and 2 more "
        "do not exist: its pods are denied until then"
    )
    _, (warning,) = created({"networks": [{"network": "rails/rail-0"}, {"network": "own"}]})
    assert warning == "FabricProfile fabric: network rails/rail-0 does not exist: its pods are denied until then"


def test_warns_of_interfaces_of_which_gke_tells_no_address() -> None:
    spec = {
        "rendezvous": {"addressSource": "gke"},
        "annotations": {
            "networking.gke.io/interfaces": '[{"interfaceName":"eth0","network":"default"}]',
            "networking.gke.io/default-interface": "eth0",
        },
    }
    told = "annotation networking.gke.io/interfaces asks for no network but the default one: its jobs meet on the pod network"
    assert created(spec) == ("", [f"FabricProfile fabric: {told}"])
    assert created({"rendezvous": {"addressSource": "gke"}}) == ("", []), "which its pods may ask for themselves"


def test_warns_of_namespaces_that_name_it_and_may_not_use_it() -> None:
    world = FewWords(users=["train", "eval", "play"])
    _, (warning,) = created({"allowedNamespaces": ["train"]}, world)
    assert warning == (
        "FabricProfile fabric: 2 namespaces name it (eval, play), and may not use it (allowedNamespaces): "
        "training pods there are denied, except in observe mode"
    )
    assert created({"allowedNamespaces": ["train", "eval", "play"]}, world) == ("", [])
    assert created({"allowedNamespaces": "all"}, world) == ("", [])


def test_warns_of_a_setting_that_does_nothing() -> None:
    _, (warning,) = created({"ncclConf": True, "rendezvous": {"waitImage": "installed"}})
    assert warning.startswith("FabricProfile fabric: ncclConf: true writes nothing: ")
    assert warning.endswith("; leave one of the two out")
    _, (warning,) = created({"deviceVariables": ["NCCL_IB_HCA"], "rendezvous": {"enabled": False}})
    assert warning.startswith("FabricProfile fabric: deviceVariables gives nothing: ")


def test_lets_in_what_cannot_be_read_now() -> None:
    assert created({"networks": [{"network": "rails/rail-0"}]}, FewWords(silent=True)) == (
        "",
        ["FabricProfile fabric: its content was not checked: the API server is silent"],
    )


class NothingButProfiles(FewWords):
    """Read profiles, but know no networks and no namespaces."""

    def read_profile(self, name: str, spec: Any) -> Any:
        self.silent = False
        found = super().read_profile(name, spec)
        self.silent = True
        return found


def test_says_nothing_of_what_cannot_be_asked_for() -> None:
    world = NothingButProfiles()
    assert created({"networks": [{"network": "a/b"}, {"network": "a/c"}]}, world) == ("", [])
    assert world.asked.count("network a/c") == 0, "one that is not answered is enough"
    assert created({"allowedNamespaces": ["train"]}, world) == ("", [])


def deleted(name: str, world: FewWords, using: Profiles = PROFILES) -> tuple[str, list[str]]:
    return answer(review("fabricprofiles", "DELETE", None, profile({}, name)), world, using)


def test_keeps_a_profile_that_namespaces_name() -> None:
    refusal, _ = deleted("shared", FewWords(users=["train"]))
    assert refusal == (
        "FabricProfile shared: 1 namespace names it (train); first give them another: "
        "kubectl label namespace train --overwrite fabric-injector.io/profile=NAME, or fabric-injector.io/profile-"
    )
    refusal, _ = deleted("shared", FewWords(users=[f"train-{number}" for number in range(7)]))
    assert "7 namespaces name it (train-0, train-1, train-2, train-3, train-4 and 2 more)" in refusal


def test_lets_go_of_a_profile_that_nobody_needs() -> None:
    assert deleted("shared", FewWords()) == ("", [])
    unused = FewWords(users=["train"])
    assert deleted("never-in-use", unused) == ("", [])
    assert unused.asked == []


def test_lets_go_of_a_profile_where_nobody_can_be_asked() -> None:
    assert deleted("shared", FewWords(silent=True)) == (
        "",
        ["FabricProfile shared: whether namespaces name it was not looked at: the API server is silent"],
    )


def test_finds_the_name_in_a_deletion_of_many() -> None:
    """A deletion of a whole collection names no object in the request itself."""
    body = review("fabricprofiles", "DELETE", None, profile({}, "shared"), name="")
    assert answer(body, FewWords(users=["train"]))[0].startswith("FabricProfile shared: 1 namespace")


@pytest.mark.parametrize(
    ("resource", "request_fields"),
    [("pods", {}), ("fabricprofiles", {"subResource": "status"}), ("fabricprofiles", {"operation": "CONNECT"})],
)
def test_lets_in_what_it_does_not_look_at(resource: str, request_fields: dict[str, str]) -> None:
    world = FewWords()
    fields: dict[str, Any] = {"operation": "CREATE", **request_fields}
    body = review(resource, after=profile({"podSecurity": "Deny"}), **fields)
    assert answer(body, world) == ("", [])
    assert world.asked == []


def test_refuses_bytes_that_are_no_review() -> None:
    for body in (b"", b"[]", b"{}", review("namespaces", "CREATE", uid=""), b"[" * 100_000):
        with pytest.raises(MalformedReview):
            answer_validation(body, PROFILES, FewWords())


def test_parses_no_body_that_takes_much_memory() -> None:
    labels = {f"{number}": "" for number in range(300_000)}
    with pytest.raises(MalformedReview, match="MB of memory, and at most 16"):
        answer_validation(review("namespaces", "CREATE", {"metadata": {"labels": labels}}), PROFILES, FewWords())
