"""The kubelet's part with a Secret that is mounted: its files come into a directory, late."""

import base64
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from webhook.core import names

from .client import Client
from .controller import ACCOUNT

SECRET = f"/api/v1/namespaces/{ACCOUNT[0]}/secrets/{names.TLS_SECRET}"


def secret(api: Client) -> dict[str, bytes]:
    """Give the data of the Secret of certificates; nothing where it does not exist."""
    answer = api.request("GET", SECRET)
    data = answer.json.get("data", {}) if answer.status == 200 else {}
    return {key: base64.b64decode(value) for key, value in data.items()}


@contextmanager
def kubelet(api: Client, directory: Path, late: float) -> Iterator[None]:
    """Bring the Secret into the server's directory, *late* seconds after it was read, as a mounted volume."""

    def follow() -> None:
        data = secret(api)
        if not data.get("tls.crt") or not data.get("ca.crt"):
            return  # a kubelet keeps the files of a volume whose keys are not there
        time.sleep(late)
        for name in ("ca.crt", "tls.crt", "tls.key"):
            if (directory / name).read_bytes() != data[name]:
                (directory / f"{name}.new").write_bytes(data[name])
                (directory / f"{name}.new").rename(directory / name)

    with again_and_again(follow, 0.1):
        yield


@contextmanager
def again_and_again(work: Callable[[], None], period: float) -> Iterator[None]:
    """Do the work in a thread until the block is left, with pauses of *period* seconds."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(period):
            work()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(30)
