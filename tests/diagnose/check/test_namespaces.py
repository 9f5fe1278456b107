"""What ``check`` says of the labelled namespaces."""

import pytest

from tests.diagnose.check.findings import brief, expect
from tests.profiles import profiles
from tests.tables import cases
from webhook.core import names
from webhook.core.profiles import Profiles
from webhook.diagnose.check.namespaces import LabelledNamespace, check_namespaces, read_namespace
from webhook.diagnose.codes import Code

PROFILES = profiles("""
shared: {}
theirs: {allowedNamespaces: [elsewhere]}
skips: {podSecurity: skip}
ignores: {podSecurity: ignore}
unlocked: {ipcLock: false}
parts:
  ipcLock: false
  podSecurity: skip
  pod:
    spec:
      volumes: [{name: sys, hostPath: {path: /sys}}, {name: tmp, emptyDir: {}}]
      initContainers:
        - {name: plain, image: a, restartPolicy: Always}
        - {name: net, image: a, restartPolicy: Always, securityContext: {capabilities: {add: [NET_ADMIN, CHOWN]}}}
        - {name: own, image: a, restartPolicy: Always, securityContext: {capabilities: {add: [CHOWN]}}}
""")


def space(name: str = "a", profile: str = "shared", **labels: str) -> LabelledNamespace:
    return LabelledNamespace(name, {names.PROFILE: profile, **labels})


def look(*namespaces: LabelledNamespace, known: Profiles | None = PROFILES) -> list[str]:
    return brief(check_namespaces(namespaces, known, "fabric-injector"))


@pytest.mark.parametrize(
    ("name", "profile", "label", "head", "words"),
    cases("""
fine | a | shared | | ok namespace-ready namespace a | uses profile shared
none | a | none | | ok namespaces-unlabelled namespaces | none names a profile by label fabric-injector.io/profile yet
gone | a | gone | | fail profile-unknown namespace a | no profile is named 'gone': every training pod is denied
not for it | a | theirs | | fail profile-not-allowed namespace a | profile theirs is not for it: every training pod is denied
for it | elsewhere | theirs | | ok namespace-ready namespace elsewhere | uses profile theirs
observes | a | shared | fabric-injector.io/mode=observe | warn namespace-observes namespace a | pods of profile shared are neither changed nor denied
denied | a | shared | pod-security.kubernetes.io/enforce=restricted | fail pod-security-refuses namespace a | enforces PodSecurity restricted, which refuses IPC_LOCK of profile shared: every training pod is denied
skipped | a | skips | pod-security.kubernetes.io/enforce=baseline | warn pod-security-refuses namespace a | IPC_LOCK of profile skips: pods get none (podSecurity: skip), and registering RDMA memory may fail
ignored | a | ignores | pod-security.kubernetes.io/enforce=baseline | warn pod-security-refuses namespace a | its pods are refused unless PodSecurity exempts them (podSecurity: ignore)
parts | a | parts | pod-security.kubernetes.io/enforce=baseline | warn pod-security-refuses namespace a | refuses volume sys (hostPath), container net (capability NET_ADMIN) of profile parts: pods get none
more parts | a | parts | pod-security.kubernetes.io/enforce=restricted | warn pod-security-refuses namespace a | refuses volume sys (hostPath), container net (capability NET_ADMIN), container net (capability CHOWN), container own (capability CHOWN) of profile parts
unlocked | a | unlocked | pod-security.kubernetes.io/enforce=restricted | ok namespace-ready namespace a |
privileged | a | shared | pod-security.kubernetes.io/enforce=privileged | ok namespace-ready namespace a |
system | kube-system | shared | | warn namespace-excluded namespace kube-system | carries the label fabric-injector.io/profile, but its pods are never sent to the webhook
our own | fabric-injector | shared | | warn namespace-excluded namespace fabric-injector |
"""),
)
def test_judges(name: str, profile: str, label: str, head: str, words: str) -> None:
    key, _, value = label.partition("=")
    namespace = space(name, profile, **({key: value} if key else {}))
    expect(check_namespaces([namespace], PROFILES, "fabric-injector"), f"{head} | {words}")


