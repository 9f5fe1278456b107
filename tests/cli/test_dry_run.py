"""The command `dry-run`: files and options in, answer and exit status out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.dry_run_command import POD, PROFILES, TORCHX, call, offline
from tests.dry_run.runs import OBJECTS
from tests.profile_objects import to_objects
from webhook.core import names


def test_prints_a_diff_without_colours(folder: Path) -> None:
    result = offline(folder, "-f", TORCHX, "--namespace", "research")
    assert result.exit_code == 0
    assert "+    k8s.v1.cni.cncf.io/networks: default/rdma-net\n" in result.stdout
    assert "\x1b" not in result.stdout
    assert result.stderr == ""


def test_prints_the_document(folder: Path) -> None:
    result = offline(folder, "-f", TORCHX, "--namespace", "research", "-o", "json")
    document = json.loads(result.stdout)
    assert [pod["name"] for pod in document["pods"]] == [
        "train-t4rcs9x6sv1m-train-0-0",
        "train-t4rcs9x6sv1m-train-1-0",
    ]
    assert all(pod["allowed"] for pod in document["pods"])


def test_prints_patches_and_pods(folder: Path) -> None:
    patches = json.loads(
        offline(folder, "-f", TORCHX, "--namespace", "research", "-o", "patch").stdout
    )
    assert all(entry["patch"] for entry in patches)
    pods = list(
        yaml.safe_load_all(
            offline(folder, "-f", TORCHX, "--namespace", "research", "-o", "pod").stdout
        )
    )
    assert [pod["metadata"]["labels"][names.RENDEZVOUS] for pod in pods] == ["master", "worker"]


def test_reads_standard_input(folder: Path) -> None:
    text = f"\n=== APPLICATION ===\n{{'a': 1}}\n\n=== SCHEDULER REQUEST ===\n{Path(TORCHX).read_text()}"
    result = offline(folder, "-f", "-", "--namespace", "research", "-o", "json", stdin=text)
    assert len(json.loads(result.stdout)["pods"]) == 2


def test_reads_many_files(folder: Path) -> None:
    result = offline(
        folder,
        "-f",
        TORCHX,
        str(folder / "pod.yaml"),
        "-f",
        str(folder / "pod.yaml"),
        "--namespace",
        "research",
        "-o",
        "json",
    )
    assert len(json.loads(result.stdout)["pods"]) == 4


def test_reads_the_manifests_of_a_folder_as_kubectl_does(folder: Path) -> None:
    inside = folder / "all" / "inside"
    inside.mkdir(parents=True)
    for place, name in (
        (inside.parent, "b.yml"),
        (inside.parent, "a.json"),
        (inside, "c.yaml"),
        (inside, "d.txt"),
    ):
        (place / name).write_text(json.dumps({**POD, "metadata": {"name": name[0]}}))

    def names_of(*arguments: str) -> list[str]:
        result = offline(folder, *arguments, "-n", "plain", "-o", "json")
        assert result.exit_code == 0
        return [pod["name"] for pod in json.loads(result.stdout)["pods"]]

    assert names_of("-f", str(inside.parent)) == ["a", "b"]
    assert names_of("-R", "-f", str(inside.parent)) == ["a", "b", "c"]
    assert names_of("-f", str(inside.parent), "-f", str(inside / "d.txt")) == ["a", "b", "d"]


@pytest.mark.parametrize("kind", ["Pod", "ConfigMap"])
def test_refuses_a_manifest_of_another_namespace_in_kubectls_words(folder: Path, kind: str) -> None:
    manifest = yaml.safe_dump_all(
        [POD, {**POD, "kind": kind, "metadata": {"name": "q", "namespace": "plain"}}]
    )
    result = offline(folder, "-f", "-", "-n", "research", stdin=manifest)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert (
        f'{kind}/q: the namespace from the provided object "plain" does not match the namespace "research". '
        "You must pass '--namespace=plain' to perform this operation."
    ) in " ".join(result.stderr.split())
    assert offline(folder, "-f", "-", "-n", "plain", stdin=manifest).exit_code == 0


def test_finds_a_runtime_in_another_file(folder: Path) -> None:
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "own"},
    }
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "t"},
    }
    template = {"spec": {"template": {"spec": {"containers": [{"name": "node", "image": "own"}]}}}}
    spec = {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}}}
    (folder / "runtime.yaml").write_text(yaml.safe_dump({**runtime, "spec": spec}))
    (folder / "job.yaml").write_text(
        yaml.safe_dump({**job, "spec": {"runtimeRef": {"name": "own"}}})
    )
    result = offline(
        folder,
        "-f",
        str(folder / "job.yaml"),
        "-f",
        str(folder / "runtime.yaml"),
        "--namespace",
        "plain",
        "-o",
        "json",
    )
    [pod] = json.loads(result.stdout)["pods"]
    assert pod["pod"]["spec"]["containers"][0]["image"] == "own"


def test_ends_with_1_where_a_pod_is_denied(folder: Path) -> None:
    result = offline(folder, "-f", TORCHX, "--namespace", "nowhere")
    assert result.exit_code == 1
    assert "namespace nowhere does not exist" in result.stdout


def test_ends_with_2_where_a_template_is_broken(folder: Path) -> None:
    broken = {**POD, "spec": {"containers": {"name": "m"}}}
    (folder / "broken.yaml").write_text(yaml.safe_dump_all([broken, POD]))
    result = offline(
        folder, "-f", str(folder / "broken.yaml"), "--namespace", "plain", "-o", "json"
    )
    assert result.exit_code == 2
    assert len(json.loads(result.stdout)["pods"]) == 1
    assert "Pod/p: pod.spec.containers: expected a list" in result.stderr


def test_takes_the_last_of_a_key_that_is_written_twice_as_kubectl_does(folder: Path) -> None:
    text = (
        "kind: ConfigMap\nmetadata: {name: x}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: plain}\nspec:\n"
        "  containers:\n  - name: c\n    resources: {limits: {cpu: 1}}\n    image: i\n    resources: {limits: {cpu: 2}}\n"
    )
    result = offline(folder, "-f", "-", "-o", "json", stdin=text)
    [pod] = json.loads(result.stdout)["pods"]
    assert pod["pod"]["spec"]["containers"][0]["resources"]["limits"] == {"cpu": 2}
    assert pod["warnings"][0] == (
        "standard input: line 12, column 5: spec.containers[0].resources: is written twice, also in line 10; the last one counts"
    )
    assert result.exit_code == 0
    (folder / "profiles.yaml").write_text("profiles: {}\nprofiles: {}")
    refused = offline(folder, "-f", "-", stdin=text)
    assert "profiles: is written twice, first in line 1; keep one" in refused.stderr
    assert refused.exit_code == 2


def test_says_that_nothing_was_found(folder: Path) -> None:
    result = offline(folder, "-f", "-", stdin="kind: ConfigMap\nmetadata: {name: x}")
    assert result.exit_code == 0
    assert "ConfigMap/x: holds no pod template" in result.stdout
    assert "no pod template was found" in result.stderr


WRONG: dict[str, tuple[list[str], str | bytes | None, str]] = {
    "no file": ([], None, "name a manifest: -f FILE, or -f - for standard input"),
    "a file that is not there": (
        ["-f", "nowhere.yaml"],
        None,
        "nowhere.yaml: cannot be read (No such file or directory)",
    ),
    "a folder without manifests": (
        ["-f", str(Path(__file__).parent)],
        None,
        "tests/cli: expected files that end in .json, .yaml, .yml, found none; name a file, or give -R",
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
        ["-f", "-", "-o", "yaml"],
        "",
        "'yaml' is not one of 'json', 'diff', 'patch', 'pod'",
    ),
    "an unknown profile": (
        ["-f", TORCHX, "--profile", "x"],
        None,
        "--profile x: no profile is named so; use one of: rdma-shared, none",
    ),
    "server and profiles": (
        ["-f", "-", "--server"],
        "",
        "--server asks the cluster, which has its own",
    ),
}


@pytest.mark.parametrize(("arguments", "stdin", "message"), WRONG.values(), ids=WRONG)
def test_ends_with_2_where_the_command_or_its_input_is_wrong(
    folder: Path, arguments: list[str], stdin: str | bytes | None, message: str
) -> None:
    result = offline(folder, *arguments, stdin=stdin)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_takes_the_profiles_among_the_objects(folder: Path) -> None:
    profiles = to_objects(
        (folder / "profiles.yaml").read_text().replace("rdma/hca", "rdma/as-object")
    )
    settings = {
        "apiVersion": "config.fabric-injector.io/v1alpha1",
        "kind": "Configuration",
        "multus": {},
    }
    objects = [*yaml.safe_load_all((folder / "objects.yaml").read_text()), settings, *profiles]
    (folder / "all.yaml").write_text(yaml.safe_dump_all(objects))
    result = call("-f", TORCHX, "-n", "research", "--objects", str(folder / "all.yaml"))
    assert "rdma/as-object" in result.stdout
    assert result.stderr == ""
    given = call(
        "-f",
        TORCHX,
        "-n",
        "research",
        "--objects",
        str(folder / "all.yaml"),
        "--profiles",
        str(folder / "profiles.yaml"),
    )
    assert "rdma/hca" in given.stdout
    profiles[0]["spec"]["later"] = True
    (folder / "all.yaml").write_text(yaml.safe_dump_all([*objects[:-1], *profiles]))
    broken = call("-f", TORCHX, "-n", "research", "--objects", str(folder / "all.yaml"))
    assert broken.exit_code == 2
    assert "--objects: FabricProfile rdma-shared: spec.later: is not a field" in broken.stderr


def test_reads_a_file_of_objects(folder: Path) -> None:
    profiles = to_objects((folder / "profiles.yaml").read_text())
    (folder / "profiles.yaml").write_text(yaml.safe_dump_all(profiles))
    result = offline(folder, "-f", TORCHX, "--profile", "rdma-shared")
    assert "rdma/hca" in result.stdout


def test_names_every_fault_of_the_profiles(folder: Path) -> None:
    (folder / "profiles.yaml").write_text("profiles:\n  a: {network: x}\n  b: {ipcLock: 5}\n")
    result = offline(folder, "-f", TORCHX)
    assert result.exit_code == 2
    assert result.stderr.count(f"{folder / 'profiles.yaml'}, line ") == 2


def test_uses_the_sample_profiles_beside_objects(folder: Path) -> None:
    result = call("-f", TORCHX, "--objects", str(folder / "objects.yaml"), "--namespace", "plain")
    assert result.exit_code == 0
    assert "no --profiles: the sample profiles are used" in result.stderr


def test_takes_every_option_from_the_environment(folder: Path) -> None:
    prefix = "FABRIC_INJECTOR_DRY_RUN_"
    values = {
        "FILE": TORCHX,
        "PROFILES": str(folder / "profiles.yaml"),
        "OBJECTS": str(folder / "objects.yaml"),
        "NAMESPACE": "plain",
        "PROFILE": "rdma-shared",
        "OUTPUT": "json",
    }
    result = call(env={prefix + key: value for key, value in values.items()})
    assert result.exit_code == 0
    assert {pod["profile"] for pod in json.loads(result.stdout)["pods"]} == {"rdma-shared"}


def test_shows_examples_in_its_help() -> None:
    result = call("--help")
    assert "fabric-injector dry-run -f job.yaml --server" in result.stdout
    assert "FABRIC_INJECTOR_DRY_RUN_NAMESPACE" in result.stdout
    told = " ".join(result.stdout.split())
    assert "Exit status: 0 all pods are allowed, 1 some pod is denied, 2" in told
    assert (
        "3 a workload is half injected or cannot meet; of several, 2 counts first, then 1" in told
    )


def half_injected() -> str:
    """Return a Volcano Job whose rank 0, on the node's network, has no address that its worker waits for."""
    own = {
        "command": ["torchrun", "--nnodes=2", "--master_addr=$(HEAD)", "t.py"],
        "env": [{"name": "HEAD", "value": "b-m-0.b"}],
    }
    limits = {"resources": {"limits": {"nvidia.com/gpu": 8}}}
    spec = {"containers": [{"name": "c", "image": "i", **own, **limits}]}
    tasks = [
        {"name": "m", "replicas": 1, "template": {"spec": {**spec, "hostNetwork": True}}},
        {"name": "w", "replicas": 1, "template": {"spec": spec}},
    ]
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "b"},
        "spec": {"tasks": tasks},
    }
    return yaml.safe_dump(job)


