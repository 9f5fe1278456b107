"""Form a process group of gloo and reduce; a line of JSON tells what this rank found.

With HOLD_SECONDS in the environment it meets on, once a second, for that long: a lost peer ends it.
"""

import json
import os
import socket
import time
from datetime import timedelta
from pathlib import Path

import torch
from torch import distributed

ELEMENTS = 1 << 20
ROUNDS = 4
PATIENCE = timedelta(seconds=120)


def main() -> None:
    """Meet, reduce, report."""
    before = _counters()
    distributed.init_process_group("gloo", timeout=PATIENCE)
    rank, world = distributed.get_rank(), distributed.get_world_size()
    for _ in range(ROUNDS):
        numbers = torch.full((ELEMENTS,), float(rank + 1))
        distributed.all_reduce(numbers)
    report = {"rank": rank, "world": world, "sum": numbers[0].item(), "host": socket.getfqdn()}
    report |= {"environment": dict(os.environ), "before": before, "after": _counters()}
    print(json.dumps({"train": report}), flush=True)
    until = time.time() + float(os.environ.get("HOLD_SECONDS", "0"))
    deadline = torch.tensor([until], dtype=torch.float64)
    distributed.broadcast(deadline, 0)
    while time.time() < deadline.item():
        distributed.barrier()
        time.sleep(1)
    distributed.barrier()
    distributed.destroy_process_group()


def _counters() -> dict[str, int]:
    """Give the bytes that each interface has received and sent."""
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    parts = (line.replace(":", " ").split() for line in lines)
    return {fields[0]: int(fields[1]) + int(fields[9]) for fields in parts}


if __name__ == "__main__":
    main()
