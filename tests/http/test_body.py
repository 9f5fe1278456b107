"""Bodies of requests: what is held of them is what is counted."""

import tracemalloc

from webhook.http.body import SMALL_BYTES, Body, Budget


def test_a_body_in_tiny_parts_is_held_in_little_more_memory_than_it_has_bytes() -> None:
    body = Body(Budget(SMALL_BYTES), Budget(0), declared=0)
    parts = [b"%02d" % (number % 100) for number in range(100)]
    tracemalloc.start()
    try:
        for number in range(SMALL_BYTES // 2):
            assert body.add(bytes(bytearray(parts[number % 100])))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 2 * SMALL_BYTES
    assert body.take() == b"".join(parts[number % 100] for number in range(SMALL_BYTES // 2))