def test_a_job_that_cannot_meet_ends_with_status_3_unless_something_is_worse(folder: Path) -> None:
    job = ("-f", "-", "--namespace", "research")
    result = offline(folder, *job, stdin=half_injected())
    assert "Job/b: 2 pods: 1 injected, 1 worker; cannot meet" in result.stdout
    assert result.exit_code == 3
    labelled = {**POD, "metadata": {"name": "p", "labels": {names.PROFILE: "absent"}}}
    denied = f"---\n{json.dumps(labelled)}\n"
    assert offline(folder, *job, stdin=half_injected() + denied).exit_code == 1
    assert offline(folder, *job, stdin=half_injected() + denied + "---\n7\n").exit_code == 2
    assert offline(folder, *job, stdin=half_injected() + "---\n7\n").exit_code == 2
    assert (
        offline(folder, *job, "-o", "json", "--require-injection", stdin=half_injected()).exit_code
        == 3
    )


def allowing(folder: Path, file: str, path: str, *objects: object) -> None:
    settings = {
        "apiVersion": "config.fabric-injector.io/v1alpha1",
        "kind": "Configuration",
        "allowed": {"hostPaths": [path]},
    }
    (folder / file).write_text(yaml.safe_dump_all([settings, *objects]))


@pytest.mark.parametrize("form", ["objects", "short"])
def test_the_configuration_among_the_objects_counts_beside_profiles_without_one(
    folder: Path, form: str
) -> None:
    short = (
        PROFILES
        + "    volumes: [{name: s, hostPath: {path: /sys}}]\n    mounts: [{name: s, mountPath: /hostsys}]\n"
    )
    objects = to_objects(short)
    (folder / "profiles.yaml").write_text(short if form == "short" else yaml.safe_dump_all(objects))
    job = ("-f", TORCHX, "--namespace", "research")
    assert offline(folder, *job).exit_code == 1
    allowing(folder, "objects.yaml", "/sys", *OBJECTS)
    result = offline(folder, *job)
    assert (result.exit_code, result.stderr) == (0, "")
    allowing(folder, "profiles.yaml", "/dev", *objects)
    result = offline(folder, *job)
    assert "hostPath /sys is not in allowed.hostPaths" in result.stdout
    assert (
        result.stderr
        == f"the Configuration in --objects is not used: {folder / 'profiles.yaml'} has one itself\n"
    )
    assert result.exit_code == 1


