"""Throw-away certificates: one authority, and certificates of servers and clients that it signs."""

from collections.abc import Sequence
from pathlib import Path

import trustme


class Authority:
    """A certificate authority that lives as long as a test run."""

    def __init__(self, name: str) -> None:
        """Make a new key and its self-signed certificate."""
        self._authority = trustme.CA(organization_unit_name=name)

    @property
    def pem(self) -> bytes:
        """Give the authority's certificate."""
        return self._authority.cert_pem.bytes()

    def write(self, folder: Path, names: Sequence[str] = ("localhost",)) -> Path:
        """Write ca.crt, tls.crt and tls.key of a server on 127.0.0.1 and the names; give the folder."""
        identities = {*names, "127.0.0.1"}
        return self._write(folder, self._authority.issue_cert(*identities, common_name=names[0]))

    def write_client(self, folder: Path, common_name: str, *dns_names: str) -> Path:
        """Write ca.crt, tls.crt and tls.key of a client into the folder; give it back."""
        issued = self._authority.issue_cert(*dns_names, common_name=common_name)
        return self._write(folder, issued)

    def _write(self, folder: Path, pair: trustme.LeafCert) -> Path:
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
