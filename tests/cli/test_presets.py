"""The command ``presets``: the list and one of them for kubectl apply."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.cli.dry_run_command import kubeconfig
from tests.fake_apiserver import NODES, FakeApiServer, status
from webhook.cli import main
from webhook.presets import VERIFIED, preset_names, read_presets


def out(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["presets", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_lists_each_with_source_date_images_and_what_verified_means() -> None:
    listed = out("list", "-o", "wide")
    for preset in read_presets():
        line = next(line for line in listed.splitlines() if line.startswith(f"{preset.name} "))
        assert preset.about["verified"] in line
        assert preset.about["gives"] in line
        source = preset.about["sources"][0]
        assert f"{source['url']} ({source['date']})" in listed
        assert all(image in listed for image in preset.images)
        told = f"{preset.about['verified']}: {VERIFIED[preset.about['verified']]}.\n"
        assert told in CliRunner().invoke(main, ["presets", "list"]).stderr


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_tells_all_of_each_to_programs(form: str) -> None:
    read: Any = yaml.safe_load(out("list", "-o", form))
    assert [preset["name"] for preset in read] == preset_names()
    for preset in read:
        assert preset["profile"]["kind"] == "FabricProfile"
        assert preset["sources"][0]["url"].startswith("https://")
        assert isinstance(preset["sources"][0]["date"], str)
        assert set(preset) >= {
            "verified",
            "note",
            "images",
            "change",
            "adds",
            "leavesOut",
        }


@pytest.mark.parametrize("name", preset_names())
def test_prints_a_profile_for_kubectl_apply(name: str) -> None:
    """It is one object under a comment."""
    text = out("show", name)
    [printed] = yaml.safe_load_all(text)
    assert printed["metadata"]["name"] == name
    comment = " ".join(
        line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#")
    )
    [preset] = [preset for preset in read_presets() if preset.name == name]
    assert f"Verified: {preset.about['verified']}. {preset.about['note'].strip()}" in comment
    for source in preset.about["sources"]:
        assert source["url"] in comment


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    result = CliRunner().invoke(main, ["presets", "show", "eks"])
    assert result.exit_code == 2
    assert "'eks' is not one of" in result.stderr
    assert all(name in result.stderr for name in preset_names())


TYPE = "node.kubernetes.io/instance-type"
SHOW = ["presets", "show", "eks-efa"]


@pytest.mark.parametrize(
    ("types", "otherwise"),
    [
        (["p5.48xlarge"], "32/8"),
        (["p4d.24xlarge", "p5.48xlarge"], "4/8"),
        (["p5.48xlarge", "g6e.24xlarge"], "2/4"),
        (["ml.p5.48xlarge", "g5.8xlarge"], "1/1"),
        (["g5.8xlarge", "g5.48xlarge"], "1/8"),
    ],
)
def test_fills_in_the_number_that_fits_on_each_of_the_nodes(
    types: list[str], otherwise: str
) -> None:
    flags = [word for each in types for word in ("--instance-type", each)]
    [quantity] = yaml.safe_load(out("show", "eks-efa", *flags))["spec"]["quantities"]
    assert quantity["otherwise"] == otherwise


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["show", "eks-efa", "--instance-type", "p5.48xlage"], "or write p5.48xlarge"),
        (["show", "gke-rdma", "--instance-type", "m5.large"], "nvidia-b200, a3-ultragpu-8g"),
        (["show"], "Missing argument 'NAME'"),
        (["eks-efa"], "No such command 'eks-efa'"),
    ],
)
def test_refuses_what_it_cannot_fill_in(words: list[str], told: str) -> None:
    result = CliRunner().invoke(main, ["presets", *words])
    assert (result.exit_code, told in result.stderr) == (2, True), result.stderr
    assert "--instance-type" not in words or result.stderr.count(",") < 5, "a few near names"


def test_proposes_the_types_of_the_clusters_nodes(tmp_path: Path, server: FakeApiServer) -> None:
    for name, gpus in {"p5.48xlarge": "8", "m5.large": "0", "g5.xlarge": "1"}.items():
        offers = {} if gpus == "0" else {"nvidia.com/gpu": gpus}
        server.put(NODES, name, labels={TYPE: name}, status={"allocatable": offers})
    using = kubeconfig(tmp_path, server)
    result = CliRunner().invoke(main, SHOW, env=using)
    told = "fabric-injector presets show eks-efa --instance-type p5.48xlarge\n"
    assert told in result.stderr
    assert "no number for nodes of type g5.xlarge" in result.stderr
    result = CliRunner().invoke(main, ["presets", "show", "gke-rdma"], env=using)
    assert "no number for nodes of type g5.xlarge, p5.48xlarge" in result.stderr
    server.misbehave("list", NODES, *[status(403, "no such right")] * 9)
    result = CliRunner().invoke(main, SHOW, env=using)
    assert (result.exit_code, result.stderr) == (0, "")
