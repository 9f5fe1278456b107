"""What ``check`` says of Multus and its settings."""

import json
from typing import Any

import pytest

from tests.diagnose.check.findings import brief, expect
from tests.profiles import profiles
from tests.tables import cases
from webhook.diagnose.check.multus import (
    Configuration,
    DaemonSet,
    check_absent,
    check_multus,
    configuration_of_arguments,
    configurations_of_map,
    read_daemon_set,
)

ELSEWHERE = "rail: {networks: [{network: rails/rail-0}]}"
DEFAULT = "shared: {networks: [{network: default/rdma}]}"
RUNNING = DaemonSet("kube-system", "kube-multus-ds", 3, 3)


def daemon_set(image: str, *arguments: str, config_map: str = "") -> dict[str, Any]:
    """Give a DaemonSet as multus-cni deployments/multus-daemonset.yml writes it."""
    volumes = [{"name": "cni", "hostPath": {"path": "/etc/cni/net.d"}}]
    more = [{"name": "cfg", "configMap": {"name": config_map}}] if config_map else []
    container = {"image": image, "command": ["/thin_entrypoint"], "args": list(arguments)}
    return {
        "metadata": {"name": "ds", "namespace": "kube-system"},
        "spec": {"template": {"spec": {"containers": [container], "volumes": [*volumes, *more]}}},
        "status": {"desiredNumberScheduled": 3, "numberReady": 2},
    }


@pytest.mark.parametrize(
    ("image", "container", "is_multus"),
    cases("""
thick | ghcr.io/k8snetworkplumbingwg/multus-cni:snapshot-thick | a | yes
mirrored | registry:5000/mirror/multus-cni@sha256:abc | a | yes
hardened | rancher/hardened-multus-cni:v4.2.0 | a | yes
OpenShift | quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:abc | kube-multus | yes
of policies | ghcr.io/x/multus-networkpolicy:1 | multi-networkpolicy | no
another | flannel:1 | kube-flannel | no
"""),
)
def test_recognises(image: str, container: str, is_multus: str) -> None:
    obj = daemon_set(image)
    obj["spec"]["template"]["spec"]["containers"][0]["name"] = container
    assert (read_daemon_set(obj) is not None) == (is_multus == "yes")


def test_reads_a_daemon_set() -> None:
    found = read_daemon_set(daemon_set("multus-cni", "--x=y", config_map="multus-cni-config"))
    assert found == DaemonSet(
        "kube-system", "ds", 3, 2, ("/thin_entrypoint", "--x=y"), ("multus-cni-config",)
    )


@pytest.mark.parametrize(
    ("arguments", "isolation", "spaces"),
    cases("""
neither | --multus-conf-file=auto | None |
both | --namespace-isolation=true --global-namespaces=default,foo,bar | True | default foo bar
quoted | --namespace-isolation=true --global-namespaces="default,foo" | True | default foo
a flag | --namespace-isolation | True |
off | --namespace-isolation=false | False |
two words | --global-namespaces a,b | None | a b
"""),
)
def test_reads_arguments(arguments: str, isolation: str, spaces: str) -> None:
    daemon_set = DaemonSet("kube-system", "ds", arguments=tuple(arguments.split()))
    found = configuration_of_arguments(daemon_set)
    assert (str(found.isolation), found.global_namespaces) == (isolation, tuple(spaces.split()))


def test_reads_arguments_that_stand_in_one_text() -> None:
    text = "sh -c /entrypoint.sh --namespace-isolation=true --global-namespaces=a"
    found = configuration_of_arguments(DaemonSet("kube-system", "ds", arguments=(text,)))
    assert (found.isolation, found.global_namespaces) == (True, ("a",))


def test_reads_config_maps() -> None:
    daemon = {
        "namespaceIsolation": True,
        "globalNamespaces": "default,openshift-multus",
        "logLevel": "verbose",
    }
    data = {
        "daemon-config.json": json.dumps(daemon),
        "readme": "no JSON",
        "list": "[]",
        "cni.json": '{"defaultNetworks": ["a"]}',
    }
    assert list(configurations_of_map("ConfigMap x", data)) == [
        Configuration("ConfigMap x, daemon-config.json", True, ("default", "openshift-multus")),
        Configuration("ConfigMap x, cni.json", None, (), 1),
    ]


SILENT, OPEN = Configuration("S"), Configuration("S", False)
ISOLATING, CLOSED = Configuration("S", True, ("default", "rails")), Configuration("S", True)
OURS = "{namespaceIsolation: true, globalNamespaces: [%s]}"
BOTH = OURS % "default, rails"