TWO_PROFILES = """
profiles:
  rdma: {networks: [{network: default/rdma-net, resource: rdma/hca}]}
  typo: {networks: [{network: default/rdma-nett}]}
"""
NETWORK = next(each for each in OBJECTS if each["kind"] == "NetworkAttachmentDefinition")


def space(name: str, **labels: str) -> dict[str, Any]:
    return {"kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def test_says_the_next_step_where_nothing_is_injected(folder: Path) -> None:
    (folder / "objects.yaml").write_text(yaml.safe_dump_all([space("research"), NETWORK]))
    result = offline(folder, "-f", TORCHX, "--namespace", "research")
    assert result.exit_code == 0
    assert (
        result.stderr
        == "next: kubectl label namespace research fabric-injector.io/profile=rdma-shared\n"
    )
    assert (
        offline(folder, "-f", TORCHX, "--namespace", "research", "--require-injection").exit_code
        == 1
    )
    (folder / "profiles.yaml").write_text(TWO_PROFILES)
    told = offline(folder, "-f", TORCHX, "--namespace", "research").stderr
    assert told.endswith("fabric-injector.io/profile=PROFILE; PROFILE is one of: rdma, typo\n")


def test_says_the_next_step_where_a_namespace_only_observes(folder: Path) -> None:
    labels = {names.PROFILE: "rdma-shared", names.MODE: "observe"}
    (folder / "objects.yaml").write_text(yaml.safe_dump_all([space("research", **labels), NETWORK]))
    result = offline(folder, "-f", TORCHX, "--namespace", "research", "--require-injection")
    assert (result.exit_code, result.stderr) == (
        1,
        "next: kubectl label namespace research fabric-injector.io/mode-\n",
    )


def test_requires_an_injection(folder: Path) -> None:
    result = offline(folder, "-f", TORCHX, "--namespace", "research", "--require-injection")
    assert (result.exit_code, result.stderr) == (0, "")
    (folder / "single.yaml").write_text(yaml.safe_dump(POD))
    result = offline(
        folder, "-f", str(folder / "single.yaml"), "--namespace", "research", "--require-injection"
    )
    assert (result.exit_code, result.stderr) == (1, ""), (
        "it needs no fabric, and no label would change that"
    )
