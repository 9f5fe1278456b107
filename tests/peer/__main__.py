"""Run the suite: `python -m tests.peer`. Exit status 0 if exactly the tests fail that `cannot_pass.yaml` lists, with its reasons."""

import os
import sys
import tempfile
from pathlib import Path

import yaml

from tests.cluster.assets import AssetsUnavailable
from tests.cluster.controlplane import ControlPlane
from tests.cluster.webhook import Webhook, installed_command
from tests.peer.cluster import StandIn, label_namespaces, make_nodes
from tests.peer.recorded import RecordDiffers, check_recorded
from tests.peer.suite import SuiteUnavailable, build_mutate, build_suite, copy_source, run_suite
from tests.peer.switches import profiles_text

CANNOT_PASS = Path(__file__).with_name("cannot_pass.yaml")


def main() -> int:
    """Build, run, compare, print."""
    with tempfile.TemporaryDirectory(prefix="fabric-injector-peer-") as name:
        folder = Path(name)
        source = copy_source(folder)
        check_recorded(build_mutate(folder, source))
        printed, results = _run(folder, build_suite(folder, source))
    log = os.environ.get("PEER_LOG")
    if log:
        Path(log).write_text(printed)
    reasons: dict[str, str] = {
        test: group["reason"]
        for group in yaml.safe_load(CANNOT_PASS.read_text())
        for test in group["tests"]
    }
    surprises = 0
    for test, passed in results.items():
        expected = test not in reasons
        surprises += passed != expected
        print(
            f"{'pass' if passed else 'fail'}{'' if passed == expected else ' (surprise)'}  {test}"
        )
        if not expected:
            print(f"      {reasons[test]}")
    unknown = [test for test in reasons if test not in results]
    for test in unknown:
        print(f"cannot_pass.yaml lists {test!r}, which did not run")
    print(
        f"{sum(results.values())} of {len(results)} passed; {len(reasons)} cannot; {surprises} surprises"
    )
    return 1 if surprises or unknown or not results else 0


def _run(folder: Path, program: Path) -> tuple[str, dict[str, bool]]:
    profiles = folder / "profiles.yaml"
    profiles.write_text(profiles_text(None))
    command = installed_command()
    if command is None:
        raise SuiteUnavailable("fabric-injector is not installed in this Python environment")
    # no ServiceAccount admission: the suite creates pods at once in namespaces that have no account yet
    with ControlPlane(
        folder / "control-plane", "--disable-admission-plugins=ServiceAccount"
    ) as control_plane:
        control_plane.start_controller_manager()
        make_nodes(control_plane.api)
        label_namespaces(control_plane.api)
        stand_in = StandIn(control_plane.api, profiles)
        with Webhook(control_plane, folder / "webhook", profiles, command):
            stand_in.start()
            try:
                kubeconfig = control_plane.kubeconfig(folder / "kubeconfig")
                return run_suite(program, kubeconfig, os.environ.get("PEER_FOCUS", ""))
            finally:
                stand_in.stop()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (SuiteUnavailable, AssetsUnavailable, RecordDiffers) as problem:
        sys.exit(f"tests.peer: {problem}")
