"""Namespaces: labels that do not do what they seem to are told, and nothing is refused."""

from __future__ import annotations

import json

import pytest

from tests import pods
from tests.core.validation.worlds import FewWords, review
from tests.worlds import namespace, profiles
from webhook.core import names
from webhook.core.model import Object
from webhook.core.profiles import Profiles
from webhook.core.review import answer_validation

PROFILES = profiles()


def answer(
    after: Object,
    before: Object | None = None,
    world: FewWords | None = None,
    using: Profiles = PROFILES,
    operation: str = "",
) -> list[str]:
    """Return the warnings, having checked that the namespace is let in."""
    body = review("namespaces", operation or ("UPDATE" if before else "CREATE"), after, before)
    response = json.loads(answer_validation(body, using, world or FewWords()).body)["response"]
    assert response["allowed"] is True
    assert "status" not in response
    warnings: list[str] = response.get("warnings", [])
    assert all(warning.isprintable() and len(warning) <= 400 for warning in warnings)
    return warnings


def labelled(**labels: str) -> Object:
    """Return a namespace with these labels, of which an underscore stands for our prefix."""
    found = {key.replace("_", names.PREFIX, 1): value for key, value in labels.items()}
    return {"metadata": {"name": "train", "labels": found}}


def test_says_nothing_of_labels_that_mean_what_they_say() -> None:
    assert answer(namespace(profile="shared")) == []
    assert answer(namespace(profile="shared", mode="observe")) == []
    assert answer(namespace(profile="none")) == []
    assert answer(namespace(profile=None)) == []


def test_names_the_profile_that_may_be_meant() -> None:
    (warning,) = answer(namespace(profile="share"))
    assert warning == (
        'label fabric-injector.io/profile: no profile is named "share": its training pods are denied; '
        "did you mean shared? there are everything, rails, shared"
    )
    (warning,) = answer(namespace(profile="quite-another"))
    assert "did you mean" not in warning
    assert "everything, rails, shared" in warning, "here-only is not for it"
    (warning,) = answer(namespace(profile=""))
    assert 'no profile is named ""' in warning


def test_looks_for_a_profile_that_was_made_a_moment_ago() -> None:
    world = FewWords(new={"share": {}, "elsewhere": {"allowedNamespaces": ["here"]}, "broken": {"pods": 3}})
    assert answer(namespace(profile="share"), world=world) == []
    (warning,) = answer(namespace(profile="elsewhere"), world=world)
    assert "profile elsewhere is not for namespace train (allowedNamespaces): its training pods are denied" in warning
    (warning,) = answer(namespace(profile="broken"), world=world)
    assert "the content of profile broken cannot be used: its training pods are denied; correct the profile" in warning
    world.asked.clear()
    assert answer(namespace(profile="shared"), world=world) == []
    assert answer(namespace(profile="none"), world=world) == []
    assert world.asked == [], "the one that is in force is known"


def test_says_nothing_of_a_profile_for_which_nobody_could_be_asked() -> None:
    assert answer(namespace(profile="share"), world=FewWords(silent=True)) == []


def test_says_that_there_is_no_profile_yet() -> None:
    (warning,) = answer(namespace(profile="shared"), using=Profiles())
    assert warning.endswith("there is none for it yet")


def test_lists_few_of_many_profiles() -> None:
    many = profiles("profiles: {" + ", ".join(f"p{number:03}: {{}}" for number in range(300)) + "}")
    (warning,) = answer(namespace(profile="shared"), using=many)
    assert warning.endswith("p008, p009 and 290 more")


def test_says_that_an_observed_namespace_denies_nothing() -> None:
    (warning,) = answer(namespace(profile="share", mode="observe"))
    assert "denied" not in warning


def test_says_that_a_profile_is_for_other_namespaces() -> None:
    (warning,) = answer(namespace(profile="here-only"))
    assert "profile here-only is not for namespace train (allowedNamespaces)" in warning
    assert answer(namespace("here", "here-only")) == []


def test_says_that_a_mode_means_nothing() -> None:
    (warning,) = answer(namespace(profile="shared", mode="observed"))
    assert warning == (
        'label fabric-injector.io/mode: "observed" means nothing, and pods are injected; write observe, or remove the label'
    )


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("fabric-injector.io/profiles", "did you mean fabric-injector.io/profile?"),
        ("fabric-injector/profile", "did you mean fabric-injector.io/profile?"),
        ("fabric-injector.io/job", "those of a namespace are fabric-injector.io/profile and fabric-injector.io/mode"),
    ],
)
def test_says_that_a_label_means_nothing(key: str, meant: str) -> None:
    (warning,) = answer(labelled(**{key: "shared"}))
    assert warning == f"label {key} means nothing on a namespace; {meant}"


