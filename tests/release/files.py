"""Files of a release: wheel, source archive, chart, install.yaml, bill of materials, checksums."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cluster.assets import binary, render

from .version import NotReleasable

CHECKSUMS = "SHA256SUMS"


def make_all(
    tree: Path, version: str, image: str, digest: str, source: str, output: Path
) -> list[Path]:
    """Make all files in the folder, which must be empty or absent; give their paths.

    *image*: where nodes pull the image from, without a tag. *digest*: `sha256:…`; where it is
    empty, the version's tag is used.
    *source*: the repository's address, which the chart and the alerts name.
    """
    output.mkdir(parents=True, exist_ok=True)
    if found := sorted(path.name for path in output.iterdir()):
        raise NotReleasable(
            f"{output} is not empty: {', '.join(found)}; name another folder, or remove them"
        )
    packages(tree, output)
    chart(tree, version, image, digest, source, output)
    reference = f"{image}@{digest}" if digest else f"{image}:{version}"
    (output / "install.yaml").write_text(
        installed_from(render(tree / "manifests/overlays/default"), reference)
    )
    bill_of_materials(tree, version, output / f"fabric-injector-{version}.cdx.json")
    checksums(output)
    return sorted(output.iterdir())


def packages(tree: Path, output: Path) -> None:
    """Build the source archive, and the wheel from it, with locked build tools."""
    environment = os.environ | {"SOURCE_DATE_EPOCH": _time_of_commit(tree)}
    build = [sys.executable, "-m", "build", "--no-isolation", f"--outdir={output}", str(tree)]
    run(build, env=environment)


def chart(tree: Path, version: str, image: str, digest: str, source: str, output: Path) -> None:
    """Package the chart, whose default image is the released one, with the repository's address."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "fabric-injector"
        shutil.copytree(tree / "manifests/chart", copy)
        values = copy / "values.yaml"
        text, repositories = re.subn(
            r"(?m)^  repository: \S+", f"  repository: {image}", values.read_text()
        )
        text, digests = re.subn(
            r'(?m)^  digest: ""', f'  digest: "{digest}"', text, count=1
        )  # image's; others follow
        if (repositories, digests) != (1, 1):
            raise NotReleasable(
                "manifests/chart/values.yaml: it does not begin with image: {repository, digest}"
            )
        values.write_text(text)
        rules = copy / "files/components/prometheus-rules/prometheus-rule.yaml"
        rules.write_text(with_runbooks(rules.read_text(), f"{source}/blob/v{version}"))
        with (copy / "Chart.yaml").open("a") as about:
            about.write(f"home: {source}\nsources: [{source}]\n")
            about.write(f"icon: {source}/raw/main/docs/images/icon.svg\n")
        helm = shutil.which("helm") or str(binary("helm"))
        run([helm, "lint", "--strict", str(copy)])
        run([helm, "package", str(copy), "--destination", str(output)])


def with_runbooks(text: str, address: str) -> str:
    """Lead each alert's runbook_url to the page of this version at the address."""
    return text.replace("runbook_url: docs/", f"runbook_url: {address}/docs/")


def installed_from(text: str, reference: str) -> str:
    """Give install.yaml with this image in both Deployments and the webhook's variable."""
    text, count = re.subn(
        r"(?m)^(\s+(?:image|value): )fabric-injector:\S+$", rf"\g<1>{reference}", text
    )
    if count != 3:
        raise NotReleasable(
            f"manifests/overlays/default: {count} places name the image fabric-injector, not 3"
        )
    return text


def bill_of_materials(tree: Path, version: str, file: Path) -> None:
    """Write what the image is made of beside its base, from requirements.lock, as CycloneDX."""
    program = str(Path(sys.executable).with_name("cyclonedx-py"))
    options = ["--output-reproducible", "--output-format=JSON", f"--output-file={file}"]
    options.append(f"--pyproject={tree / 'pyproject.toml'}")
    run([program, "requirements", *options, str(tree / "requirements.lock")])
    materials = json.loads(file.read_text())
    # dynamic in pyproject.toml, which is not run
    materials["metadata"]["component"]["version"] = version
    file.write_text(json.dumps(materials, indent=1) + "\n")


def checksums(output: Path) -> None:
    """Write SHA256SUMS of all files in the folder, as `sha256sum --check` reads it."""
    files = sorted(path for path in output.iterdir() if path.name != CHECKSUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (output / CHECKSUMS).write_text("".join(lines))


def _time_of_commit(tree: Path) -> str:
    return run(["git", "-C", str(tree), "log", "-1", "--format=%ct"]).strip()


def run(command: list[str], folder: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a command and give its output; NotReleasable with the last lines where it fails."""
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
        raise NotReleasable(f"{' '.join(command)}: status {done.returncode}\n{tail}")
    return done.stdout
