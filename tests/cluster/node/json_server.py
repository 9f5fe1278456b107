"""A server on loopback that answers requests with JSON."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

Answer = Callable[[str, Any], object]
"""Takes the path and the decoded body, None where there is none; gives what is answered."""


@contextmanager
def json_server(answer: Answer, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """Run it, with TLS where a context is given; give the URL."""

    @Request.application
    def application(request: Request) -> Response:
        told = answer(request.path, request.get_json(silent=True))
        return Response(json.dumps(told), content_type="application/json")

    server = make_server("127.0.0.1", 0, application, threaded=True, ssl_context=context)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
