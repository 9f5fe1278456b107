"""What a person sees of a dry run: the whole screen for each of CASES, in screens.txt.

`python -m tests.dry_run.test_screen` rewrites the file, to be read before it is kept.
"""

import json
import re
from pathlib import Path

import yaml

from tests.dry_run.runs import PYTORCH_JOB, run, shown
from tests.dry_run.templates.test_kinds import SHOWN
from webhook.core import names
from webhook.core.model import Object
from webhook.dry_run import DryRun, PodResult
from webhook.dry_run.templates import Ignored

GOLDEN = Path(__file__).with_name("screens.txt")
POD = json.dumps(SHOWN["Pod"][0])
NO_PODS = "kind: ConfigMap\nmetadata: {name: x}\n---\nkind: Pod\nmetadata: {name: p}\nspec: {}\n"


def labelled(**annotations: str) -> str:
    """Return a pod that a label gives the profile."""
    made: Object = yaml.safe_load(POD)
    labels = {names.PROFILE: "rdma-shared"}
    made["metadata"] = {"name": "p", "labels": labels, "annotations": annotations}
    made["spec"]["initContainers"] = [{"name": "fetch", "image": "i"}]
    return json.dumps(made)


def screens() -> dict[str, str]:
    """Return the screen of each case."""
    return {
        "a PyTorchJob": shown(run(PYTORCH_JOB)),
        "a TorchX job": shown(run()),
        "a diff": shown(run(labelled()), diff=True),
        "a namespace without a profile": shown(run(POD, namespace="plain")),
        "each step": shown(run(POD, namespace="plain"), verbose=True),
        "all of it": shown(run(POD, namespace="plain"), diff=True, verbose=True),
        "a label on the pod only": shown(run(labelled(), namespace="plain")),
        "the pod opts out": shown(run(profile="none")),
        "a namespace that observes": shown(run(PYTORCH_JOB, namespace="watched")),
        "one that would be denied": shown(
            run(labelled(**{names.NETWORKS: "typo"}), namespace="watched")
        ),
        "two reasons": shown(run(labelled(**{names.NETWORKS: "typo,other"}))),
        "an unknown profile": shown(run(profile="missing")),
        "a namespace that does not exist": shown(run(namespace="nowhere")),
        "no pods": shown(run(NO_PODS)),
        "warnings of two pods": shown(warned()),
    }


def warned() -> DryRun:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": []}}
    warnings = ("a claim", "from elsewhere")
    each = PodResult("Pod/p", "ml", pod, pod, True, warnings=warnings, workload="Pod/p")
    return DryRun((each, each), (Ignored("ConfigMap/x", "holds no pod template"),))


def golden() -> str:
    """Return all screens, without the revision of the profile."""
    text = "\n".join(f"### {title}\n{text}" for title, text in screens().items())
    return re.sub('"revision":"[0-9a-f]+"', '"revision":"…"', text)


def test_shows() -> None:
    assert golden() == GOLDEN.read_text()


def test_a_job_of_two_templates_takes_at_most_15_lines() -> None:
    assert len(screens()["a PyTorchJob"].splitlines()) <= 15


if __name__ == "__main__":
    GOLDEN.write_text(golden())
