"""Hold whose requests a connection sends, and find those of a pod: its service account."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from webhook.core.errors import InputError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def anonymous() -> str:
    """Give no header."""
    return ""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Hold what a connection needs: *server* as ``https://10.96.0.1:443``, *source* for messages.

    *authorization* gives the header's value for the next request, ``"Bearer …"`` or nothing. *ca*
    None trusts the system's authorities; files may be replaced while we run. *server_name* is what
    the certificate must name, where that is not the host. *namespace* is meant where none is named.
    *impersonate*: the user, then groups, in whose name requests are sent.
    """

    source: str
    server: str
    authorization: Callable[[], str] = anonymous
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    verify: bool = True
    server_name: str = ""
    proxy: str = ""
    namespace: str = ""
    impersonate: tuple[str, ...] = ()

    def file_state(self) -> object:
        """Give a value that changes when a certificate file, or a link on the way, is replaced."""
        named = (self.ca, self.certificate, self.key)
        try:
            found = [file.stat() for file in named if file is not None]
        except OSError:
            return None
        return [(stat.st_mtime_ns, stat.st_ino) for stat in found]


class TokenFile:
    """Give the token in a file as it is now; while it cannot be read, the last one that could."""

    def __init__(self, path: Path, source: str) -> None:
        self._path = path
        self._token = _read_text(path)
        if not self._token:
            problem = f"the token file {path} is empty or cannot be read"
            raise InputError(f"{source}: {problem}; mount or write a token there")

    def __call__(self) -> str:
        """Give ``"Bearer TOKEN"``."""
        self._token = _read_text(self._path) or self._token
        return f"Bearer {self._token}"


def pod_credentials(
    environ: Mapping[str, str], folder: Path = SERVICE_ACCOUNT
) -> Credentials | None:
    """Find the service account of the pod that this process is in; None outside of one.

    Raises InputError naming what the pod lacks.
    """
    host = environ.get("KUBERNETES_SERVICE_HOST", "")
    port = environ.get("KUBERNETES_SERVICE_PORT", "")
    if not (host and port and (folder / "token").exists()):
        return None
    source, ca = "service account", folder / "ca.crt"
    if not ca.is_file():
        advice = "mount the service account's volume whole"
        raise InputError(f"{source}: {ca} does not exist; {advice}")
    return Credentials(
        source=source,
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        authorization=TokenFile(folder / "token", source),
        ca=ca,
        namespace=_read_text(folder / "namespace"),
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
