"""Broken AdmissionReviews, as text and as JSON: no internal error, and every patch applies."""

import base64
import json
from collections import Counter
from random import Random

import jsonpatch
import pytest

from tests.hostile.broken import CHANGES
from tests.pods import FIXTURES
from tests.sockets.conftest import OBJECTS, PROFILES
from webhook.core.profiles import parse_profiles
from webhook.http.connection import Request
from webhook.http.refusal import Refusal, Response, refusal_for
from webhook.serve.admission import Admission
from webhook.serve.metrics import WebhookMetrics
from webhook.world.objects import ObjectsWorld, load_objects

LIVE = [path.read_text() for path in sorted((FIXTURES / "live").glob("*/*.review.json"))]


def answered(admission: Admission, body: bytes) -> Response | Refusal:
    request = Request("POST", "/mutate", "", {}, len(body), keeps_alive=True, body=bytearray(body))
    try:
        answer = admission.answer(request)
    except Exception as error:
        answer = refusal_for(error)
    assert isinstance(answer, (Response, Refusal))
    return answer


@pytest.mark.parametrize("seed", range(4))
def test_survives_broken_reviews(seed: int) -> None:
    random, kinds = Random(seed), Counter[str]()
    profiles = parse_profiles(PROFILES.read_bytes())
    world = ObjectsWorld(load_objects([OBJECTS]))
    admission = Admission(lambda: profiles, world, world, WebhookMetrics())
    for number in range(150):
        text = random.choice(CHANGES)(random.choice(LIVE), random)
        body = text.encode("utf-8", "surrogatepass")
        answer = answered(admission, body)
        if isinstance(answer, Refusal):
            assert answer.code in (400, 503), f"review {number}: {answer.message}: {body[:300]!r}"
            kinds[str(answer.code)] += 1
            continue
        request, response = json.loads(body)["request"], json.loads(answer.content)["response"]
        assert response["uid"] == request["uid"]
        assert response["allowed"] or response["status"]["code"] == 422
        assert all(warning.isprintable() for warning in response.get("warnings", ()))
        if "patch" in response:
            operations = base64.b64decode(response["patch"], validate=True).decode()
            jsonpatch.apply_patch(request["object"], operations)
        kinds["patched" if "patch" in response else "200"] += 1
    admission.stop()
    assert min(kinds[kind] for kind in ("patched", "200", "400")) > 2, kinds
