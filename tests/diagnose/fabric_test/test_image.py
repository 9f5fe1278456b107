"""An image that cannot run the ranks of a test ends it at once, and is named."""

from __future__ import annotations

import pytest

from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.fabric_test.verdict import is_over, judge
from webhook.diagnose.finding import Finding

IMAGE = "registry/trainer:1"
RUNC = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start "
NO_PROGRAM = (
    RUNC + 'container process: error during container init: exec: "fabric-injector": executable file not found in $PATH'
)
NO_SHELL = RUNC + 'container process: error during container init: exec: "sh": executable file not found in $PATH'
ROOT = {
    "reason": "CreateContainerConfigError",
    "message": "container has runAsNonRoot and image will run as root (pod: t)",
}
PULL = f'Back-off pulling image "{IMAGE}": ErrImagePull: rpc error: code = NotFound'


def pod(container: str, state: Object) -> Object:
    """Return the pod of a rank one of whose containers is in this state."""
    both = [{"name": name, "image": IMAGE} for name in (names.WAIT_CONTAINER, "rank")]
    return {
        "metadata": {"name": "t-0", "annotations": {names.STATUS: "{}"}},
        "spec": {"nodeName": "a", "initContainers": both[:1], "containers": both[1:]},
        "status": {"phase": "Pending", "initContainerStatuses": [{"name": container, "state": state}]},
    }


def ended(code: int, reason: str, message: str = "") -> Object:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


@pytest.mark.parametrize(
    ("container", "state", "told", "do"),
    [
        (names.WAIT_CONTAINER, ended(128, "StartError", NO_SHELL), 'has no shell: exec: "sh"', "holds it by --image"),
        *(
            (
                container,
                ended(128, "StartError", NO_PROGRAM),
                "cannot run fabric-injector: exec: ",
                "holds Python and fabric-injector",
            )
            for container in (names.WAIT_CONTAINER, "rank")
        ),
        ("rank", ended(127, "Error", "env: python3: No such file"), "ended with status 127: env: ", "of this version"),
        ("rank", ended(2, "Error", "Error: No such command 'test-rank'."), "No such command", "of this version"),
        ("rank", ended(1, "Error", "x" * 5000 + " SyntaxError"), "SyntaxError", "of this version"),
        (
            "rank",
            {"waiting": {"reason": "ImagePullBackOff", "message": PULL}},
            "cannot be pulled: ",
            "--image-pull-secret",
        ),
        (
            names.WAIT_CONTAINER,
            {"waiting": ROOT},
            "has runAsNonRoot and image will run as root",
            "whose USER is a number",
        ),
        ("rank", {"waiting": {"reason": "InvalidImageName"}}, "cannot be pulled: InvalidImageName", "correct --image"),
    ],
)
def test_the_image_is_named_first_with_what_to_do(container: str, state: Object, told: str, do: str) -> None:
    alike = Finding("fail", Code.CONTAINER_FAILED, "pod t-0", "container rank exited with 128 (StartError)")
    other = Finding("warn", Code.IPC_LOCK_INERT, "pod t-0", "is inert")
    pods = [pod(container, state)]
    assert is_over(pods, 2)
    first, *others = judge(pods, 2, ("a", "b"), [alike, other]).findings
    assert (first.level, first.code, first.subject) == ("fail", Code.TEST_IMAGE_UNFIT, f"image {IMAGE}")
    assert told in first.message
    assert len(first.message) < 500
    assert do in first.action
    assert [finding.code for finding in others if finding.level != "ok"] == [other.code, Code.TEST_UNFINISHED]


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"running": {}},
        {"waiting": {"reason": "ErrImagePull"}},
        {"waiting": {"reason": "ContainerCreating"}},
        {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "x" not found'}},
        ended(0, "Completed"),
        ended(137, "OOMKilled"),
        ended(143, "Error"),
    ],
)
@pytest.mark.parametrize("container", ["rank", "another"])
def test_another_state_is_no_fault_of_the_image(container: str, state: Object) -> None:
    pods = [pod(container, state)]
    assert not is_over(pods, 2)
    assert Code.TEST_IMAGE_UNFIT not in {finding.code for finding in judge(pods, 2).findings}


def test_a_wait_step_that_gave_up_is_no_fault_of_the_image() -> None:
    assert not is_over([pod(names.WAIT_CONTAINER, ended(75, "Error", "gave up"))], 2)


def test_a_wait_step_by_our_program_that_cannot_run_is_one() -> None:
    waiting = pod(names.WAIT_CONTAINER, ended(255, "Error", "exec /usr/local/bin/fabric-injector: no such file"))
    assert not is_over([waiting], 2), "a script may end so too"
    waiting["spec"]["initContainers"][0]["command"] = ["fabric-injector", "wait", "master-addr"]
    (first, *_) = judge([waiting], 2).findings
    assert (first.code, first.subject) == (Code.TEST_IMAGE_UNFIT, f"image {IMAGE}")
    assert "fabric-injector wait ended with status 255: exec /usr/local/bin/fabric-injector: no such" in first.message
    waiting["status"]["initContainerStatuses"][0]["state"] = ended(75, "Error", "gave up")
    assert not is_over([waiting], 2)
