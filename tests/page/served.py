"""Serve the page beside files that stand for a cluster: their paths are the arguments."""

import sys
from pathlib import Path
from typing import Self

import waitress

from tests.sockets.server import Program, Reply, ask_at
from webhook.core.model import Object
from webhook.core.profiles import parse_profiles
from webhook.dry_run import DryRun, dry_run
from webhook.page.app import make_app, state_document
from webhook.world.objects import ObjectsWorld, load_objects
from webhook.world.view import read_namespace


class ServedPage(Program):
    """Run the page on a free port, without the key and the views of ``fabric-injector page``."""

    def __init__(self, log: Path, *files: Path) -> None:
        super().__init__(log, [sys.executable, "-m", "tests.page.served", *map(str, files)])

    def __enter__(self) -> Self:
        self.start(lambda: bool(self.url), "the page to be served", stdout=True)
        return self

    @property
    def url(self) -> str:
        """The address that was printed."""
        printed, end, _ = self.log.read_text().partition("\n")
        return printed if end else ""

    def plain(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """Send one request."""
        return ask_at(self.url, method, path, body, headers)


def main(profiles_file: Path, *objects: Path) -> None:
    """Serve until a signal."""
    profiles = parse_profiles(profiles_file.read_bytes())
    known = load_objects(objects)
    world = ObjectsWorld(known)

    def judge(text: str, namespace: str | None, profile: str | None) -> DryRun:
        return dry_run(text, namespace=namespace, profile=profile, profiles=profiles, world=world)

    def state() -> Object:
        spaces = [read_namespace(each) for each in known if each["kind"] == "Namespace"]
        return state_document(profiles, filter(None, spaces))

    server = waitress.create_server(make_app(judge, state), listen="127.0.0.1:0")
    print(f"http://127.0.0.1:{server.effective_port}", flush=True)
    server.run()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
