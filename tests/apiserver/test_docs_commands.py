"""The commands of pages that need a cluster, run on one, page by page, in the order in which an administrator reads them."""

import os
import sys
from pathlib import Path

from tests import pods
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import program
from tests.cluster.jobs import as_sent
from tests.docs.commands import blocks, bring, run, sandbox, wrong
from webhook.core import names

from .conftest import NETWORK

ORDER = ("README.md", "docs/install.md")
"""Pages that install come first, the one that removes last; the others in between."""
LAST = "docs/operate.md"


def test_all_of_them_run(tmp_path: Path, programs: None) -> None:
    kubectl = program("kubectl")
    found = [block for block in blocks() if not block.why]
    between = sorted({block.page for block in found if block.needs_a_cluster} - {*ORDER, LAST})
    folder = tmp_path / "reader"
    folder.mkdir()
    sandbox(folder)
    (tmp_path / "control-plane").mkdir()
    with ControlPlane(tmp_path / "control-plane") as cluster:
        cluster.start_controller_manager()
        cluster.create_namespace("research")
        cluster.api.ensure(NETWORK)
        for index in (0, 1):
            pod = as_sent(pods.load(f"pods/kubeflow-pytorchjob-{index}.yaml"))
            assert cluster.api.create(pod, "research").status == 201
        environment = {
            "KUBECONFIG": str(cluster.admin),
            "PATH": f"{kubectl.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        told = []
        for page in (*ORDER, *between, LAST):
            bring(folder, page)
            cluster.kubectl("label", "namespace", "research", f"{names.PROFILE}-")
            commands = [
                command for block in found if block.page == page for command in block.commands()
            ]
            told += [
                f"{page}: {what}"
                for each in commands
                if (what := wrong(each, run(each, folder, environment)))
            ]
    assert told == [], "\n\n".join(told)
    assert len(between) > 4
