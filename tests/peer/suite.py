"""Fetch network-resources-injector's own source, and build its end-to-end suite."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.cluster.assets import AssetsUnavailable, go_module, run

MODULE = "github.com/k8snetworkplumbingwg/network-resources-injector"
VERSION = "v1.9.1-0.20260806203221-61d01b963270"
"""The commit that the figures of docs/moving-from-network-resources-injector.md are of."""
_WAITS = "\n\ttime.Sleep(4 * time.Second)"
_CHANGES = {
    "e2e": {
        # its 30 s poll of the ConfigMap
        "time.Sleep(60 * time.Second)": "time.Sleep(4 * time.Second)",
        "interval            = time.Second * 10": "interval            = time.Second / 2",
        # the words of a refusal
        "could not get Network Attachment Definition ": "names network ",
    },
    "util": {
        "configMap.Name, metav1.DeleteOptions{})": f"configMap.Name, metav1.DeleteOptions{{}}){_WAITS}",
        # stand_in.go says what a container would print
        "func ExecuteCommand(": "func executeCommand(",
    },
}
"""All that is changed in its source."""


GO = Path(__file__).parent / "go"


def copy_source(folder: Path) -> Path:
    """Give a copy of the source, from the folder that NRI_SOURCE names, else from the Go module proxy."""
    given = os.environ.get("NRI_SOURCE")
    origin = Path(given) if given else go_module(f"{MODULE}@{VERSION}")
    if not (origin / "test" / "e2e").is_dir():
        raise AssetsUnavailable(
            f"{origin} holds no test/e2e; name a clone of https://{MODULE} in NRI_SOURCE"
        )
    copy = folder / "source"
    ignored = shutil.ignore_patterns(".git")
    shutil.copytree(origin, copy, ignore=ignored, copy_function=shutil.copyfile)
    return copy


def build_suite(folder: Path, source: Path) -> Path:
    """Build the suite; give the program."""
    for folder_name, changes in _CHANGES.items():
        for file in (source / "test" / folder_name).glob("*.go"):
            text = file.read_text()
            for its, ours in changes.items():
                text = text.replace(its, ours)
            file.write_text(text)
    shutil.copy(GO / "stand_in.go", source / "test" / "util" / "stand_in.go")
    return build(source, folder / "e2e.test", "test", "-c", "./test/e2e")


def build_mutate(folder: Path, source: Path) -> Path:
    """Build a program that answers reviews by its mutation, without an API server; give the program."""
    target = source / "cmd" / "answer"
    target.mkdir(exist_ok=True)
    shutil.copy(GO / "answer.go", target / "main.go")
    return build(source, folder / "answer", "build", "./cmd/answer")


def build(source: Path, program: Path, *words: str) -> Path:
    """Run go with the words, the last of which is the package; give the program."""
    flags = ("-mod=mod", "-buildvcs=false")
    run(["go", words[0], *flags, *words[1:-1], "-o", str(program), words[-1]], source)
    return program


def run_suite(program: Path, kubeconfig: Path, focus: str) -> tuple[str, dict[str, bool]]:
    """Run the tests whose names match *focus*; give what was printed, and of each test whether it passed."""
    options = ("-ginkgo.v", "-ginkgo.noColor", f"-ginkgo.focus={focus}")
    done = subprocess.run(
        [program, f"-kubeconfig={kubeconfig}", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=3600,
    )
    return done.stdout, read_results(done.stdout)


def read_results(printed: str) -> dict[str, bool]:
    """Read what Ginkgo 1 prints with -ginkgo.v: a test's name, then a bullet once it has passed or failed."""
    results: dict[str, bool] = {}
    for block in printed.split("\n" + "-" * 30 + "\n"):
        verdict = re.search(r"^•(?: (?P<more>.*))?$", block, re.MULTILINE)
        names = re.search(r"^(\S.+)\n((?:  .+\n)+)", block, re.MULTILINE)
        if verdict and names:
            lines = (line.strip() for line in names[2].splitlines()[:-1])
            words = [
                names[1].strip(),
                *(line for line in lines if line and not line.startswith("/")),
            ]
            name = " ".join(words)
            while name in results:  # the suite has two tests of one name
                name += ", again"
            results[name] = "Failure" not in (verdict["more"] or "")
    return results
