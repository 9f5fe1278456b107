"""A bundle holds what `explain` tells, and nothing that somebody may have hidden in an object."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cli import test_status
from tests.diagnose.hostile import Place, broken, places
from tests.diagnose.scenes import PROFILES, SPACE, Scene, event, workload
from webhook.cli import explain as reading
from webhook.cli import main
from webhook.core import names
from webhook.core.errors import InputError
from webhook.core.profiles import parse_profiles
from webhook.diagnose.bundle import make_bundle, read_bundle
from webhook.diagnose.explain.explanation import explain
from webhook.diagnose.finding import as_document
from webhook.diagnose.listing import Unread

TOKENS = ("S3cr3t_T0ken", "zq-s3cr3t-t0ken-77", "fe80::1%S3cr3t_T0ken", "4111111111111111")
"""One that no name can be written as, one that might be a name, one behind an address, and one that is no amount of anything."""
NAMES = {"name", "namespace", "nodeName", "interface", "holderIdentity", "queueName", names.JOB, names.PROFILE}


def big_scene() -> Scene:
    """Return a job with trouble of all sorts, and fields of all sorts that nobody asked for."""
    scene = Scene(1)
    for pod in scene.pods.values():
        pod["metadata"]["annotations"] |= {
            "kubectl.kubernetes.io/last-applied-configuration": json.dumps({"spec": "text"}),
            "example.com/note": "text",
        }
        pod["metadata"]["managedFields"] = [{"manager": "text", "fieldsV1": {"f:spec": {"text": {}}}}]
        pod["metadata"]["labels"]["example.com/team"] = "text"
        pod["metadata"]["finalizers"] = ["example.com/text"]
        spec = pod["spec"]
        container = spec["containers"][0]
        container["command"], container["args"] = (
            ["sh", "-c"],
            ["NCCL_SOCKET_IFNAME=bond9 torchrun --token=text train.py"],
        )
        container["env"] += [
            {"name": "NCCL_IB_DISABLE", "value": "1"},
            {"name": "NCCL_IB_GID_INDEX", "value": "3"},
            {"name": "API_KEY", "value": "text"},
            {"name": "OTHER", "valueFrom": {"secretKeyRef": {"name": "text", "key": "text"}}},
        ]
        container["envFrom"] = [{"secretRef": {"name": "text"}}]
        container["workingDir"] = "/text"
        container["livenessProbe"] = {"httpGet": {"path": "/text", "httpHeaders": [{"name": "A", "value": "text"}]}}
        spec["volumes"] = [*spec.get("volumes", []), {"name": "text", "secret": {"secretName": "text"}}]
        spec["imagePullSecrets"] = [{"name": "text"}]
        status = pod["status"]
        status["message"] = "text"
        ended = {
            "exitCode": 1,
            "reason": "Error",
            "message": "RuntimeError: text",
            "finishedAt": "2026-11-21T11:00:00Z",
        }
        status["containerStatuses"][0] |= {"lastState": {"terminated": ended}, "image": "text", "imageID": "text"}
        status["containerStatuses"][0]["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": "text"}}
        status["conditions"][0]["message"] = "text"
    scene.nodes[0]["status"]["conditions"][0] = {
        "type": "Ready",
        "status": "False",
        "message": "kubelet text",
        "reason": "x",
    }
    for text in (
        'Error creating: admission webhook "pods.fabric-injector.io" denied the request: pod x: text',
        "exceeded quota: text",
    ):
        scene.events.append(event("PyTorchJob", "bert", "FailedCreatePod", text))
    scene.events.append(event("Pod", "bert-worker-0", "NoAddress", "text", source="fabric-injector"))
    text = "couldn't assign flavors to pod set worker: insufficient unused quota for nvidia.com/gpu in flavor a100, 2 more needed"
    held = workload(("QuotaReserved", "False", "Pending", text))
    held["metadata"]["annotations"] = {"example.com/note": "text"}
    held["spec"] |= {"priorityClassName": "text", "podSets": [{"name": "worker", "template": {"spec": {"text": 1}}}]}
    held["status"]["admissionChecks"] = [{"name": "provision", "state": "Pending", "message": "text"}]
    scene.workloads.append(held)
    scene.changes["unread"] = (Unread("nodes", "GET /api/v1/nodes answered 403: text"),)
    return scene


def planted(token: str) -> Iterator[tuple[str, str]]:
    """Yield the bundle for each place of each object in turn where the token can stand, as a value and as a key."""
    scene = big_scene()
    world = {
        "pods": list(scene.pods.values()),
        "nodes": scene.nodes,
        "events": scene.events,
        "workloads": scene.workloads,
        "lease": scene.lease,
        "networks": [scene.networks["default", "rdma-net"]],
    }
    for at in places(world):
        if at[:2] == ("pods", 1):  # alike
            continue
        value: Any = world
        for step in at:
            value = value[step]
        is_name = token in (TOKENS[1], TOKENS[3]) and (
            (at[-1:] and at[-1] in NAMES) or any("job-name" in str(step) for step in at)
        )
        if isinstance(value, str) and not is_name:
            for planted_text in (token, f"{value}={token}"):
                yield str(at), told(broken(world, at, planted_text))
        elif isinstance(value, dict) and len(at) > 2 and at[-1] not in ("limits", "requests", "allocatable"):
            yield f"{at} as a key", told(broken(world, at, {**value, token: token}))


def told(world: Any) -> str:
    """Return the bundle of what is read of these objects, as text."""
    scene = big_scene()
    scene.pods = {str(number): pod for number, pod in enumerate(world["pods"])}
    scene.nodes, scene.events, scene.lease = world["nodes"], world["events"], world["lease"]
    scene.workloads = world["workloads"]
    scene.networks = {("default", "rdma-net"): world["networks"][0]}
    reading = scene.reading
    return json.dumps(make_bundle(reading, explain(reading)))


@pytest.mark.parametrize("token", TOKENS)
def test_a_planted_token_is_not_found(token: str) -> None:
    number = 0
    for number, (at, text) in enumerate(planted(token), 1):  # noqa: B007  # counted
        assert token not in text, at
        assert token.lower() not in text.lower(), at
    assert number > 400


def test_a_token_in_a_profile_is_not_found() -> None:
    scene = big_scene()
    scene.profiles = parse_profiles(PROFILES.replace("16Gi}", f"16Gi}}\n    env: {{API_KEY: {TOKENS[1]}}}"))
    reading = scene.reading
    assert TOKENS[1] not in json.dumps(make_bundle(reading, explain(reading)))


def test_the_big_scene_tells_what_is_planted() -> None:
    """Else nothing would be shown by its absence."""
    found = json.dumps([each.message for each in explain(big_scene().reading).findings])
    assert "RuntimeError: text" in found
    assert "NCCL_SOCKET_IFNAME=bond9" in found


@pytest.mark.parametrize("trouble", [lambda _scene: None, *test_status.TROUBLE])
def test_gives_the_same_findings_again(trouble: Any) -> None:
    scene = Scene()
    trouble(scene)
    expected = explain(scene.reading)
    found = read_bundle("b.json", json.dumps(make_bundle(scene.reading, expected)))
    assert as_document(found.findings) == as_document(expected.findings)
    assert found.as_json() == expected.as_json()


def test_keeps_what_is_known_of_a_message() -> None:
    scene = big_scene()
    found = read_bundle("b.json", told_of(scene))
    live = explain(scene.reading)
    assert [(each.level, each.code, each.subject) for each in found.findings] == [
        (each.level, each.code, each.subject) for each in live.findings
    ]
    [ended] = [each.message for each in found.findings if "CrashLoopBackOff" in each.message]
    assert ended == "container pytorch does not start: CrashLoopBackOff: status 1: … text"


def told_of(scene: Scene) -> str:
    return json.dumps(make_bundle(scene.reading, explain(scene.reading)))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is no file of fabric-injector bundle"),
        ("[]", "is no file of fabric-injector bundle"),
        ("[" * 100_000, "is no file of fabric-injector bundle"),
        ('{"bundle": 2, "explanation": {}}', "is a bundle of format 2; this version reads 1"),
        ('{"bundle": 1}', "explanation is missing: the bundle was changed"),
        ('{"bundle": 1, "explanation": {}}', "explanation.findings is missing: the bundle was changed"),
        ('{"bundle": 1, "explanation": []}', "explanation is a list, and must be an object: the bundle was changed"),
        (
            '{"bundle": 1, "explanation": {"target": "jo',
            "is no JSON from line 1, column 41 on: the file was cut or changed; make it anew",
        ),
    ],
)
def test_refuses_what_is_no_bundle(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_bundle("b.json", text)


@pytest.mark.parametrize(
    ("at", "value", "problem"),
    [
        (("findings", 0, "level"), "bad", 'explanation.findings[0].level is "bad", and must be one of fail, warn, ok'),
        (("findings", 0, "level"), ["fail"], "explanation.findings[0].level is a list, and must be a string"),
        (
            ("findings", 0, "code"),
            "new-code",
            'explanation.findings[0].code is "new-code", which this version does not know',
        ),
        (("findings", 0), None, "explanation.findings[0] is nothing, and must be an object"),
        (("findings",), {}, "explanation.findings is an object, and must be a list"),
        (("members", 1), [], "explanation.members[1] is a list, and must be an object"),
        (("members", 1, "phase"), 7, "explanation.members[1].phase is a number, and must be a string"),
        (("members", 1, "pod"), None, "explanation.members[1] names no pod"),
        (("jobs", 0), 5, "explanation.jobs[0] is a number, and must be a string"),
        (("target",), None, "explanation.target is nothing, and must be a string"),
    ],
)
def test_names_the_field_that_was_changed(at: Place, value: Any, problem: str) -> None:
    document = json.loads(told_of(Scene(1)))
    text = json.dumps({**document, "explanation": broken(document["explanation"], at, value)})
    with pytest.raises(InputError) as raised:
        read_bundle("b.json", text)
    assert str(raised.value).startswith(f"b.json: {problem}")
    assert str(raised.value).endswith("make it anew by fabric-injector bundle -o FILE")


def test_an_emptied_bundle_says_what_is_missing() -> None:
    document = json.loads(told_of(Scene(1)))
    document["explanation"] |= {"findings": [], "members": []}
    with pytest.raises(
        InputError, match=r'is of "job/bert" in namespace "research" and lacks both findings and members'
    ):
        read_bundle("b.json", json.dumps(document))


def test_what_a_terminal_obeys_is_not_printed(tmp_path: Path) -> None:
    document = json.loads(told_of(Scene(3)))
    told = document["explanation"]
    text = "x\x1b[2J\r\u202e\x07\x9b31m"
    told["members"] = [{**told["members"][number % 4], "phase": f"{text}{number}"} for number in range(100)]
    told["findings"] = [{**each, "subject": text, "message": text, "action": text} for each in told["findings"]]
    told["target"] = told["namespace"] = text
    path = tmp_path / "b.json"
    path.write_text(json.dumps(document))
    for arguments in ((), ("-o", "json")):
        read = ["explain", "--from", str(path), *arguments]
        printed = CliRunner().invoke(main, read, color=True, env={"NO_COLOR": "1"}).output
        assert printed.replace("\n", "").isprintable(), arguments


def test_refuses_what_could_not_be_printed_again() -> None:
    document = json.loads(told_of(Scene(1)))
    document["explanation"]["members"][0]["networks"] = None
    text = json.dumps(document).replace('"networks": null', f'"networks": {"[" * 500}{"]" * 500}', 1)
    with pytest.raises(InputError, match="nested too deeply"):
        read_bundle("b.json", text)
    with pytest.raises(InputError) as raised:
        read_bundle("b.json", json.dumps({**document, "bundle": "\x1b[31m" * 100_000}))
    assert len(str(raised.value)) < 300


def test_any_change_of_a_bundle_is_refused_or_read() -> None:
    document = json.loads(told_of(Scene(1)))
    at: Place
    junk: Any
    for at in places(document["explanation"]):
        for junk in (None, 5, [], {}, "x"):
            text = json.dumps({**document, "explanation": broken(document["explanation"], at, junk)})
            try:
                read_bundle("b.json", text)
            except InputError:
                continue


def invoke(connection: Any, *arguments: str) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "connect_to_cluster", lambda: connection)
        return CliRunner().invoke(main, ["bundle", *arguments])


def test_the_commands(tmp_path: Path) -> None:
    scene = Scene()
    test_status.loses_rank_zero(scene)
    connection = test_status.cluster(scene)
    connection.objects[f"/api/v1/namespaces/{SPACE}"] = connection.objects["/api/v1/namespaces"][0]
    for kind in ("pods", "events"):
        connection.objects[f"/api/v1/namespaces/{SPACE}/{kind}"] = copy.deepcopy(connection.objects[f"/api/v1/{kind}"])
    (tmp_path / "profiles.yaml").write_text(PROFILES)
    path = tmp_path / "bert.json"
    arguments = ("job/bert", "-n", SPACE, "--profiles", str(tmp_path / "profiles.yaml"), "-o", str(path))
    result = invoke(connection, *arguments)
    assert (result.exit_code, result.output) == (0, "")
    assert path.stat().st_mode & 0o077 == 0
    told = CliRunner().invoke(main, ["explain", "--from", str(path)])
    assert told.exit_code == 1
    assert "has no rank-0 pod" in told.stdout
    assert "bert-worker-2" in told.stdout
    again = invoke(connection, *arguments)
    assert (again.exit_code, "cannot be written (File exists)" in again.stderr) == (2, True)
    both = CliRunner().invoke(main, ["explain", "job/bert", "--from", str(path)])
    assert (both.exit_code, "--from FILE holds what one job" in both.stderr) == (2, True)
    absent = CliRunner().invoke(main, ["explain", "--from", str(tmp_path / "absent")])
    assert (absent.exit_code, "cannot be read" in absent.stderr) == (2, True)


def test_an_earlier_bundle_has_a_dash_for_what_is_not_there() -> None:
    scene = Scene(1)
    scene.unschedule(scene.workers[0], "0/2 nodes are available")
    document = make_bundle(scene.reading, explain(scene.reading))
    for member in document["explanation"]["members"]:
        member |= {key: "-" for key in ("node", "address", "told", "wait") if member[key] is None}
    assert read_bundle("b.json", json.dumps(document)).as_json() == explain(scene.reading).as_json()
