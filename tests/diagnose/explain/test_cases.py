"""What `explain` finds: cases as data, in the files of cases/, one a topic.

A case begins with a job that trains well: *workers* of it (3 unless it says otherwise), as *scene*,
a name of `STARTS`, makes it. Its other keys change that in the order in which they are written;
each function of `CHANGES` says how. Then these are looked at:

- *told*: all that is not ok, of the topics in *of* if it names any; rows as findings.py reads them
- *first*: what stands first; *also*: rows that are somewhere among all; *never*: no such codes
- *unsaid*: a word that nothing says; *members*: what programs are told of pods, by name
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import ROOT
from tests.diagnose.findings import agrees, brief, expect
from tests.diagnose.scenes import (
    SPACE,
    ClaimScene,
    GkeScene,
    PodNetworkScene,
    Scene,
    ago,
    event,
    node,
    patched,
    workload,
)
from tests.pods import FIXTURES
from tests.worlds import network
from webhook import __version__
from webhook.core import names
from webhook.core.model import Object
from webhook.core.review import decide
from webhook.diagnose.explain.nccl_log import PodLog, read_log

FOLDER = Path(__file__).parent / "cases"
STARTS: dict[str, Callable[..., Scene]] = {
    "job": Scene,
    "GKE": GkeScene,
    "claims": ClaimScene,
    "pod network": PodNetworkScene,
}
BUILT = ("scene", "workers", "before")
LOOKED_AT = ("of", "told", "first", "also", "never", "unsaid", "members")


def named(scene: Scene, who: str) -> list[str]:
    """Return the pods that *who* means: ``all``, ``workers`` or one by its name."""
    groups = {"all": list(scene.pods), "workers": [each for each in scene.pods if "worker" in each]}
    return groups.get(who, [who])


def pods(scene: Scene, patches: Mapping[str, Object]) -> None:
    """Patch pods by name."""
    for who, patch in patches.items():
        for name in named(scene, who):
            scene.pods[name].update(patched(scene.pods[name], patch))


def env(scene: Scene, variables: Mapping[str, Mapping[str, Any]]) -> None:
    """Set variables of the first container, to a value or by a map; null removes one."""
    for who, values in variables.items():
        for name in named(scene, who):
            container = scene.pods[name]["spec"]["containers"][0]
            kept = [each for each in container["env"] if each["name"] not in values]
            given = [
                {"name": key, **(value if isinstance(value, dict) else {"value": value})}
                for key, value in values.items()
                if value is not None
            ]
            container["env"] = kept + given


def do(scene: Scene, steps: list[str]) -> None:
    """Take steps, each a verb, a pod and what the verb takes: ``wait bert-worker-0 4m``."""
    for step in steps:
        verb, who, *rest = step.split(" ", 2)
        for name in named(scene, who):
            take(scene, verb, name, rest[0] if rest else "")


def take(scene: Scene, verb: str, name: str, rest: str) -> None:
    """Take one step: as the method of `Scene` does, or make, admit or delete the pod."""
    if verb == "created":
        number = int(name.rpartition("-")[2]) + ("worker" in name)
        scene.pods[name] = scene.created(number)
    elif verb == "admitted":
        scene.pods[name] = scene.admitted(scene.pods[name])
    elif verb == "gone":
        del scene.pods[name]
    elif verb == "attach":
        *addresses, interface = rest.split()
        scene.attach(scene.pods[name], *addresses, interface=interface)
    elif verb == "condition":
        kind, since = rest.split()
        condition = {"type": kind, "status": "True", "lastTransitionTime": moment(since)}
        scene.pods[name]["status"]["conditions"].append(condition)
    else:
        given = [moment(rest)] if verb in ("bind", "wait", "start") else [rest]
        getattr(scene, verb)(scene.pods[name], *given)


def moment(text: str) -> str:
    """Return the time so long ago: ``20s``, ``4m``; empty for an empty text."""
    units = {"s": "seconds", "m": "minutes"}
    return ago(**{units[text[-1]]: int(text[:-1])}) if text else ""


def labels(scene: Scene, patch: Object | None) -> None:
    """Patch the namespace's labels; null takes all away."""
    scene.labels = {} if patch is None else patched(scene.labels, patch)


def profiles(scene: Scene, patch: Object) -> None:
    """Patch the profiles of today."""
    written = yaml.safe_load(scene.written)
    scene.written = yaml.safe_dump(patched(written, patch))


def nodes(scene: Scene, patches: Mapping[str, Object | None]) -> None:
    """Patch nodes by name, or take them away; a new one offers no RDMA device unless it says so."""
    found = {each["metadata"]["name"]: each for each in scene.nodes}
    for name, patch in patches.items():
        if patch is None:
            del found[name]
        else:
            found[name] = patched(found.get(name) or node(name, {}), patch)
    scene.nodes = list(found.values())


def networks(scene: Scene, changes: Mapping[str, Object | None]) -> None:
    """Add networks, or have them not exist; ``ipam`` or the text of ``config`` may be given."""
    for name, more in changes.items():
        space, _, short = name.partition("/")
        given = dict(more or {})
        config = given.pop("config", None)
        made = network(name, **given)
        if config is not None:
            made["spec"]["config"] = config
        scene.networks[space, short] = None if more is None else made


def policies(scene: Scene, listed: list[Object]) -> None:
    """Add NetworkPolicies of the namespace: name and spec."""
    for each in listed:
        metadata = {"name": each["name"], "namespace": SPACE}
        scene.policies.append({"metadata": metadata, "spec": each["spec"]})


def workloads(scene: Scene, listed: list[Object]) -> None:
    """Add Workloads of Kueue: conditions, admission checks, `active`, and how old it is."""
    for each in listed:
        made = workload(*each.get("conditions", ()), active=each.get("active", True))
        made["status"]["admissionChecks"] = each.get("checks", [])
        if "created" in each:
            made["metadata"]["creationTimestamp"] = moment(each["created"])
        scene.workloads.append(made)


