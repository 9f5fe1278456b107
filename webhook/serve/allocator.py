"""Have the C library give memory back to the system: by itself it keeps most of what large bodies took, and takes more for the next.

glibc raises the size from which on a block is asked of the system for itself whenever such a block is freed, up to 32 MB. From then on
large bodies, and what is made of them, lie among the small objects of one heap, in gaps that the next ones do not fit into.
Source: man 3 mallopt, malloc_trim.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

BLOCK_BYTES = 1 << 20
"""From which size on a block is asked of the system for itself: more than a small review or TLS ever takes, whom it would cost time."""
KEPT_BYTES = 4 << 20
"""What the end of the heap may hold unused: less would be given back and asked for again with each review."""
GROWTH_BYTES = 8 << 20
"""By how much the process must have grown before what is unused is looked for, which takes about a millisecond."""
LOOK_SECONDS, AGAIN_SECONDS = 0.1, 5.0
"""How often to see whether it has grown, and how often to look in any case: what was in use then may not be any more."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h
_RESIDENT = Path("/proc/self/statm")


def give_back() -> None:
    """Fix both sizes, and from now on give back what is unused whenever the process has grown; do nothing without glibc."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "malloc_trim"):
        return
    library.mallopt(_MMAP_THRESHOLD, BLOCK_BYTES)
    library.mallopt(_TRIM_THRESHOLD, KEPT_BYTES)
    threading.Thread(target=_trim, args=(library.malloc_trim,), name="memory", daemon=True).start()


def _trim(malloc_trim: Callable[[int], int]) -> None:
    """Run for ever, in a thread of its own: the interpreter goes on in the others meanwhile."""
    least, again = _resident_bytes(), time.monotonic()
    while True:
        time.sleep(LOOK_SECONDS)
        if _resident_bytes() > least + GROWTH_BYTES or time.monotonic() > again:
            malloc_trim(0)
            least, again = _resident_bytes(), time.monotonic() + AGAIN_SECONDS


def _resident_bytes() -> int:
    return int(_RESIDENT.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
