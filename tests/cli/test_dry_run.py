"""The command `dry-run`: files and options in, answer and exit status out."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from tests.cli.dry_run_command import POD, PROFILES, TORCHX, call, offline
from tests.dry_run.runs import OBJECTS, run
from tests.profiles import as_text
from webhook.core import names
from webhook.dry_run import RENDERERS

JOB = ("-f", TORCHX, "-n", "research")
NETWORK = next(each for each in OBJECTS if each["kind"] == "NetworkAttachmentDefinition")


def write(path: Path, *objects: Any) -> str:
    """Write them as YAML; return the path."""
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def pods(result: Result) -> list[dict[str, Any]]:
    """Return those of the document that was printed."""
    found: list[dict[str, Any]] = json.loads(result.stdout)["pods"]
    return found


def configuration(**fields: Any) -> dict[str, Any]:
    version = "config.fabric-injector.io/v1alpha1"
    return {"apiVersion": version, "kind": "Configuration", **fields}


@pytest.mark.parametrize("form", RENDERERS)
def test_prints_each_form_without_colours(folder: Path, form: str) -> None:
    result = offline(folder, *JOB, "-o", form)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == RENDERERS[form](run())
    assert "\x1b" not in result.stdout


def test_prints_a_diff_and_each_step_on_request(folder: Path) -> None:
    assert len(offline(folder, *JOB).stdout.splitlines()) <= 15
    result = offline(folder, *JOB, "--diff", "-v")
    assert "  networks " in result.stdout
    assert "+    k8s.v1.cni.cncf.io/networks: default/rdma-net\n" in result.stdout


def test_reads_many_files(folder: Path) -> None:
    pod = str(folder / "pod.yaml")
    result = offline(folder, "-f", TORCHX, "-f", pod, "-f", pod, "-n", "research", "-o", "json")
    assert len(pods(result)) == 4


def test_reads_the_manifests_of_a_folder_as_kubectl_does(folder: Path) -> None:
    inside = folder / "all" / "inside"
    inside.mkdir(parents=True)
    outside = inside.parent
    for path in (outside / "b.yml", outside / "a.json", inside / "c.yaml", inside / "d.txt"):
        path.write_text(json.dumps({**POD, "metadata": {"name": path.name[0]}}))

    def names_of(*arguments: str) -> list[str]:
        result = offline(folder, *arguments, "-n", "plain", "-o", "json")
        assert result.exit_code == 0
        return [pod["name"] for pod in pods(result)]

    assert names_of("-f", str(outside)) == ["a", "b"]
    assert names_of("-R", "-f", str(outside)) == ["a", "b", "c"]
    assert names_of("-f", str(outside), "-f", str(inside / "d.txt")) == ["a", "b", "d"]


@pytest.mark.parametrize("kind", ["Pod", "ConfigMap"])
def test_refuses_a_manifest_of_another_namespace_in_kubectls_words(folder: Path, kind: str) -> None:
    other = {**POD, "kind": kind, "metadata": {"name": "q", "namespace": "plain"}}
    manifest = yaml.safe_dump_all([POD, other])
    result = offline(folder, "-f", "-", "-n", "research", stdin=manifest)
    assert (result.exit_code, result.stdout) == (2, "")
    assert (
        f'{kind}/q: the namespace from the provided object "plain" does not match the namespace '
        "\"research\". You must pass '--namespace=plain' to perform this operation."
    ) in " ".join(result.stderr.split())
    assert offline(folder, "-f", "-", "-n", "plain", stdin=manifest).exit_code == 0


def test_ends_with_2_where_a_template_is_broken(folder: Path) -> None:
    broken = {**POD, "spec": {"containers": {"name": "m"}}}
    file = write(folder / "broken.yaml", broken, POD)
    result = offline(folder, "-f", file, "-n", "plain", "-o", "json")
    assert (result.exit_code, len(pods(result))) == (2, 1)
    assert "Pod/p: pod.spec.containers: expected a list" in result.stderr


def test_takes_the_last_of_a_key_that_is_written_twice_as_kubectl_does(folder: Path) -> None:
    text = (
        "kind: ConfigMap\nmetadata: {name: x}\n---\napiVersion: v1\nkind: Pod\n"
        "metadata: {name: p, namespace: plain}\nspec:\n  containers:\n  - name: c\n"
        "    resources: {limits: {cpu: 1}}\n    image: i\n    resources: {limits: {cpu: 2}}\n"
    )
    result = offline(folder, "-f", "-", "-o", "json", stdin=text)
    [pod] = pods(result)
    assert pod["pod"]["spec"]["containers"][0]["resources"]["limits"] == {"cpu": 2}
    assert pod["warnings"][0] == (
        "standard input: line 12, column 5: spec.containers[0].resources: is written twice, "
        "also in line 10; the last one counts"
    )
    assert result.exit_code == 0
    (folder / "profiles.yaml").write_text(f"{PROFILES}spec: {{}}\n")
    refused = offline(folder, "-f", "-", stdin=text)
    assert "spec: is written twice, first in line 5; keep one" in refused.stderr
    assert refused.exit_code == 2


def test_says_that_nothing_was_found(folder: Path) -> None:
    result = offline(folder, "-f", "-", stdin="kind: ConfigMap\nmetadata: {name: x}")
    assert result.exit_code == 0
    assert "ConfigMap/x: holds no pod template" in result.stdout
    assert "no pod template was found" in result.stderr


WRONG: dict[str, tuple[list[str], str | bytes | None, str]] = {
    "no file": ([], None, "name a manifest: -f FILE, or -f -; or list workloads: -A or -n NS"),
    "a file that is not there": (
        ["-f", "nowhere.yaml"],
        None,
        "nowhere.yaml: cannot be read (No such file or directory)",
    ),
    "a folder without manifests": (
        ["-f", str(Path(__file__).parent)],
        None,
        "tests/cli: expected files that end in .json, .yaml, .yml, found none; name a file",
    ),
    "no YAML": (
        ["-f", "-"],
        "a: 1\nb: c: d",
        "standard input: line 2, column 5: not valid YAML: mapping values are not allowed",
    ),
    "no UTF-8": (
        ["-f", "-"],
        b"a: 1\nb: \xff",
        "standard input: line 2, column 4: the byte 0xff is not UTF-8",
    ),
    "nothing": (["-f", "-"], "", "standard input: expected a manifest, found nothing"),
    "an unknown output": (
        ["-f", "-", "-o", "table"],
        "",
        "'table' is not one of 'json', 'patch', 'pod', 'yaml', 'name', 'wide'",
    ),
    "an unknown profile": (
        ["-f", TORCHX, "--profile", "x"],
        None,
        "--profile x: no profile has this name; use one of: rdma-shared, none",
    ),
    "server and profiles": (
        ["-f", "-", "--server"],
        "",
        "--server takes the cluster's own: leave out",
    ),
}


@pytest.mark.parametrize(("arguments", "stdin", "message"), WRONG.values(), ids=WRONG)
def test_ends_with_2_where_the_command_or_its_input_is_wrong(
    folder: Path, arguments: list[str], stdin: str | bytes | None, message: str
) -> None:
    result = offline(folder, *arguments, stdin=stdin)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in " ".join(result.stderr.split())


def test_takes_the_profiles_among_the_objects(folder: Path) -> None:
    profiles = list(yaml.safe_load_all(PROFILES.replace("rdma/hca", "rdma/as-object")))
    objects = ("--objects", write(folder / "all.yaml", *OBJECTS, configuration(), *profiles))
    result = call(*JOB, *objects)
    assert "rdma/as-object" in result.stdout
    assert result.stderr == ""
    assert "rdma/hca" in call(*JOB, *objects, "--profiles", str(folder / "profiles.yaml")).stdout
    profiles[0]["spec"]["later"] = True
    write(folder / "all.yaml", *OBJECTS, *profiles)
    broken = call(*JOB, *objects)
    assert broken.exit_code == 2
    assert "--objects: FabricProfile rdma-shared: spec.later: is not a field" in broken.stderr


def test_names_a_fault_of_the_profiles_and_what_names_the_others(folder: Path) -> None:
    faulty = PROFILES.replace("networks:", "netwroks:")
    (folder / "profiles.yaml").write_text(f"{faulty}  ipcLock: 1\n")
    result = offline(folder, *JOB)
    assert (result.exit_code, result.stdout) == (2, "")
    file = folder / "profiles.yaml"
    assert f"{file}, line 6: FabricProfile rdma-shared: spec.netwroks: is not a" in result.stderr
    assert f"fabric-injector profiles validate -f {file} names all faults\n" in result.stderr


def test_needs_profiles_beside_objects(folder: Path) -> None:
    result = call("-f", TORCHX, "--objects", str(folder / "objects.yaml"), "-n", "plain")
    assert (result.exit_code, "give --profiles FILE" in result.stderr) == (2, True)


def test_takes_every_option_from_the_environment(folder: Path) -> None:
    values = {
        "FILE": TORCHX,
        "PROFILES": str(folder / "profiles.yaml"),
        "OBJECTS": str(folder / "objects.yaml"),
        "NAMESPACE": "plain",
        "PROFILE": "rdma-shared",
        "OUTPUT": "json",
    }
    result = call(env={f"FABRIC_INJECTOR_DRY_RUN_{key}": value for key, value in values.items()})
    assert result.exit_code == 0
    assert {pod["profile"] for pod in pods(result)} == {"rdma-shared"}


HALF_INJECTED = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: b}
spec:
  tasks:
  - {name: m, replicas: 1, template: {spec: {hostNetwork: true, containers: [&c
      {name: c, image: i, command: [torchrun, --nnodes=2, --master_addr=$(HEAD), t.py],
       env: [{name: HEAD, value: b-m-0.b}], resources: {limits: {nvidia.com/gpu: 8}}}]}}}
  - {name: w, replicas: 1, template: {spec: {containers: [*c]}}}
"""
"""Its rank 0, on the node's network, has no address that its worker waits for."""


