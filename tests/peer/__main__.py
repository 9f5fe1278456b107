"""Run the suite: `python -m tests.peer`. Exit status 0 if exactly the tests fail that `cannot_pass.yaml` lists, with its reasons."""

import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import yaml

from tests.cluster.assets import AssetsUnavailable
from tests.cluster.controlplane import ControlPlane
from tests.cluster.nodes import again_and_again, kubelets
from tests.cluster.webhook import Webhook
from tests.peer.cluster import follow, prepare
from tests.peer.recorded import RecordDiffers, check_recorded
from tests.peer.suite import build_mutate, build_suite, copy_source, run_suite
from tests.peer.switches import profiles_text

CANNOT_PASS = Path(__file__).with_name("cannot_pass.yaml")


def main() -> int:
    """Build, run, compare, print."""
    with tempfile.TemporaryDirectory(prefix="fabric-injector-peer-") as name:
        folder = Path(name)
        source = copy_source(folder)
        check_recorded(build_mutate(folder, source))
        printed, results = _run(folder, build_suite(folder, source))
    if log := os.environ.get("PEER_LOG"):
        Path(log).write_text(printed)
    groups = yaml.safe_load(CANNOT_PASS.read_text())
    reasons = {test: group["reason"] for group in groups for test in group["tests"]}
    surprises = [test for test, passed in results.items() if passed != (test not in reasons)]
    for test, passed in results.items():
        surprise = " (surprise)" if test in surprises else ""
        print(f"{'pass' if passed else 'fail'}{surprise}  {test}")
        if test in reasons:
            print(f"      {reasons[test]}")
    unknown = [test for test in reasons if test not in results]
    for test in unknown:
        print(f"cannot_pass.yaml lists {test!r}, which did not run")
    counts = f"{sum(results.values())} of {len(results)} passed; {len(reasons)} cannot"
    print(f"{counts}; {len(surprises)} surprises")
    return 1 if surprises or unknown or not results else 0


def _run(folder: Path, program: Path) -> tuple[str, dict[str, bool]]:
    profiles = folder / "profiles.yaml"
    profiles.write_text(profiles_text(None))
    # no ServiceAccount admission: the suite creates pods at once in namespaces that have no account yet
    plane = ControlPlane(folder / "control-plane", "--disable-admission-plugins=ServiceAccount")
    with ExitStack() as stack:
        stack.enter_context(plane)
        plane.start_controller_manager("--controllers=*,-node-lifecycle-controller")
        plane.start_scheduler()
        prepare(plane.api)
        stack.enter_context(Webhook(plane, folder / "webhook", profiles))
        stack.enter_context(kubelets(plane.api))
        stack.enter_context(again_and_again(lambda: follow(plane.api, profiles), 0.2))
        return run_suite(program, plane.admin, os.environ.get("PEER_FOCUS", ""))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (AssetsUnavailable, RecordDiffers) as problem:
        sys.exit(f"tests.peer: {problem}\nNRI_SOURCE may name a clone of its source")
