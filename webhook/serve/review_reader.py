"""Read large reviews in a process of their own, ``python -m webhook.serve.review_reader IDLE PARENT SOCKET FILE``.

``review_process`` starts it. It loads what it needs alone, so that it starts soon, and knows neither profiles nor cluster: the answer
is made by the one that asks.
"""

from __future__ import annotations

import gc
import json
import mmap
import os
import select
import socket
import struct
import sys

from webhook.core.errors import MalformedReview
from webhook.core.reduced_review import reduce_review
from webhook.serve.child import settle

DATA_BYTES = 80 << 20
"""Most memory for data, whatever comes: a body of 7 MB, what is made of it (``bounds.PARSED_BYTES``), and what it starts with."""
ROOM_BYTES = 8 << 20
"""Length of the file: the longest body, and more than the longest answer."""
ASKED = struct.Struct("!II")
"""Length of the keys of labels, a JSON list, which follow, and of the review, which is in the file."""
ANSWERED = struct.Struct("!cI")
"""What was found, and the length of what is told of it, which is in the file then."""
REDUCED, MALFORMED, TOO_DEEP, NO_MEMORY = b"r", b"m", b"d", b"n"


def main(idle_seconds: float, parent: int, number: int, file: int) -> None:
    """Read what is told of through the inherited socket *number*, until nothing has come for so long."""
    settle(parent, DATA_BYTES)
    gc.disable()  # what is read holds no cycle
    with socket.socket(fileno=number) as asked, mmap.mmap(file, ROOM_BYTES, prot=mmap.PROT_READ) as room:
        coming = select.poll()
        coming.register(asked, select.POLLIN)
        while coming.poll(idle_seconds * 1000) and (head := asked.recv(ASKED.size, socket.MSG_WAITALL)):
            keys, length = ASKED.unpack(head)
            labels = frozenset(json.loads(asked.recv(keys, socket.MSG_WAITALL)))
            found, told = _read(room, length, labels)
            if not _write(file, told):
                found, told = NO_MEMORY, b""
            asked.sendall(ANSWERED.pack(found, len(told)))
            del told
            if found == NO_MEMORY:  # what is left of it lies scattered: another process starts with all of it
                return


def _read(room: mmap.mmap, length: int, labels: frozenset[str]) -> tuple[bytes, bytes]:
    try:
        return REDUCED, reduce_review(room[:length], labels)
    except MalformedReview as error:
        return MALFORMED, str(error).encode("utf-8", "surrogatepass")
    except RecursionError:
        return TOO_DEEP, b""
    except MemoryError:
        return NO_MEMORY, b""


def _write(file: int, told: bytes) -> bool:
    """Put *told* in the file, in place of the review; return whether there is enough room."""
    try:
        return os.pwrite(file, told, 0) == len(told)
    except OSError:
        return False


if __name__ == "__main__":
    main(float(sys.argv[1]), *map(int, sys.argv[2:]))
