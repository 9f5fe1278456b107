"""Fetch network-resources-injector's own source, and build its end-to-end suite."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

MODULE = "github.com/k8snetworkplumbingwg/network-resources-injector"
VERSION = "v1.9.1-0.20260806203221-61d01b963270"
"""The commit that the figures of docs/moving-from-network-resources-injector.md are of."""
_CHANGES = {
    "e2e": (
        (
            "time.Sleep(60 * time.Second)",
            "time.Sleep(4 * time.Second)",
        ),  # its 30 s poll of the ConfigMap
        ("interval            = time.Second * 10", "interval            = time.Second / 2"),
        (
            "could not get Network Attachment Definition ",
            "names network ",
        ),  # the words of a refusal
    ),
    "util": (
        (
            "configMap.Name, metav1.DeleteOptions{})",
            "configMap.Name, metav1.DeleteOptions{})\n\ttime.Sleep(4 * time.Second)",
        ),
        (
            "func ExecuteCommand(",
            "func executeCommand(",
        ),  # stand_in.go says what a container would print
    ),
}
"""All that is changed in its source."""


GO = Path(__file__).parent / "go"


class SuiteUnavailable(Exception):
    """The suite cannot be had here; the message says why."""


def copy_source(folder: Path) -> Path:
    """Give a copy of the source, from the folder that NRI_SOURCE names, else from the Go module proxy."""
    given = os.environ.get("NRI_SOURCE")
    if given:
        origin = Path(given)
    else:
        command = ["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"]
        answer = subprocess.run(
            command, cwd=folder, env=_environment(), capture_output=True, text=True
        )
        if answer.returncode:
            problem = answer.stdout.strip() or answer.stderr.strip()
            raise SuiteUnavailable(
                f"{problem}\nclone https://{MODULE} and name the folder in NRI_SOURCE"
            )
        origin = Path(json.loads(answer.stdout)["Dir"])
    if not (origin / "test" / "e2e").is_dir():
        raise SuiteUnavailable(
            f"{origin} holds no test/e2e; name a clone of https://{MODULE} in NRI_SOURCE"
        )
    copy = folder / "source"
    shutil.copytree(
        origin, copy, ignore=shutil.ignore_patterns(".git"), copy_function=shutil.copyfile
    )
    return copy


def build_suite(folder: Path, source: Path) -> Path:
    """Build the suite; give the program."""
    for folder_name, changes in _CHANGES.items():
        for file in (source / "test" / folder_name).glob("*.go"):
            text = file.read_text()
            for its, ours in changes:
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
    command = ["go", *words[:-1], "-o", str(program), words[-1]]
    built = subprocess.run(command, cwd=source, env=_environment(), capture_output=True)
    if built.returncode:
        problem = built.stderr.decode(errors="replace")[-2000:]
        raise SuiteUnavailable(f"{' '.join(command)} failed:\n{problem}")
    return program


def run_suite(program: Path, kubeconfig: Path, focus: str) -> tuple[str, dict[str, bool]]:
    """Run the tests whose names match *focus*; give what was printed, and of each test whether it passed."""
    command = [
        str(program),
        f"-kubeconfig={kubeconfig}",
        "-ginkgo.v",
        "-ginkgo.noColor",
        f"-ginkgo.focus={focus}",
    ]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=3600
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


def _environment() -> dict[str, str]:
    return {**os.environ, "GOWORK": "off", "GOFLAGS": "-mod=mod -buildvcs=false"}
