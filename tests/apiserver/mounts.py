"""The kubelet's part with a Secret that is mounted: its files come into a directory, late."""

import base64
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.client import Client
from tests.cluster.controller import ACCOUNT
from tests.cluster.nodes import again_and_again
from webhook.core import names

SECRET = f"/api/v1/namespaces/{ACCOUNT[0]}/secrets/{names.TLS_SECRET}"


def secret(api: Client) -> dict[str, bytes]:
    """Give the data of the Secret of certificates; nothing where it does not exist."""
    answer = api.request("GET", SECRET)
    data = answer.json.get("data", {}) if answer.status == 200 else {}
    return {key: base64.b64decode(value) for key, value in data.items()}


def mount(directory: Path, data: dict[str, bytes]) -> None:
    """Write the files of the Secret."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("ca.crt", "tls.crt", "tls.key"):
        (directory / f"{name}.new").write_bytes(data[name])
        (directory / f"{name}.new").rename(directory / name)


@contextmanager
def kubelet(api: Client, directory: Path, late: float) -> Iterator[None]:
    """Bring the Secret into the directory, *late* seconds after it was read, as a volume."""
    mounted: dict[str, bytes] = {}

    def follow() -> None:
        data = secret(api)
        # a kubelet keeps the files of a volume whose keys are not there
        if data != mounted and data.get("tls.crt") and data.get("ca.crt"):
            time.sleep(late)
            mount(directory, data)
            mounted.update(data)

    with again_and_again(follow, 0.1):
        yield
