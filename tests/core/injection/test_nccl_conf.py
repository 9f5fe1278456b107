"""/etc/nccl.conf: which lines it gets, who writes it, and when it stays the image's own."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import pods
from tests.core.builders import attachment, carry_out, message, outcomes, plan, profile, volume_at
from tests.core.injection.test_rendezvous import meet, plan_for
from tests.core.injection.test_wait_script import SHELLS, installed
from tests.pods import add_env, minimal_pod
from webhook.core import names
from webhook.core.injection import wait
from webhook.core.injection.nccl_conf import inject
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.profiles import Profile

ADDED, KEPT = (Outcome.INJECTED, Reason.ADDED), (Outcome.KEPT, Reason.ALREADY_THERE)
ASKED = profile(nccl_conf=True, env={"NCCL_IB_HCA": "mlx5", "OMP_NUM_THREADS": "4"})
OURS = "NCCL_IB_HCA=mlx5\nNCCL_SOCKET_IFNAME==net1"
MOUNT = {
    "name": names.NCCL_CONF_VOLUME,
    "mountPath": "/etc/nccl.conf",
    "subPath": "nccl.conf",
    "readOnly": True,
}


def write(pod: Object, using: Profile = ASKED, **tweaks: Any) -> tuple[Object, list[Decision]]:
    return carry_out(inject, pod, plan(pod, attachment(), profile=using, **tweaks))


def writer(pod: Object) -> Object:
    [found] = [
        one
        for one in pod["spec"].get("initContainers") or []
        if one["name"] == names.WAIT_CONTAINER
    ]
    return dict(found)


def lines(pod: Object) -> str:
    [value] = [
        entry["value"] for entry in writer(pod)["env"] if entry["name"] == names.ENV_NCCL_CONF
    ]
    return str(value)


def test_an_mpi_worker_gets_the_file_and_waits_for_nothing() -> None:
    pod, decisions = write(pods.load("pods/mpijob-worker-0.yaml"))
    assert outcomes(decisions) == [ADDED]
    assert message(decisions, Outcome.INJECTED).endswith(
        "gets NCCL_IB_HCA, NCCL_SOCKET_IFNAME, before the image's own lines"
    )
    assert lines(pod) == OURS
    assert MOUNT in pod["spec"]["containers"][0]["volumeMounts"]
    assert volume_at(pod, "/etc/nccl.conf") == {
        "name": names.NCCL_CONF_VOLUME,
        "emptyDir": {"sizeLimit": "1Mi"},
    }
    found = writer(pod)
    assert found["command"] == ["sh", "-c", wait.NCCL_CONF_SCRIPT, names.WAIT_CONTAINER]
    assert found["image"] == pod["spec"]["containers"][0]["image"]
    assert found["securityContext"]["readOnlyRootFilesystem"] is True
    writable = [mount for mount in found["volumeMounts"] if not mount.get("readOnly")]
    assert writable == [{"name": names.NCCL_CONF_VOLUME, "mountPath": names.NCCL_CONF_WRITE_PATH}]
    assert {mount["name"] for mount in found["volumeMounts"]} == {names.NCCL_CONF_VOLUME}
    assert wait.needs(pod) == []
    assert all(volume["name"] != names.WAIT_VOLUME for volume in pod["spec"]["volumes"])


def test_a_pod_that_waits_writes_the_file_in_the_same_container() -> None:
    before, _ = meet(pods.load("pods/kubeflow-pytorchjob-1.yaml"), profile=ASKED)
    pod, decisions = carry_out(inject, before, plan_for(before, profile=ASKED))
    assert outcomes(decisions) == [ADDED]
    script = wait.NCCL_CONF_SCRIPT + wait.SCRIPT
    assert writer(pod)["command"] == ["sh", "-c", script, names.WAIT_CONTAINER, "master-addr"]
    mounted = {mount["mountPath"]: mount["name"] for mount in writer(pod)["volumeMounts"]}
    assert mounted[names.WAIT_MOUNT_PATH] == names.WAIT_VOLUME
    assert mounted[names.NCCL_CONF_WRITE_PATH] == names.NCCL_CONF_VOLUME
    assert len(mounted) == len(writer(pod)["volumeMounts"]) == 3
    again, decisions = meet(pod, profile=ASKED)
    assert again == pod, "the rendezvous leaves the lines as they are"
    assert outcomes(decisions) == [KEPT]
    _, decisions = carry_out(inject, pod, plan_for(pod, profile=ASKED))
    assert outcomes(decisions) == [KEPT]
    assert message(decisions, Outcome.KEPT) == (
        "/etc/nccl.conf of container pytorch gets NCCL_IB_HCA, NCCL_SOCKET_IFNAME: "
        "it is there already"
    )


def test_the_file_holds_what_the_container_has() -> None:
    pod = add_env(add_env(minimal_pod(), "NCCL_SOCKET_IFNAME", "eth9"), "NCCL_IB_HCA", "$(RAIL)")
    assert lines(write(pod)[0]) == "NCCL_SOCKET_IFNAME=eth9", (
        "what a reference holds is not known here"
    )
    longest = "x" * 1023
    given = profile(nccl_conf=True, env={"NCCL_TOPO_FILE": longest})
    assert f"NCCL_TOPO_FILE={longest}" in lines(write(minimal_pod(), given)[0]).splitlines()


@pytest.mark.parametrize(
    "value", ["a\nb", "$(HOSTNAME)", "x" * 1024], ids=["two lines", "a reference", "too long"]
)
def test_a_value_that_the_file_cannot_hold_is_left_out(value: str) -> None:
    pod, _ = write(minimal_pod(), profile(nccl_conf=True, env={"NCCL_TOPO_FILE": value}))
    assert lines(pod) == "NCCL_SOCKET_IFNAME==net1"


def run(shell: list[str], folder: Path, theirs: str | None) -> subprocess.CompletedProcess[str]:
    if theirs is not None:
        (folder / "theirs").write_text(theirs)
    environment = {
        "PATH": "",
        names.ENV_NCCL_CONF: OURS,
        "FABRIC_INJECTOR_NCCL_CONF_IN": str(folder / "theirs"),
        "FABRIC_INJECTOR_NCCL_CONF_OUT": str(folder / "out" / "nccl.conf"),
    }
    command = [
        installed(shell[0]),
        *shell[1:],
        "-c",
        wait.NCCL_CONF_SCRIPT + "\necho next",
        names.WAIT_CONTAINER,
    ]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=20)


@pytest.mark.parametrize("sh", SHELLS, ids=["-".join(sh) for sh in SHELLS])
@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        (None, ""),
        ("", ""),
        ("NCCL_DEBUG=INFO\n", "NCCL_DEBUG=INFO\n"),
        (
            "# a \\n comment\n  NCCL_A=%s $HOME `x`\n\nNCCL_B=*",
            "# a \\n comment\n  NCCL_A=%s $HOME `x`\n\nNCCL_B=*\n",
        ),
    ],
    ids=["none", "empty", "one", "odd"],
)
def test_the_script_writes_ours_and_then_the_images(
    sh: list[str], tmp_path: Path, theirs: str, expected: str
) -> None:
    (tmp_path / "out").mkdir()
    for _ in range(2):  # a new sandbox runs it again over the same volume
        done = run(sh, tmp_path, theirs)
        assert (done.returncode, done.stdout, done.stderr) == (0, "next\n", "")
        assert (tmp_path / "out" / "nccl.conf").read_text() == f"{OURS}\n{expected}"


@pytest.mark.parametrize("sh", SHELLS, ids=["-".join(sh) for sh in SHELLS])
def test_the_script_ends_the_pods_start_where_it_cannot_write(
    sh: list[str], tmp_path: Path
) -> None:
    done = run(sh, tmp_path, "")
    assert (done.returncode, done.stdout) == (73, "")
    assert "cannot be written" in done.stderr


def test_the_kubelet_leaves_the_script_as_it_is() -> None:
    assert "$$" not in wait.NCCL_CONF_SCRIPT
    assert "$(" not in wait.NCCL_CONF_SCRIPT
