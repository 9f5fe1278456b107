"""Serve the floor: the product's listener, TLS, bridge, log line and metrics, and an answer that never looks at the pod."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson

from certs.serving import ServingCertificate
from webhook.core.profiles import Profiles
from webhook.core.review import Answer
from webhook.http import logs
from webhook.http.health import Readiness
from webhook.http.listener import ListenAddress, bind
from webhook.serve.dry_runs import DryRuns
from webhook.serve.metrics import WebhookMetrics
from webhook.serve.process import Service, serve
from webhook.world.objects import ObjectsWorld


def allow(body: bytes, came_at: float = 0.0) -> Answer:
    """Allow whatever the review asks."""
    request = orjson.loads(body)["request"]
    response = {"uid": request["uid"], "allowed": True}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return Answer(
        orjson.dumps(review), None, request["uid"], request["namespace"], request["name"], False
    )


def main(tls_dir: Path) -> None:
    """Serve on free ports of 127.0.0.1 until SIGTERM."""
    logs.configure()
    anywhere = ListenAddress("127.0.0.1", 0)
    service = Service(
        allow,
        allow,
        DryRuns(bind(anywhere), Profiles, lambda: ObjectsWorld(())),  # nobody asks
        Readiness(dict),
        ServingCertificate(tls_dir),
        WebhookMetrics(),
    )
    serve(service, bind(anywhere), bind(anywhere))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