def test_a_mode_that_means_nothing_changes_nothing() -> None:
    expect(
        check_namespaces([space(**{names.MODE: "dry"})], PROFILES, "fabric-injector"),
        "warn mode-unknown namespace a | label fabric-injector.io/mode: dry means nothing",
        "ok namespace-ready namespace a | uses profile shared",
    )


def test_reads_labelled_namespaces_that_stay() -> None:
    metadata = {"name": "a", "labels": {names.PROFILE: "shared"}}
    assert read_namespace({"metadata": metadata}) == LabelledNamespace(
        "a", {names.PROFILE: "shared"}
    )
    assert (
        read_namespace({"metadata": {**metadata, "deletionTimestamp": "2026-01-01T00:00:00Z"}})
        is None
    )
    assert read_namespace({"metadata": {"name": "a", "labels": {"x": "y"}}}) is None
    assert read_namespace({"metadata": {"name": "a"}}) is None


def test_tells_what_is_alike_once() -> None:
    many = [space(f"team-{number}") for number in range(50)]
    assert look(*many, space("odd", "gone")) == [
        "ok each of 50 namespaces (team-0, team-1, team-2, team-3, team-4 and 45 more): uses profile shared",
        "fail namespace odd: no profile is named 'gone': every training pod is denied",
    ]


def test_names_labels_that_mean_nothing_with_those_that_may_be_meant() -> None:
    """The webhook is never called for such a namespace: no refusal tells of the mistake."""
    labels = {
        "fabric-injector.io/profil": "shared",
        "fabric-injector/mode": "observe",
        "fabric-injector.io/x": "y",
        "a": "b",
    }
    found = read_namespace({"metadata": {"name": "a", "labels": labels}})
    assert found is not None
    nothing, *told = check_namespaces([found], PROFILES, "fabric-injector")
    assert nothing.code is Code.NAMESPACES_UNLABELLED
    assert {each.code for each in told} == {Code.LABEL_UNKNOWN}
    assert [(each.message, each.action) for each in told] == [
        (f"label {key} means nothing on a namespace", action)
        for key, action in (
            ("fabric-injector.io/profil", f"did you mean {names.PROFILE}?"),
            ("fabric-injector/mode", f"did you mean {names.MODE}?"),
            ("fabric-injector.io/x", f"a namespace's are {names.PROFILE} and {names.MODE}"),
        )
    ]


def test_names_the_profile_that_may_be_meant() -> None:
    (found,) = check_namespaces([space(profile="sahred")], PROFILES, "fabric-injector")
    assert found.action.startswith("did you mean shared? use one of: ignores, parts, shared, ")


def test_no_labelled_namespace() -> None:
    assert look() == ["ok namespaces: none carries the label fabric-injector.io/profile yet"]
    assert look(known=None) == look()


def test_a_namespace_whose_profile_is_not_known_cannot_be_judged() -> None:
    """Without profiles it cannot be told whether a namespace's is right: that is no namespace without a label."""
    assert look(space(), space("b"), space("kube-system"), known=None) == [
        "warn each of 2 namespaces (a, b): cannot be judged: profile shared, which it names, is not known, for the profiles were not "
        "read",
        "warn namespace kube-system: carries the label fabric-injector.io/profile, but its pods are never sent to the webhook",
    ]


def test_a_namespace_whose_profile_has_a_fault_cannot_be_judged() -> None:
    """What the webhook makes of it, its last good content, is unknown; the fault is told by itself."""
    faulty = LabelledNamespace("a", {names.PROFILE: "broken"})
    told = "warn namespace a: cannot be judged: profile broken, which it names, has a fault"
    for spaces, more in (([faulty], []), ([faulty, space("b", "gone")], ["fail namespace b"])):
        found = brief(check_namespaces(spaces, Profiles(), "fabric-injector", {"broken"}))
        assert [found[0], *(line.partition(": ")[0] for line in found[1:])] == [told, *more]


@pytest.mark.parametrize(
    ("name", "action"),
    [("a", "shared, skips"), ("elsewhere", "shared, skips, theirs")],
)
def test_names_the_profiles_that_the_namespace_may_use(name: str, action: str) -> None:
    known = profiles("{shared: {}, skips: {}, theirs: {allowedNamespaces: [elsewhere]}}")
    [found] = check_namespaces([space(name, "gone")], known, "fabric-injector")
    assert found.action == f"use one of: {action}"
