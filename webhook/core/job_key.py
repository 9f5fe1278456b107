"""Write the key of a job: the label value that all members of one process group share."""

import hashlib
import re
from typing import Final

_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")
_HASH_LENGTH: Final = 10
_NAME_LENGTH: Final = 63 - 1 - _HASH_LENGTH


def job_key(name: str, system: str, job_id: str, attempt: str, rank_zero: str) -> str:
    """Return the key of a job, ``train-3f9a01c2de``: a name, and a hash of what tells jobs apart.

    Shape: a label value of at most 63 characters. The format is an interface between versions.
    """
    identity = "\0".join((system, job_id, attempt, rank_zero))
    digest = hashlib.sha256(identity.encode(errors="surrogatepass")).hexdigest()[:_HASH_LENGTH]
    readable = _UNFIT.sub("-", name)[:_NAME_LENGTH].strip("._-")
    return f"{readable}-{digest}" if readable else digest
