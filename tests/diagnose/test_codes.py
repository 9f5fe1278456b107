"""The codes of findings: an interface between versions, which programs filter by."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.told_codes import TOLD, told_by_all_tests
from webhook.diagnose.codes import Code

PINNED = """
clock: clock-right clock-off clock-unknown
lease: lease-held lease-missing lease-free lease-stale lease-ahead
profiles: profiles-valid profile-invalid profiles-missing definition-agrees definition-missing definition-not-established
  definition-differs profiles-ready profile-not-ready profile-unseen setting-inert
certificates: certificate-valid certificate-missing certificate-unusable certificate-untrusted ca-bundle-unusable
configuration: configuration-as-shipped configuration-missing webhook-never-called unlabelled-called opted-out-called
  opted-in-not-served system-called failure-policy-changed reinvocation-policy-changed match-policy-changed side-effects-changed
  timeout-long review-version-missing mirror-pods-called webhook-by-url webhook-elsewhere service-missing
  webhook-path-wrong
installation: not-installed
deployments: deployment-ready deployment-missing deployment-down deployment-degraded rollout-unfinished replica-single
  replicas-together images-differ
devices: resource-offered resource-nowhere resource-too-small resource-unlabelled resource-uncounted driver-silent
  pool-incomplete nodes-unusable devices-lost
scheduling: resource-taken queue-waiting node-gone node-not-ready scheduling-gated unschedulable taint-untolerated scheduler-silent
  kueue-waiting kueue-inadmissible kueue-evicted kueue-deactivated kueue-check-waiting kueue-silent
networks: network-exists network-unused network-missing network-isolated network-unusable network-without-device
  network-without-addresses network-pending network-failed addresses-exhausted network-not-attached
  network-status-missing network-status-unreadable address-unusable address-missing ranks-meet
claims: claim-template-missing claim-missing claim-unallocated claim-address-missing device-classes-found device-class-missing
  claims-unserved claim-templates-kept claim-template-foreign kueue-claims-counted kueue-claims-unmapped
volumes: volume-unmounted
multus: multus-ready multus-degraded multus-unseen multus-unused multus-missing isolation-agrees isolation-differs isolation-unknown
  isolation-irrelevant global-namespaces-agree global-namespaces-excessive global-namespaces-lacking
  default-networks-differ
namespaces: namespace-ready namespaces-unlabelled label-unknown mode-unknown namespace-excluded namespace-observes profile-unknown
  profile-not-allowed pod-security-refuses
injectors: injectors-harmless installed-twice injector-collides injector-called-later
privileges: privileges-right privileges-lacking privileges-excessive privileges-unknown installer-ready
  installer-lacking policies-bound policies-missing
quotas: quota-fits quota-too-small quota-used-up quota-uncounted cluster-queue-covers cluster-queue-lacks
  volcano-queues-fit volcano-queue-too-small
reachability: webhook-injects webhook-observes webhook-answers webhook-untried webhook-unknown webhook-denies
  webhook-unreachable webhook-passed-over
admission: pod-refused pod-denied other-webhook-unreachable pod-security-refused quota-refused
injection: injected injection-status-unreadable step-skipped step-doubtful not-injected not-injected-unknown
  webhook-missed webhook-out-of-reach all-injected left-out rank-zero-apart
drift: drift revisions-differ
members: job-over job-without-pods job-suspended rank-zero-twice rank-zero-missing rank-zero-ended rank-zero-done members-linger
  members-missing
containers: pod-ended-by-node container-not-starting container-failed
addresses: addresses-told address-outdated address-untold meets-by-name names-unresolved address-former
controller: controller-silent
wait: wait-begun wait-long wait-stuck wait-ended wait-gave-up
interfaces: rdma-disabled rdma-devices-told rdma-devices-unnamed rdma-devices-excluded gid-index-fixed interface-absent
  interface-excluded interfaces-disagree interface-unexpected
memlock: ipc-lock-missing ipc-lock-inert
transport: transport-fabric transport-tcp transports-differ transport-local transport-untold rdma-memory-refused
  rdma-unconnected
shared-memory: shared-memory-small shared-memory-on-disk shared-memory-beyond-limit
events: event
unread: unread
"""
"""Every code of a release, by topic: one may be added; one that is taken away or renamed breaks what others have written."""


def pinned() -> dict[str, str]:
    """Return the topic of each code."""
    found = {}
    topic = ""
    for word in PINNED.split():
        if word.endswith(":"):
            topic = word.removesuffix(":")
        else:
            found[word] = topic
    return found


def test_codes_and_topics_stay_as_they_are() -> None:
    assert {str(code): code.topic for code in Code} == pinned()
    assert len(pinned()) == len(re.findall(r"\S+[^:\s](?=\s)", PINNED)), "each is pinned once"


@pytest.mark.parametrize("code", Code, ids=str)
def test_each_says_what_it_means_and_what_to_do(code: Code) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", str(code))
    assert re.fullmatch(r"[A-Z].*[^.]\.", code.means), "one sentence"
    assert not code.action or re.fullmatch(r"[a-z].*[^.]", code.action), (
        "as it is printed after an arrow"
    )


def test_every_code_is_told_by_some_test(tmp_path: Path) -> None:
    """The tests of this process may be few, where somebody runs one file; then all of them are run."""
    codes = {str(code) for code in Code}
    told = TOLD if codes <= TOLD.keys() else told_by_all_tests(tmp_path / "told.json")
    assert codes - told.keys() == set()
    faults = {code for code, levels in told.items() if levels != {"ok"}}
    assert {code for code in faults if not Code[code.upper().replace("-", "_")].action} == set(), (
        "who is told must act"
    )


@pytest.mark.parametrize(
    "code", [code for code in Code if re.search(r"\bapply\b", code.action)], ids=str
)
def test_who_is_to_apply_something_is_given_the_command(code: Code) -> None:
    assert "kubectl apply --server-side" in code.action


@pytest.mark.parametrize("code", [code for code in Code if "manifests" in code.action], ids=str)
def test_who_is_to_apply_the_manifests_is_given_the_command_of_helm_too(code: Code) -> None:
    assert "kubectl apply --server-side -f install.yaml (Helm: helm upgrade …" in code.action
