"""What the levels of PodSecurity refuse of a pod: of its spec, and of a container's context."""

import pytest
import yaml

from tests.profiles import read_profile
from webhook.core.injection.pod_security import refused, refused_parts

RESTRICTED = (
    *("allowPrivilegeEscalation", "capabilities.drop without ALL"),
    *("runAsNonRoot", "seccompProfile"),
)
SAFE = """{allowPrivilegeEscalation: false, capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]},
  runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}"""
SAFE_TOO = SAFE.replace("RuntimeDefault", "Localhost")
OF_CONTAINERS = {
    "{privileged: true}": "privileged",
    "{capabilities: {add: [SYS_ADMIN]}}": "capability SYS_ADMIN",
    "{seccompProfile: {type: Unconfined}}": "seccompProfile Unconfined",
    "{appArmorProfile: {type: Unconfined}}": "appArmorProfile Unconfined",
    "{seLinuxOptions: {type: spc_t}}": "seLinuxOptions",
    "{seLinuxOptions: {user: system_u}}": "seLinuxOptions",
}
OF_PODS = {
    "{securityContext: {sysctls: [{name: kernel.msgmax}, {name: net.ipv4.tcp_rmem}]}}": [
        "pod (sysctl kernel.msgmax)"
    ],
    "{volumes: [{name: a, hostPath: {path: /}}, {name: b, emptyDir: {}}]}": ["volume a (hostPath)"],
    "{containers: [{name: a, ports: [{hostPort: 0}, {hostPort: 80}]}]}": ["container a (hostPort)"],
}


@pytest.mark.parametrize("context", [SAFE, SAFE_TOO, "{}", *OF_CONTAINERS, "{runAsUser: 0}"])
def test_what_is_refused_of_a_container(context: str) -> None:
    pod = {"spec": {"containers": [{"name": "a", "securityContext": yaml.safe_load(context)}]}}
    found = OF_CONTAINERS.get(context, "")
    assert [each.what for each in refused(pod, "baseline")] == [found][: bool(found)]
    beside = (found, "runAsUser 0") if context == "{runAsUser: 0}" else (found,)
    expected = {*filter(None, beside), *(() if context in (SAFE, SAFE_TOO) else RESTRICTED)}
    assert {each.what for each in refused(pod, "restricted")} == expected


@pytest.mark.parametrize("spec", OF_PODS)
def test_what_is_refused_of_a_pod(spec: str) -> None:
    assert [str(each) for each in refused({"spec": yaml.safe_load(spec)}, "baseline")] == OF_PODS[
        spec
    ]


def test_a_pod_that_runs_as_root_is_refused_at_the_level_restricted() -> None:
    pod = {"spec": {"securityContext": {"runAsUser": 0}}}
    assert [str(each) for each in refused(pod, "restricted")] == ["pod (runAsUser 0)"]


def test_names_the_parts_of_a_profile_that_a_level_refuses() -> None:
    volumes = [{"name": "sys", "hostPath": {"path": "/sys"}}]
    context = {"securityContext": {"privileged": True}}
    profile = read_profile("a", {"container": context, "pod": {"spec": {"volumes": volumes}}})
    assert refused_parts(profile, "baseline") == [
        "IPC_LOCK",
        "volume sys (hostPath)",
        "container of the job (privileged)",
    ]
    assert refused_parts(profile, "privileged") == []