def test_a_job_that_cannot_meet_ends_with_status_3_unless_something_is_worse(folder: Path) -> None:
    def status(*more: str, options: tuple[str, ...] = ()) -> int:
        text = "\n---\n".join([HALF_INJECTED, *more])
        return offline(folder, "-f", "-", "-n", "research", *options, stdin=text).exit_code

    result = offline(folder, "-f", "-", "-n", "research", stdin=HALF_INJECTED)
    assert "profile rdma-shared: 2 pods: 1 injected, 1 worker; cannot meet" in result.stdout
    assert status() == 3
    denied = json.dumps({**POD, "metadata": {"name": "p", "labels": {names.PROFILE: "absent"}}})
    assert [status(denied), status(denied, "7"), status("7")] == [1, 2, 2]
    assert status(options=("-o", "json", "--require-injection")) == 3


def space(folder: Path, **labels: str) -> None:
    """Write a cluster whose namespace has these labels."""
    metadata = {"name": "research", "labels": labels}
    write(folder / "objects.yaml", {"kind": "Namespace", "metadata": metadata}, NETWORK)


def test_says_the_next_step_where_nothing_is_injected(folder: Path) -> None:
    space(folder)
    step = "next: kubectl label namespace research fabric-injector.io/profile="
    result = offline(folder, *JOB)
    assert (result.exit_code, result.stdout.endswith(f"{step}rdma-shared\n")) == (0, True)
    assert offline(folder, *JOB, "--require-injection").exit_code == 1
    rdma = "rdma: {networks: [{network: default/rdma-net, resource: rdma/hca}]}"
    two = as_text(f"{rdma}\ntypo: {{networks: [{{network: a/b}}]}}")
    (folder / "profiles.yaml").write_text(two)
    assert f"{step}PROFILE; PROFILE is one of: rdma, typo\n" in offline(folder, *JOB).stdout


def test_says_the_next_step_where_a_namespace_only_observes(folder: Path) -> None:
    space(folder, **{names.PROFILE: "rdma-shared", names.MODE: "observe"})
    result = offline(folder, *JOB, "--require-injection")
    step = "next: kubectl label namespace research fabric-injector.io/mode-\n"
    assert (result.exit_code, result.stdout.endswith(step)) == (1, True)


def test_requires_an_injection(folder: Path) -> None:
    result = offline(folder, *JOB, "--require-injection")
    assert (result.exit_code, result.stderr) == (0, "")
    single = ("-f", str(folder / "pod.yaml"), "-n", "research", "--require-injection")
    result = offline(folder, *single)
    assert (result.exit_code, result.stderr) == (1, ""), "no label would change that"
