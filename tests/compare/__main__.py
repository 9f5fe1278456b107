"""Show what the checkout answers otherwise than a commit: `python -m tests.compare COMMIT FOLDER… [-v]`.

Each side expands the manifests itself, in a process of its own, by its own answers.py; by the checkout's where the commit has none.
Annotation fabric-injector.io/status and all words are not compared. -v shows every difference. Exit status 0 if nothing differs.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests import ROOT

_ABSENT = "(absent)"
_CONTAINER = re.compile(r"(ontainers)\[[^]]*\]")
Line = dict[str, Any]


class Differences:
    """Collect what differs, by cause, which is mostly the path of a field."""

    def __init__(self) -> None:
        self.sums: Counter[str] = Counter()
        self.profiles: dict[str, Counter[str]] = {}
        self.examples: dict[str, list[str]] = {}

    def add(self, cause: str, profile: str, where: str, old: Any, new: Any) -> None:
        """Count one of a cause."""
        self.profiles.setdefault(cause, Counter())[profile] += 1
        before, after = (json.dumps(value, ensure_ascii=False)[:160] for value in (old, new))
        self.examples.setdefault(cause, []).append(f"{where}: {before} → {after}")

    def compare(self, old: Line, new: Line) -> None:
        """Compare the answers of both sides about one file."""
        file, olds, news = new["file"], _by_name(old["pods"]), _by_name(new["pods"])
        self.sums.update({"files": "explained" not in new, "refused": "refused" in new})
        if ("refused" in old) != ("refused" in new):
            self.add("the file is refused", "", file, old.get("refused"), new.get("refused"))
        for cause, *values in differences(old.get("explained"), new.get("explained"), "explain"):
            self.add(cause, "", file, *values)
        for name in {**olds, **news}:
            if name in olds and name in news:
                self._compare_pod(f"{file} {name}", olds[name], news[name])
            else:
                is_there = ["a pod" if name in side else _ABSENT for side in (olds, news)]
                self.add("the manifest makes another pod", "", f"{file} {name}", *is_there)

    def _compare_pod(self, where: str, old: Line, new: Line) -> None:
        self.sums["pods"] += 1
        expanded = [*differences({**old, "answers": 0}, {**new, "answers": 0})]
        for cause, *values in expanded:
            self.add(f"expanded: {cause}", "", where, *values)
        for profile in {**old["answers"], **new["answers"]}:
            before, after = (side["answers"].get(profile, {_ABSENT: ""}) for side in (old, new))
            [kind], [later] = before, after
            self.sums.update(
                [
                    "answers",
                    later,
                    *(["changed"] if after.get("allowed", new["pod"]) != new["pod"] else []),
                ]
            )
            if kind != later:
                self.add(f"{kind} → {later}", profile, where, before, after)
            elif kind == "allowed" and not expanded:
                for cause, *values in differences(before[kind], after[kind]):
                    self.add(cause, profile, where, *values)

    def print(self, *, is_full: bool) -> None:
        """Print the sums, then each cause with its profiles and examples."""
        print(*(f"{count:,} {what}" for what, count in self.sums.items()), sep=", ")
        causes = sorted(self.profiles.items(), key=lambda cause: -cause[1].total())
        for cause, profiles in causes[: None if is_full else 40]:
            print(
                f"{profiles.total():7,} {cause}:",
                *(f"{name} {count}" for name, count in profiles.most_common()),
            )
            print(
                *(f"{'':8}{example}" for example in self.examples[cause][: None if is_full else 2]),
                sep="\n",
            )
        print(
            f"{sum(profiles.total() for _, profiles in causes):,} differences of {len(causes):,} causes"
        )


def differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield path and both values of each field that differs. Elements of lists that have names are compared by name."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            yield from differences(
                old.get(key, _ABSENT), new.get(key, _ABSENT), f"{path}.{key}" if path else key
            )
    elif (olds := _named(old)) and (news := _named(new)):
        if [name for name in olds if name in news] != [name for name in news if name in olds]:
            yield f"{path} order", [*olds], [*news]
        for name in {**olds, **news}:
            yield from differences(
                olds.get(name, _ABSENT), news.get(name, _ABSENT), f"{path}[{name}]"
            )
    elif old != new or type(old) is not type(new):
        yield _CONTAINER.sub(r"\1[]", path), old, new


def _named(values: Any) -> dict[str, Any]:
    """Return the elements of a list by their names; empty unless each has one of its own."""
    if not isinstance(values, list) or not all(isinstance(one, dict) for one in values):
        return {}
    found = {str(one.get("mountPath") or one.get("name")): one for one in values}
    return found if "None" not in found and len(found) == len(values) else {}


def _by_name(pods: list[Line]) -> dict[str, Line]:
    seen: Counter[str] = Counter()
    found = {}
    for pod in pods:
        seen.update([pod["name"]])
        found[f"{pod['name']} {seen[pod['name']]}"] = pod
    return found


def _answers(side: Path, files: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.compare.answers", *files]
    return subprocess.Popen(
        command, cwd=side, env={**os.environ, "PYTHONPATH": str(side)}, stdout=subprocess.PIPE
    )


def compare(base: Path, files: list[str]) -> Differences:
    """Have the commit in folder *base*, and the checkout, answer for the files."""
    found = Differences()
    with _answers(base, files) as old, _answers(ROOT, files) as new:
        for before, after in zip(old.stdout or (), new.stdout or (), strict=False):
            found.compare(json.loads(before), json.loads(after))
    if old.returncode or new.returncode:
        sys.exit(
            f"answers.py ended with {old.returncode} in the commit, {new.returncode} in the checkout"
        )
    return found


def main(commit: str, *words: str) -> int:
    """Check the commit out into a temporary folder, compare, print."""
    paths = sorted(
        path for word in words if word != "-v" for path in Path(word).resolve().rglob("*")
    )
    files = [str(path) for path in paths if path.suffix in (".yaml", ".yml", ".json")]
    archive = subprocess.run(["git", "-C", ROOT, "archive", commit], stdout=subprocess.PIPE)
    if archive.returncode:
        return archive.returncode  # git has said why
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        if not (own := Path(folder, "tests/compare")).exists():
            shutil.copytree(ROOT / "tests/compare", own)
        found = compare(Path(folder), files)
    found.print(is_full="-v" in words)
    return 1 if found.profiles else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
