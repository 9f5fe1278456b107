"""Serve the page beside files that stand for a cluster: their paths are the arguments."""

import sys
from collections.abc import Sequence
from pathlib import Path

import waitress

from tests.sockets.server import Program, Reply, ask_at
from webhook.cli.page import Keys, make_app
from webhook.cli.page_answers import PageAnswers, state_document
from webhook.core.model import Object
from webhook.core.profiles import parse_profiles
from webhook.dry_run import DryRun, dry_run
from webhook.world.objects import ObjectsWorld, load_objects
from webhook.world.view import read_namespace


class ServedPage(Program):
    """Run the page on a free port, without the key and the views of ``fabric-injector page``."""

    def __init__(self, log: Path, *files: Path) -> None:
        command = [sys.executable, "-m", "tests.page.served", *files]
        super().__init__(command, log, lambda: self.url)

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


class FileAnswers(PageAnswers):
    """Answer by files."""

    def __init__(self, profiles: Path, objects: Sequence[Path]) -> None:
        self.title = "files"
        self.known = parse_profiles(profiles.read_bytes())
        self.objects = load_objects(objects)

    def judge(self, text: str, namespace: str | None, profile: str | None) -> DryRun:
        """Judge a manifest."""
        world = ObjectsWorld(self.objects)
        return dry_run(text, namespace=namespace, profile=profile, profiles=self.known, world=world)

    def state(self) -> Object:
        """Return what the form needs."""
        spaces = [read_namespace(each) for each in self.objects if each["kind"] == "Namespace"]
        return state_document(self.known.profiles, filter(None, spaces))


class NoKeys(Keys):
    """Let everybody in."""

    def opens(self, key: str) -> bool:
        """Tell that any key does."""
        return True


def main(profiles: Path, *objects: Path) -> None:
    """Serve until a signal."""
    app = make_app(FileAnswers(profiles, objects), NoKeys(""))
    server = waitress.create_server(app, listen="127.0.0.1:0")
    print(f"http://127.0.0.1:{server.effective_port}", flush=True)
    server.run()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
