"""Run a webhook on sample data, send it the pods of a TorchX job, and print what they become."""

from __future__ import annotations

import base64
import contextlib
import json
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Mapping
from importlib.resources import as_file, files
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

import click
import jsonpatch

from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.dry_run import DryRun, PodResult, render_diff
from webhook.dry_run.templates import parse_documents

_TIMEOUT_SECONDS = 20.0


def run(*, once: bool) -> bool:
    """Run the demo, until Ctrl-C unless *once*; return whether every pod was injected."""
    signal.signal(
        signal.SIGTERM, lambda number, _: sys.exit(128 + number)
    )  # the webhook must not outlive the demo
    with as_file(files("webhook.demo")) as folder:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "webhook", "serve"),
                *(
                    "--profiles",
                    str(folder / "profiles.yaml"),
                    "--objects",
                    str(folder / "networks.yaml"),
                ),
                *(
                    "--listen",
                    "127.0.0.1:0",
                    "--dry-run-listen",
                    "127.0.0.1:0",
                    "--metrics-listen",
                    "127.0.0.1:0",
                ),
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            serving = _await_serving(process)
            pods = parse_documents((folder / "torchx-pods.yaml").read_text(encoding="utf-8"))
            results = tuple(_admit(pod, serving) for pod in pods)
            _print(DryRun(results, ()))
            injected = [result for result in results if result.allowed and result.patch]
            click.echo(
                f"{len(injected)} of {len(results)} pods were injected by {serving['admission']}/mutate"
            )
            if not once:
                with contextlib.suppress(KeyboardInterrupt):
                    _serve_on(process, serving)
                click.echo()
        finally:
            process.terminate()
            process.wait(_TIMEOUT_SECONDS)
    return len(injected) == len(results)


def _await_serving(process: subprocess.Popen[str]) -> Mapping[str, str]:
    """Return the log line that says where the webhook serves. Raises ClickException with the log where it ends before."""
    assert process.stderr is not None  # noqa: S101  # asked for above
    seen = []
    for line in process.stderr:
        seen.append(line)
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if entry.get("message") == "serving":
            threading.Thread(target=process.stderr.read, daemon=True).start()
            found: Mapping[str, str] = entry
            return found
    raise click.ClickException("the webhook did not start:\n" + "".join(seen))


def _admit(pod: Object, serving: Mapping[str, str]) -> PodResult:
    """Send a pod as the API server would, and ask the dry run for the decisions behind the answer."""
    namespace = pod["metadata"]["namespace"]
    request = {
        "uid": str(uuid4()),
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "name": pod["metadata"]["name"],
        "namespace": namespace,
        "operation": "CREATE",
        "object": pod,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    context = ssl.create_default_context(cafile=serving["ca"])
    response = _post(f"{serving['admission']}/mutate", review, context)["response"]
    patch = json.loads(base64.b64decode(response["patch"])) if "patch" in response else []
    [told] = _post(f"{serving['dryRun']}/dry-run?namespace={namespace}", pod)["pods"]
    if told["patch"] != patch:
        raise click.ClickException(
            f"pod {pod['metadata']['name']}: the dry run and admission give different patches"
        )
    decisions = tuple(
        Decision(each["step"], Outcome(each["outcome"]), Reason(each["reason"]), each["message"])
        for each in told["decisions"]
    )
    return PodResult(
        source="TorchX app, as Volcano creates it",
        namespace=namespace,
        before=pod,
        after=jsonpatch.apply_patch(pod, patch),
        allowed=response["allowed"],
        message=response.get("status", {}).get("message", ""),
        system=told["system"],
        job=told["job"],
        rendezvous=told["rendezvous"],
        profile=told["profile"],
        decisions=decisions,
        warnings=tuple(response.get("warnings", ())),
        patch=tuple(patch),
    )


def _post(url: str, body: Object, context: ssl.SSLContext | None = None) -> Any:
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})  # noqa: S310  # our own URL
    try:
        with urlopen(request, timeout=_TIMEOUT_SECONDS, context=context) as response:  # noqa: S310
            return json.load(response)
    except HTTPError as error:
        raise click.ClickException(
            f"{url} answered {error.code}: {error.read().decode(errors='replace')}"
        ) from None


def _print(run: DryRun) -> None:
    if sys.stdout.isatty():
        from webhook.cli.coloured import print_diff

        print_diff(run)
    else:
        click.echo(render_diff(run), nl=False)


def _serve_on(process: subprocess.Popen[str], serving: Mapping[str, str]) -> None:
    click.echo(
        f"""
Serving until Ctrl-C. See what your own manifests become:

  curl --data-binary @job.yaml '{serving["dryRun"]}/dry-run?namespace=research'

Namespaces of this demo: research (profile rdma-shared), hostdev (profile hostdev), rails (profile eight-rails).
Metrics: {serving["metrics"]}/metrics"""
    )
    process.wait()
    raise click.ClickException("the webhook ended")
