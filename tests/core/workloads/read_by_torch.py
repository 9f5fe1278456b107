"""Hold commands, each with what real shells and torch's own parser read.

``python -m tests.core.workloads.read_by_torch`` reads them again, with torch on PYTHONPATH and
dash, bash and busybox on PATH. It prints each row that torch reads in another way.
"""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

COMMANDS = [
    row.strip().rpartition(" | ")[::2]
    for row in r"""
torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$M:1 t.py | 2 c10d head:1
torchrun --nnodes=2 --rdzv_b=c10d --rdzv_e=$M:1 t.py | 2 c10d head:1
torchrun --nnodes 2 --rdzv-back c10d --rdzv-endp $M:1 t.py | 2 c10d head:1
torchrun --rdzv-b "c10d" --rdzv_endpoint "$M:1" --nn 2 t.py --rdzv_b=static | 2 c10d head:1
torchrun --rdzv_e $M:1 --nn 2 t.py --nnodes 1 | 2 static head:1
torchrun --nno 2 --rdzv_e=$M:1 --rdzv_i=7 --rdzv_c is_host=1 --rdzv_b static t.py | 2 static head:1
torchrun --nnodes 1:4 --rdzv_b=c10d --rdzv_b=static --rdzv_e=$M:1 t.py | 1:4 static head:1
torchrun --master_a=$M --nnode=2 t.py | 2 static head
torchrun --nnodes=2 --master-addr $M --master-p 29500 t.py | 2 static head
torchrun --nn=2 --node-r 1 --master_a $M t.py | 2 static head
torchrun --nnode=2 --no-py --master_a $M ./t.py | 2 static head
torchrun --nnode 1 t.py --nnodes=2 | 1 static -
torchrun --nn=1:1 --nproc-p 8 t.py | 1:1 static -
torchrun --rdzv_e=localhost:0 --rdzv_b c10d --nnodes 1 t.py | 1 c10d localhost:0
torchrun --modu --nn 2 --rdzv_b c10d --rdzv_e $M:1 pkg.t | 2 c10d head:1
torchrun -m --nn 2 --rdzv_b c10d --rdzv_e $M:1 pkg.t | 2 c10d head:1
torchrun --nnodes 2 --rdzv_b=c10d --rdzv_e=$M:1 -- train --master_addr x | 2 c10d head:1
cd / && exec torchrun --nn 2 --rdzv_b 'c10d' --rdzv_e "${M}:1" t.py | 2 c10d head:1
if true; then torchrun --nnodes=2 --rdzv_b=c10d --rdzv_e=$M:1 t.py; fi | 2 c10d head:1
torchrun --nnodes 2 \
  --rdzv_back=c10d \
  --rdzv_end=$M:1 t.py | 2 c10d head:1
torchrun --nnodes 2 --rdzv_x=1 --rdzv_backend=static --rdzv_endpoint=$M:1 t.py | refused
torchrun --nnodes 2 --rdzv_endpoint=$M:1 --rdzv_timeout 60 t.py | refused
torchrun --nnodes 2 --rdzv=c10d --rdzv_endpoint=$M:1 t.py | refused
torchrun --nnodes 2 --rdzv_backends=c10d --rdzv_endpoint=$M:1 t.py | refused
""".strip()
    .replace("\\\n", "")
    .split("\n")
]
"""A command, where M is ``head``, and the number of nodes, the backend and the address in it."""
SHELLS = (("dash",), ("bash",), ("busybox", "sh"))


def read_arguments(parser: Any, arguments: list[str]) -> str:
    """Say what torch's parser makes of the arguments of torchrun."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            found = parser.parse_args(arguments)
    except SystemExit:
        return "refused"
    own = found.master_addr if found.master_addr != parser.get_default("master_addr") else "-"
    return f"{found.nnodes} {found.rdzv_backend} {found.rdzv_endpoint or own}"


def main() -> None:
    """Read all commands again."""
    from torch.distributed.run import get_args_parser

    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "torchrun"
        program.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
        program.chmod(0o755)
        env = {"PATH": f"{name}:{os.environ['PATH']}", "M": "head"}
        for command, expected in COMMANDS:
            for shell in SHELLS:
                run = [*shell, "-c", command]
                done = subprocess.run(run, env=env, capture_output=True, text=True, check=True)
                found = read_arguments(get_args_parser(), done.stdout.split("\0")[:-1])
                if found != expected:
                    sys.exit(f"{shell[0]}: {command}: expected {expected}, found {found}")
    print(f"{len(COMMANDS)} commands are read by torch as they stand here")


if __name__ == "__main__":
    main()
