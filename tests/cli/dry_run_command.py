"""Call the command `dry-run` on files, or on a stand-in API server."""

from pathlib import Path

import yaml
from click.testing import CliRunner, Result

from tests.dry_run.runs import OBJECTS
from tests.fake_apiserver import FakeApiServer
from tests.pods import FIXTURES
from tests.profiles import as_text
from webhook.cli import main

TORCHX = str(FIXTURES / "torchx/volcano-ddp-2x1.yaml")
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "m", "image": "i"}]},
}
PROFILES = as_text("""
rdma-shared:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
""")


def write_files(folder: Path) -> None:
    (folder / "objects.yaml").write_text(yaml.safe_dump_all(OBJECTS))
    (folder / "profiles.yaml").write_text(PROFILES)
    (folder / "pod.yaml").write_text(yaml.safe_dump(POD))


def call(
    *arguments: str, stdin: str | bytes | None = None, env: dict[str, str] | None = None
) -> Result:
    return CliRunner().invoke(
        main,
        ["dry-run", *arguments],
        input=stdin,
        env={"KUBERNETES_SERVICE_HOST": "", **(env or {})},
    )


def offline(folder: Path, *arguments: str, stdin: str | bytes | None = None) -> Result:
    files = ("--profiles", str(folder / "profiles.yaml"), "--objects", str(folder / "objects.yaml"))
    return call(*files, *arguments, stdin=stdin)


def kubeconfig(folder: Path, server: FakeApiServer, namespace: str = "") -> dict[str, str]:
    return kubeconfig_of(folder, server.url, namespace)


def kubeconfig_of(folder: Path, url: str, namespace: str = "") -> dict[str, str]:
    """Write a kubeconfig for the server at this URL; return the variable that names it."""
    context = {"cluster": "c", "user": "u", "namespace": namespace}
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": context}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "secret-token"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return {"KUBECONFIG": str(path)}
