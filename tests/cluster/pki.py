"""Throw-away certificates: one authority, and certificates of servers and clients that it signs."""

from collections.abc import Sequence
from pathlib import Path

import trustme


class Authority(trustme.CA):
    """A certificate authority that lives as long as a test run."""

    @property
    def pem(self) -> bytes:
        """Give the authority's certificate."""
        return self.cert_pem.bytes()

    def write(self, folder: Path, names: Sequence[str] = ("localhost",)) -> Path:
        """Write ca.crt, tls.crt and tls.key of a server on 127.0.0.1 and the names."""
        return self.write_client(folder, names[0], *{*names, "127.0.0.1"})

    def write_client(self, folder: Path, common_name: str, *identities: str) -> Path:
        """Write ca.crt, tls.crt and tls.key of a client into the folder; give it back."""
        pair = self.issue_cert(*identities, common_name=common_name)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ca.crt").write_bytes(self.pem)
        (folder / "tls.crt").write_bytes(pair.cert_chain_pems[0].bytes())
        write_private(folder / "tls.key", pair.private_key_pem.bytes())
        return folder


def write_private(path: Path, content: bytes) -> Path:
    """Write the file so that only its owner may read it; give its path back."""
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path
