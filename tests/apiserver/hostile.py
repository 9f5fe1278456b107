"""Create pods that somebody makes to hold up the controller."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.cluster.client import Client
from tests.hostile.large import pretender


def create(
    api: Client, namespace: str, shapes: Iterable[dict[str, Any]], *, of_each: int = 1
) -> int:
    """Create pretenders of these shapes, each of a job of its own; return how many there are."""
    made = [
        pretender(f"p{number}-{copy}", f"j{number}-{copy}", shape)
        for number, shape in enumerate(shapes)
        for copy in range(of_each)
    ]
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(
            lambda pod: api.expect("POST", f"/api/v1/namespaces/{namespace}/pods", pod), made
        ):
            pass
    return len(made)