@pytest.mark.parametrize(
    ("specs", "multus", "configurations", "rows"),
    [
        (ELSEWHERE, "", [SILENT], ["ok isolation-agrees multus.namespaceIsolation | is false, as in S"]),
        (ELSEWHERE, "", [OPEN], ["ok isolation-agrees multus.namespaceIsolation | is false, as in S"]),
        (ELSEWHERE, "", [SILENT, ISOLATING], ["fail isolation-differs multus.namespaceIsolation | is false in the Configuration, but is set"]),
        (ELSEWHERE, OURS % "default", [OPEN], ["warn isolation-differs multus.namespaceIsolation | is true in the Configuration, but is not set"]),
        (ELSEWHERE, OURS % "default", [SILENT], ["warn isolation-differs multus.namespaceIsolation | is not written, and its default is false"]),
        (ELSEWHERE, BOTH, [ISOLATING], ["ok global-namespaces-agree multus.globalNamespaces | is as Multus has it"]),
        (ELSEWHERE, OURS % "default", [ISOLATING], ["warn global-namespaces-lacking multus.globalNamespaces | lacks rails, which Multus opens"]),
        (ELSEWHERE, BOTH, [CLOSED], ["fail global-namespaces-excessive multus.globalNamespaces | names rails, which Multus keeps apart"]),
        (ELSEWHERE, "", [], ["warn isolation-unknown multus.namespaceIsolation | cannot be seen, and rails/rail-0 depend on it"]),
        (DEFAULT, "", [], ["ok isolation-irrelevant multus.namespaceIsolation | no network of a profile depends on it"]),
        (
            DEFAULT,
            "",
            [Configuration("S", None, (), 2)],
            [
                "ok isolation-agrees multus.namespaceIsolation | is false, as in S",
                "fail default-networks-differ multus.defaultNetworks | is 0 in the Configuration, and 2 in S: interfaces are counted",
            ],
        ),
    ],
)  # fmt: skip
def test_compares_the_settings(
    specs: str, multus: str, configurations: list[Configuration], rows: list[str]
) -> None:
    expect(list(check_multus([RUNNING], configurations, profiles(specs, multus)))[1:], *rows)


def test_looks_at_the_daemon_set() -> None:
    assert brief(check_multus([RUNNING], [], None)) == [
        "ok DaemonSet kube-system/kube-multus-ds: is Multus, ready on 3 of 3 nodes"
    ]
    assert brief(check_multus([DaemonSet("a", "b", 3, 2)], [], None)) == [
        "warn DaemonSet a/b: is Multus, ready on 2 of 3 nodes"
    ]
    assert brief(check_multus([DaemonSet("a", "b")], [], None)) == [
        "warn DaemonSet a/b: is Multus, ready on 0 of 0 nodes"
    ]
    assert brief(check_multus([], [], None)) == ["warn Multus: no DaemonSet of it was found"]
    assert brief(check_multus(None, [], None)) == []


def test_tells_that_multus_is_not_there() -> None:
    subject = "NetworkAttachmentDefinitions"
    assert brief(check_absent(profiles(DEFAULT))) == [
        f"fail {subject}: are not installed: no network of 1 profile (shared) can exist"
    ]
    for none_asks in (None, profiles("{plain: {}}")):
        assert brief(check_absent(none_asks)) == [
            f"warn {subject}: are not installed: no pod can have a second network"
        ]
    elsewhere = "{a: {rendezvous: {addressSource: gke}}, b: {rendezvous: {addressSource: none}}}"
    assert brief(check_absent(profiles(elsewhere))) == [
        f"ok {subject}: are not installed, and no profile asks for one"
    ]
    assert brief(check_absent(profiles(elsewhere.replace("{a:", "{c: {}, a:")))) == [
        f"warn {subject}: are not installed: no pod can have a second network"
    ]


@pytest.mark.parametrize(
    ("profile", "level"),
    [
        (
            "{rendezvous: {addressSource: none}, container: {resources: {limits: {rdma/ib: 1}}}}",
            "ok",
        ),
        ("{rendezvous: {enabled: false}}", "ok"),
        ("{rendezvous: {addressSource: none}, networks: [{network: default/rdma}]}", "warn"),
        ("{}", "warn"),  # its pods may name networks themselves
    ],
)
def test_misses_no_multus_that_no_profile_uses(profile: str, level: str) -> None:
    told = {
        "ok": "no DaemonSet of it was found, and no profile asks for it",
        "warn": "no DaemonSet of it was found",
    }
    found = brief(check_multus([], [], profiles(f"{{a: {profile}}}")))
    assert found[0] == f"{level} Multus: {told[level]}"
