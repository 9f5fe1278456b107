"""Sum tensors over all ranks of a torch job; end with status 1 if less than 90 % of the bytes went over the second network.

What a rank has sent is read from the counters of its interfaces, and of RDMA devices, whose bytes no interface counts. Devices that
pods share count the bytes of all of them: run it while no other job uses the nodes.
"""

import sys
import time
from pathlib import Path

MIB = 1 << 20
ELEMENTS = 16 * MIB
ROUNDS = 10
POD_NETWORK = ("lo", "eth0")
WANTED = 90


def main():
    import torch
    from torch import distributed

    on_gpu = torch.cuda.is_available()
    distributed.init_process_group("nccl" if on_gpu else "gloo")
    rank, world = distributed.get_rank(), distributed.get_world_size()
    tensor = torch.ones(ELEMENTS, device="cuda" if on_gpu else "cpu")  # 64 MiB
    before, start = sent(), time.monotonic()
    for _ in range(ROUNDS):
        distributed.all_reduce(tensor)
        tensor /= world
    mean = tensor.mean().item()  # waits for the GPU
    seconds = time.monotonic() - start
    by = {name: total - before.get(name, 0) for name, total in sent().items()}
    expected = ROUNDS * 2 * (world - 1) * tensor.nbytes // world
    percent = share(by, expected)
    print(
        f"rank {rank} of {world} by {distributed.get_backend()}: {expected / MIB:.0f} MiB to send, {seconds:.1f} s, mean {mean:g}"
    )
    for name, count in sorted(by.items()):
        print(f"  {name:<8} {count / MIB:10.1f} MiB sent")
    verdict = "ok" if percent >= WANTED else "FAILED"
    print(f"{verdict}: {percent:.0f} % over the second network, {WANTED} % are wanted", flush=True)
    distributed.barrier()
    distributed.destroy_process_group()
    sys.exit(percent < WANTED)


def sent(root="/sys/class"):
    """Return the bytes that each interface and RDMA device of this pod has sent."""
    found = {}
    for path in Path(root).glob("net/*/statistics/tx_bytes"):
        found[path.parts[-3]] = int(path.read_text())
    for path in Path(root).glob("infiniband/*/ports/*/counters/port_xmit_data"):
        found[path.parts[-5]] = found.get(path.parts[-5], 0) + 4 * int(
            path.read_text()
        )  # it counts words of four bytes
    for path in Path(root).glob("infiniband/*/ports/*/hw_counters/tx_bytes"):  # EFA
        found[path.parts[-5]] = found.get(path.parts[-5], 0) + int(path.read_text())
    return found


def share(by, expected):
    """Return how many percent went over the second network, of all bytes or of those that had to be sent, if these are more."""
    second = sum(count for name, count in by.items() if name not in POD_NETWORK)
    return 100 * second / max(second + by.get("eth0", 0), expected)


if __name__ == "__main__":
    main()
