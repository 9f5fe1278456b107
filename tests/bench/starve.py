"""Measure what hostile pods cost a job of another namespace: ``python -m tests.bench.starve``.

Behind a real API server, with the shipped account and policies: how many members of a good job are told rank 0's address in 40 s beside
hostile pods of each kind; and the memory of webhook and controller once they have listed hundreds of pods with huge metadata.
Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tests.apiserver.controller import Controller
from tests.apiserver.controlplane import ControlPlane
from tests.apiserver.hostile import SHAPES, create
from tests.apiserver.jobs import LABELLED, Job, write_profiles
from tests.apiserver.webhook import Webhook
from tests.bench.place import bench_place

COMMAND = [sys.executable, "-m", "webhook"]
SECONDS = 40.0
ALONE: list[str] = []
SCENES = {
    "alone": (0, LABELLED, ALONE),
    "32 forged pods of 20,000 annotations, unlabelled": (32, {}, ["annotations"]),
    "40 pods of 20,000 annotations": (40, LABELLED, ["annotations"]),
    "40 pods of 8,000 variables": (40, LABELLED, ["variables"]),
    "10 pods of each shape": (10, LABELLED, list(SHAPES)),
}


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--members", type=int, default=1024, help="members of the good job (default 1024)"
    )
    parser.add_argument(
        "--pods", type=int, default=500, help="pods whose list is measured (default 500; 0: not)"
    )
    parser.add_argument("--only", default="", help="only the scenes that contain this text")
    options = parser.parse_args()
    with bench_place("starve") as (folder, _):
        for number, (title, (count, labels, shapes)) in enumerate(SCENES.items()):
            if options.only in title:
                with ControlPlane(folder / str(number)) as plane:
                    measure(
                        plane, folder / str(number), title, (count, labels, shapes), options.members
                    )
        if options.pods:
            with ControlPlane(folder / "lists") as plane:
                measure_lists(plane, folder / "lists", options.pods)


def measure(
    plane: ControlPlane,
    folder: Path,
    title: str,
    scene: tuple[int, dict[str, str], list[str]],
    members: int,
) -> None:
    """Tell the good job its address beside the hostile pods, which lack theirs from the beginning."""
    count, labels, shapes = scene
    plane.create_namespace("lease")
    victim = Job(plane.api, plane.create_namespace("victim", LABELLED))
    created = [victim.master, *(f"{victim.name}-{rank}" for rank in range(1, members))]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(victim.create_pod, created))
    create(
        plane.api,
        plane.create_namespace("hostile", labels),
        [SHAPES[shape] for shape in shapes],
        of_each=count,
    )
    with Controller(plane, folder / "controller", COMMAND, "lease") as controller:
        controller.wait_until_leading(60)
        begun = time.monotonic()
        victim.attach(victim.master, "10.1.0.1")
        told, took = 0, SECONDS
        while told < members and (took := time.monotonic() - begun) < SECONDS:
            time.sleep(2)
            told = sum(one.master == "10.1.0.1" for one in victim.told().values())
        leads = "leads" if controller.is_running() and controller.leads() else "LOST THE LEASE"
        print(f"{title:50} {told:5} of {members} told after {took:4.1f} s, {leads}", flush=True)


def measure_lists(plane: ControlPlane, folder: Path, count: int) -> None:
    """Print the greatest memory of both processes after a list of forged pods, beside that without any."""
    profiles = write_profiles(plane.api, folder)
    plane.create_namespace("lease")
    for title, pods in (("no pods", 0), (f"{count} forged pods of 250 KB, unlabelled", count)):
        space = plane.create_namespace(f"hostile-{pods}")
        create(plane.api, space, [SHAPES["one value"]], of_each=pods)
        with ExitStack() as stack:
            stack.enter_context(Webhook(plane, folder / f"webhook-{pods}", profiles, COMMAND))
            controller = stack.enter_context(
                Controller(plane, folder / f"controller-{pods}", COMMAND, "lease")
            )
            controller.wait_until_leading(60)
            found = ", ".join(f"{kind} {peak:.0f} MB" for kind, peak in sorted(peaks()))
            print(f"{title:50} {found}", flush=True)


def peaks() -> Iterator[tuple[str, float]]:
    """Give the greatest memory of each process of ours that this one has started."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0")
            status = dict(
                line.split(":\t", 1) for line in (entry / "status").read_text().splitlines()
            )
        except OSError:
            continue
        if words[1:3] == ["-m", "webhook"] and int(status["PPid"]) == os.getpid():
            yield words[3], int(status["VmHWM"].split()[0]) / 1024


if __name__ == "__main__":
    main()
