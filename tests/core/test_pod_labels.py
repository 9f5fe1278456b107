"""A profile that pods choose by labels of their own: network-resources-injector's user-defined injections."""

import pytest
from msgspec.structs import replace

from tests.profiles import profiles
from webhook.core import names
from webhook.core.decide import Skip, select_profile
from webhook.core.errors import Denied
from webhook.core.model import Namespace, Reason
from webhook.core.profiles import Profile, Profiles, same_pod_labels

PROFILES = profiles("""
fabric: {}
sriov: {podLabels: {feature/sriov: "true"}, pod: {metadata: {annotations: {top-secret: password}}}, ipcLock: false}
sriov-blue: {podLabels: {feature/sriov: "true", feature/blue: "true"}}
green: {podLabels: {feature/green: "true"}}
""")
SRIOV = {"feature/sriov": "true"}


def chosen(
    labels: dict[str, str] | None, of_namespace: str | None = "fabric", override: str | None = None
) -> str:
    space = Namespace("train", {names.PROFILE: of_namespace} if of_namespace else {})
    found = select_profile({"metadata": {"name": "a", "labels": labels}}, space, PROFILES, override)
    return found.name if isinstance(found, Profile) else found.decision.reason


@pytest.mark.parametrize(
    ("labels", "of_namespace", "override", "expected"),
    [
        (None, "fabric", None, "fabric"),
        (SRIOV, "fabric", None, "sriov"),
        (SRIOV, None, None, "sriov"),
        (SRIOV, "none", None, "sriov"),
        ({"feature/sriov": "false"}, "fabric", None, "fabric"),
        ({"feature/blue": "true"}, "fabric", None, "fabric"),
        ({**SRIOV, "other": "x"}, "fabric", None, "sriov"),
        ({**SRIOV, "feature/blue": "true"}, "fabric", None, "sriov-blue"),
        ({**SRIOV, names.PROFILE: "fabric"}, "fabric", None, "fabric"),
        ({**SRIOV, names.PROFILE: "none"}, "fabric", None, Reason.OPTED_OUT),
        (SRIOV, "fabric", "fabric", "fabric"),
    ],
)
def test_stands_between_the_pods_own_label_and_the_namespaces(
    labels: dict[str, str] | None, of_namespace: str | None, override: str | None, expected: str
) -> None:
    assert chosen(labels, of_namespace, override) == expected


def test_a_pod_that_two_profiles_want_is_denied_with_both() -> None:
    with pytest.raises(Denied) as denied:
        chosen({**SRIOV, "feature/green": "true", "feature/blue": "true"})
    assert denied.value.reason is Reason.AMBIGUOUS_PROFILE
    assert denied.value.message == (
        "pod a: its labels are the podLabels of 3 profiles; "
        f"label the pod {names.PROFILE} with green or sriov or sriov-blue"
    )


def test_a_pod_that_two_profiles_want_is_told_only_those_that_its_namespace_may_use() -> None:
    mine = PROFILES.profiles["sriov"]
    theirs = replace(
        mine,
        name="secret",
        pod_labels={"feature/green": "true"},
        allowed_namespaces=frozenset({"x"}),
    )
    both = Profiles(profiles={"sriov": mine, "secret": theirs})
    pod = {"metadata": {"name": "a", "labels": {**SRIOV, "feature/green": "true"}}}
    with pytest.raises(Denied, match=f"label the pod {names.PROFILE} with sriov$"):
        select_profile(pod, Namespace("train", {}), both, None)


def test_skips_are_none_of_the_profiles() -> None:
    assert isinstance(select_profile({"metadata": {}}, Namespace("train"), PROFILES, None), Skip)


def test_the_same_keys_with_other_values_are_other_labels() -> None:
    labels = "a: {podLabels: {x: '1'}}, b: {podLabels: {x: '2'}}, c: {podLabels: {x: '1'}}"
    found = profiles(f"{{{labels}}}")
    assert same_pod_labels(found.profiles.values()) == {"c": "a"}