def events(scene: Scene, listed: list[list[Any]]) -> None:
    """Add Warnings: kind, name, reason, message, who sends it, and how often.

    The message REFUSED is what admission says of a pod of the job.
    """
    for kind, name, reason, message, *rest in listed:
        source, count = (*rest, "", 1)[0], (*rest[1:], 1)[0]
        text = refusal(scene) if message == "REFUSED" else message
        scene.events.append(event(kind, name, reason, text, source=source, count=count))


def refusal(scene: Scene) -> str:
    """Return what the API server tells the owner of a pod that admission denies."""
    verdict = decide(scene.created(1), SPACE, scene.profiles, scene.snapshot.world)
    assert not verdict.allowed
    head = 'Error creating: admission webhook "pods.fabric-injector.io" denied the request: '
    return head + verdict.message


def volcano(scene: Scene, recorded: list[str]) -> None:
    """Add what a running Volcano wrote of a Job none of whose pods it can create, by its name."""
    known = json.loads((ROOT / "tests/cases/volcano_refusals.json").read_text())
    for each in recorded:
        name, _, since = each.partition(" 30m")
        at = moment("30m") if since or each.endswith(" 30m") else ""
        wrote = known[name]
        scene.events.append(event("Job", "bert", wrote["reason"], wrote["message"], count=9, at=at))


def version(scene: Scene, earlier: str) -> None:
    """Let an earlier version of the webhook, with another wait script, have injected the pods."""
    for pod in scene.pods.values():
        pod["spec"]["initContainers"][0]["command"][2] += f"\n# of version {earlier}"
        told = pod["metadata"]["annotations"]
        now = f'"version":"{__version__}"'
        told[names.STATUS] = told[names.STATUS].replace(now, f'"version":"{earlier}"')


def lease(scene: Scene, value: Object | None) -> None:
    """Have another Lease; an empty one does not exist."""
    scene.lease = value


def refused(scene: Scene, resources: list[str]) -> None:
    """Refuse to read these resources."""
    scene.refused |= {*resources}


def not_ready(scene: Scene, messages: Mapping[str, str]) -> None:
    """Let the controller say this of profiles."""
    scene.not_ready = messages


def claim_templates(scene: Scene, templates: list[str]) -> None:
    """Have these ResourceClaimTemplates."""
    scene.claim_templates = templates


def device_offers(scene: Scene, drivers: list[str]) -> None:
    """Have DeviceClass nic, which gives rdma/hca by driver dra.net; these drivers run."""
    scene.device_offers = drivers


def claims(scene: Scene, patch: Object | None) -> None:
    """Patch every ResourceClaim; null takes them away."""
    assert isinstance(scene, ClaimScene)
    changed = {name: patched(claim, patch) for name, claim in scene.claims.items() if patch}
    scene.claims.clear()
    scene.claims.update(changed)


def logs(scene: Scene, printed: Mapping[str, list[str]]) -> None:
    """Have pods print NCCL's lines: those of files of tests/fixtures/nccl, and others."""
    head = "bert-master-0:12:40 [0] NCCL INFO "
    scene.logs = {}
    for who, parts in printed.items():
        texts = [
            (FIXTURES / "nccl" / each).read_text() if each.endswith(".log") else f"{head}{each}\n"
            for each in parts
        ]
        for name in named(scene, who):
            log = read_log(["".join(texts).encode()])
            scene.logs[name] = PodLog("pytorch", log)


_CHANGES = (
    *(pods, env, do, labels, profiles, nodes, networks, policies, workloads),
    *(events, volcano, version, lease, refused, not_ready, claim_templates, device_offers),
    *(claims, logs),
)
CHANGES: dict[str, Callable[[Scene, Any], None]] = {each.__name__: each for each in _CHANGES}
CHANGES["then"] = do


def build(case: Mapping[str, Any]) -> Scene:
    """Return the scene of a case."""
    before = (lambda pod: pod.update(patched(pod, case["before"]))) if "before" in case else None
    scene = STARTS[case.get("scene", "job")](case.get("workers", 3), before=before)
    for key in case:
        if key not in (*BUILT, *LOOKED_AT):
            assert key in CHANGES, f"no key of a case: {key}; known are {', '.join(CHANGES)}"
            CHANGES[key](scene, case[key])
    return scene


def all_cases() -> Iterator[Any]:
    for file in sorted(FOLDER.glob("*.yaml")):
        for title, case in yaml.load(file.read_text(), yaml.CSafeLoader).items():
            if not title.startswith("."):  # what several cases share
                yield pytest.param(case, id=f"{file.stem}: {title}")


@pytest.mark.parametrize("case", list(all_cases()))
def test_what_is_found(case: Mapping[str, Any]) -> None:
    assert {*LOOKED_AT} & case.keys() - {"of"}, "a case looks at something"
    explanation = build(case).explained
    found = explanation.findings
    if "told" in case:
        wrong = [each for each in found if each.level != "ok"]
        topics = case.get("of", "").split()
        expect([each for each in wrong if not topics or each.topic in topics], *case["told"])
    if "first" in case:
        expect(found[:1], case["first"])
    every = brief(found)
    for row in case.get("also", ()):
        assert any(agrees(line, row) for line in every), every
    assert not {str(each.code) for each in found} & {*case.get("never", "").split()}
    members = {each["pod"]: each for each in explanation.as_json()["members"]}
    for name, fields in case.get("members", {}).items():
        assert {key: members[name][key] for key in fields} == fields
    assert "unsaid" not in case or not [line for line in every if case["unsaid"] in line]