def test_tells_of_few_of_many_labels() -> None:
    assert len(answer(labelled(**{f"_x{number}": "" for number in range(20_000)}))) == 10


def job(*, finished: bool = False, injected: bool = False) -> list[Object]:
    """Return the pods of a PyTorchJob."""
    found = [pods.load("pods/kubeflow-pytorchjob-0.yaml"), pods.load("pods/kubeflow-pytorchjob-1.yaml")]
    for pod in found:
        pod["status"] = {"phase": "Succeeded" if finished else "Running"}
        if injected:
            pod["metadata"]["labels"][names.JOB] = "bert"
    return found


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (None, "shared", "only pods created from now on are injected"),
        ("none", "shared", "only pods created from now on are injected"),
        ("rails", "shared", "only pods created from now on get profile shared"),
        ("shared", None, "pods created from now on are not injected"),
        ("shared", "none", "pods created from now on are not injected"),
    ],
)
def test_names_the_jobs_that_would_be_split(before: str | None, after: str | None, change: str) -> None:
    world = FewWords(job())
    (warning,) = answer(namespace(profile=after), namespace(profile=before), world)
    assert world.asked == ["pods of train"]
    assert warning.startswith("1 unfinished training job here (")
    assert f": {change}, and a job some of whose pods are created anew is split; let them end first" in warning
    assert world.pods[0]["metadata"]["ownerReferences"][0]["name"] in warning


def test_an_observed_namespace_injects_nothing() -> None:
    world = FewWords(job())
    assert answer(namespace(profile="shared", mode="observe"), namespace(profile=None), world) == []
    assert world.asked == []
    (warning,) = answer(namespace(profile="shared"), namespace(profile="shared", mode="observe"), world)
    assert "only pods created from now on are injected" in warning


def test_asks_only_where_the_profile_changes() -> None:
    world = FewWords(job())
    assert answer(namespace(profile="shared"), namespace(profile="shared"), world) == []
    assert answer(namespace(profile="shared"), None, world) == []
    assert world.asked == []


def test_says_nothing_where_nobody_trains() -> None:
    opted_out = job()
    for pod in opted_out:
        pod["metadata"]["labels"][names.PROFILE] = names.PROFILE_NONE
    ending = job()
    for pod in ending:
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    for quiet in ([pods.plain()], opted_out, ending, job(finished=True), []):
        assert answer(namespace(profile="shared"), namespace(profile=None), FewWords(quiet)) == []


def test_counts_an_injected_job_once_whatever_its_pods_show() -> None:
    (warning,) = answer(namespace(profile="rails"), namespace(profile="shared"), FewWords(job(injected=True)))
    assert warning.startswith("1 unfinished training job here")


def test_counts_a_job_without_rank_zero_by_its_owner() -> None:
    workers = [pods.load(f"pods/mpijob-worker-{number}.yaml") for number in range(2)]
    (warning,) = answer(namespace(profile="shared"), namespace(profile=None), FewWords(workers))
    assert warning.startswith("1 unfinished training job here (MPIJob ")


def test_a_job_of_one_pod_cannot_be_split() -> None:
    (alone, _) = job()
    for entry in alone["spec"]["containers"][0]["env"]:
        if entry["name"] in ("WORLD_SIZE", "PET_NNODES"):
            entry["value"] = "1"
    assert answer(namespace(profile="shared"), namespace(profile=None), FewWords([alone])) == []


def test_names_few_of_many_jobs_and_says_that_there_may_be_more() -> None:
    many = []
    for number in range(30):
        (pod, _) = job()
        pod["metadata"]["labels"][names.JOB] = f"job-{number}"
        pod["metadata"]["ownerReferences"][0]["name"] = f"bert-{number}"
        many.append(pod)
    (warning,) = answer(namespace(profile="shared"), namespace(profile=None), FewWords(many, more=True))
    assert warning.startswith("at least 30 unfinished training jobs here (PyTorchJob bert-0, ")
    assert "PyTorchJob bert-4 and 25 more)" in warning


def test_a_silent_api_server_keeps_no_label_away() -> None:
    world = FewWords(silent=True)
    assert answer(namespace(profile="shared"), namespace(profile=None), world) == []
    assert world.asked == ["pods of train"]


@pytest.mark.parametrize("labels", [None, [], "x", {"fabric-injector.io/profile": 3}, {"a": None}])
def test_takes_labels_of_any_shape(labels: object) -> None:
    assert answer({"metadata": {"name": "train", "labels": labels}}, {"metadata": labels}) == []
    assert answer({"metadata": labels}) == []


def test_other_operations_are_let_in_unseen() -> None:
    assert answer(namespace(profile="share"), operation="DELETE") == []
