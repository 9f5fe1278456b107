"""Whether claims can be asked for: found, remembered, found again, never guessed."""

import json

import pytest

from tests.fake_apiserver import NOT_INSTALLED, Behaviour, FakeApiServer, hang, status, text
from tests.waiting import Clock
from webhook.kube.catalogue import CLAIMS, DEVICE_CLASSES
from webhook.kube.claims_api import AGAIN_SECONDS, REFRESH_SECONDS, ClaimsApi
from webhook.kube.connection import RequestFailed
from webhook.kube.reader import Reader


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def api(server: FakeApiServer, clock: Clock) -> ClaimsApi:
    return ClaimsApi(Reader(server.connection(), 20), clock)


def served(*versions: str) -> Behaviour:
    listed = [
        {"groupVersion": f"resource.k8s.io/{version}", "version": version} for version in versions
    ]
    return text(
        200, json.dumps({"kind": "APIGroup", "name": "resource.k8s.io", "versions": listed})
    )


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        (served("v1beta2", "v1", "v1beta1"), "v1"),
        (served("v1beta2", "v1beta1"), ""),
        (served("v2"), ""),
        (served(), ""),
        (text(404, NOT_INSTALLED), ""),
        (text(200, '{"versions": [7, {}, {"version": 1}, {"version": "v1"}]}'), "v1"),
    ],
)
def test_takes_v1_and_no_beta(
    server: FakeApiServer, api: ClaimsApi, answer: Behaviour, version: str
) -> None:
    server.misbehave("get", CLAIMS, answer)
    assert api.is_served() is (version == "v1")
    assert DEVICE_CLASSES.path == f"{CLAIMS}/v1/deviceclasses"


def test_asks_once_and_later_anew(server: FakeApiServer, api: ClaimsApi, clock: Clock) -> None:
    server.misbehave("get", CLAIMS, served("v1beta2"), served("v1"))
    assert [api.is_served() for _ in range(5)] == [False] * 5
    assert len(server.asked("get", CLAIMS)) == 1
    clock.now += REFRESH_SECONDS
    assert api.is_served()
    assert len(server.asked("get", CLAIMS)) == 2


@pytest.mark.parametrize(
    ("answer", "code"),
    [(status(403, "no"), 403), (hang, 0), (text(200, "{}"), 200), (text(200, "x"), 200)],
)
def test_says_why_it_is_not_known(
    server: FakeApiServer, api: ClaimsApi, clock: Clock, answer: Behaviour, code: int
) -> None:
    server.misbehave("get", CLAIMS, answer, served("v1"))
    if answer is hang:
        api = ClaimsApi(Reader(server.connection(), 2), clock)
    for _ in range(3):
        with pytest.raises(RequestFailed, match=CLAIMS) as raised:
            api.is_served()
        assert raised.value.status == code
    assert len(server.asked("get", CLAIMS)) == 1, "a question that failed is not sent again at once"
    clock.now += AGAIN_SECONDS
    assert api.is_served()


def test_keeps_its_former_answer(server: FakeApiServer, api: ClaimsApi, clock: Clock) -> None:
    server.misbehave("get", CLAIMS, served("v1"), status(403), text(404, NOT_INSTALLED))
    assert api.is_served()
    clock.now += REFRESH_SECONDS
    assert api.is_served()
    clock.now += AGAIN_SECONDS
    assert not api.is_served()
