"""Status and Check, the views of ``fabric-injector page``, beside a small API server."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.diagnose.scenes import PROFILES, SPACE, Scene, ago, event
from tests.fake_apiserver import EVENTS, NODES, PODS, FakeApiServer, status
from tests.profiles import as_text
from tests.sockets.local_page import LocalPage, hold, put_pod
from tests.waiting import wait_until
from webhook.core import names
from webhook.diagnose.jobs import JOB_NAMES

from .actions import judge
from .conftest import watched
from .test_access import WIDTHS, look
from .test_hostile import MARKUP, SCRIPT

ODD = "a\u202eb\x1b[2Jc\x07"


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeApiServer]:
    """Run the cluster."""
    with FakeApiServer() as running:
        yield running


@pytest.fixture
def server(cluster: FakeApiServer) -> FakeApiServer:
    """Empty the cluster."""
    cluster.forget()
    return cluster


@pytest.fixture
def scene(server: FakeApiServer) -> Scene:
    """Put a job into the cluster, two of whose workers wait."""
    made = Scene()
    for worker in made.workers[:2]:
        made.wait(worker, ago(minutes=3))
    hold(server, made)
    return made


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, cluster: FakeApiServer) -> Iterator[LocalPage]:
    """Run the page's server, for all tests."""
    with LocalPage(tmp_path_factory.mktemp("page"), cluster.url) as running:
        yield running


@pytest.fixture
def page(context: BrowserContext, local: LocalPage, scene: Scene) -> Iterator[Page]:
    """Open the address that was printed last, as the other tests of this folder open theirs."""
    local.profiles.write_text(as_text(PROFILES))
    printed = len(local.addresses)
    with watched(context, local.addresses[-1], local.url) as opened:
        wait_until(lambda: len(local.addresses) > printed, "the next address")
        yield opened


def open_view(page: Page, name: str) -> None:
    page.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", level=1, name=name)).to_be_focused()
    page.locator(f"#{name.lower()} .held:not([aria-busy=true])").locator(
        "table, p"
    ).first.wait_for()
    assert page.locator("main > section:visible").count() == 1


def explained(page: Page, name: str = "bert") -> Locator:
    """Choose a job, and wait for what is found of it."""
    page.locator("#status").get_by_role("button", name=name, exact=True).click()
    box = page.locator("#status .below:visible")
    box.locator(".findings").wait_for()
    return box


def press(page: Page, view: str) -> None:
    """Look again, and wait until that is over."""
    with page.expect_response(lambda response: f"/{view}" in response.url):
        page.locator(f"#{view}").get_by_role("button", name="Look again").click()
    page.locator(f"#{view} .held[aria-busy=false]").wait_for()


class TestStatus:
    """The jobs, and why one of them waits."""

    def test_follows_a_waiting_job_to_its_cause(self, page: Page) -> None:
        open_view(page, "Status")
        row = page.locator("#status .jobs tbody tr").first
        expect(row).to_contain_text("2 Running, 2 Init")
        expect(row).to_contain_text("192.168.0.1")
        expect(row).to_contain_text("has not published rank 0's address to 2 pods of this job")
        box = explained(page)
        first = box.locator(".findings li").first
        expect(first).to_contain_text("fail")
        expect(first).to_contain_text("look at its log: kubectl -n fabric-injector logs")
        expect(first.locator("code")).to_have_text("controller-silent")
        picture = box.locator(".ranks").get_by_role("img")
        expect(picture).to_have_attribute(
            "aria-label",
            "Rank 0 is bert-master-0, at 192.168.0.1. "
            "3 other pods: 1 told of it, 2 waiting for it.",
        )
        assert picture.locator(".edge.waiting").count() == 2
        assert picture.locator(".edge.told").count() == 1
        assert [each.text_content() for each in picture.locator(".rank.waiting .strong").all()] == [
            "bert-worker-0",
            "bert-worker-1",
        ]
        expect(picture.locator(".rank.waiting").first).to_contain_text("waits for rank 0, 3 min")
        box.get_by_text("4 pods in a table").click()
        assert box.locator("tbody tr").count() == 4

    def test_draws_the_start_as_explain_tells_it(self, page: Page) -> None:
        open_view(page, "Status")
        picture = explained(page).locator(".timeline").get_by_role("img")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            expect(picture).to_contain_text("waits 3 min for rank 0's address")
            assert picture.locator(".step.s5").count() == 2  # rank 0 and the worker that was told
            expect(picture.locator(".step.s4 title").first).to_have_text("wait: goes on")
            rights = picture.locator(".step").evaluate_all(
                "bars => bars.map(bar => bar.getBoundingClientRect().right)"
            )
            assert 0 < max(rights) <= width

    def test_follows_a_change(self, page: Page, server: FakeApiServer, scene: Scene) -> None:
        open_view(page, "Status")
        box = explained(page)
        for worker in scene.workers[:2]:
            scene.tell(worker, "192.168.0.1")
            scene.start(worker, ago(minutes=1))
            put_pod(server, worker)
        row = page.locator("#status .jobs tbody tr").first
        expect(row.locator(".chip")).to_have_text("ok")  # by itself
        assert box.locator(".edge.told").count() == 3
        expect(page.locator("#status .below")).to_be_visible()

    def test_asks_nothing_while_other_views_are_seen(
        self, page: Page, server: FakeApiServer
    ) -> None:
        page.clock.install()
        open_view(page, "Status")
        asked = len(server.asked("list", NODES))
        page.clock.run_for(11_000)
        page.locator("#status .held[aria-busy=false]").wait_for()
        more = len(server.asked("list", NODES))
        assert more > asked
        page.get_by_role("link", name="Dry run").click()
        page.clock.run_for(300_000)
        assert len(server.asked("list", NODES)) == more

    def test_tells_a_job_without_rank_zero(self, page: Page, server: FakeApiServer) -> None:
        server.delete(PODS, "bert-master-0", SPACE)
        open_view(page, "Status")
        box = explained(page)
        expect(box.locator(".rank.missing")).to_contain_text("no rank 0")
        expect(box.locator(".findings")).to_contain_text("has no rank-0 pod")

    def test_draws_a_few_of_many(self, page: Page, server: FakeApiServer) -> None:
        large = Scene(40)
        large.wait(large.workers[30], ago(minutes=3))
        hold(server, large)
        open_view(page, "Status")
        picture = explained(page).locator(".ranks").get_by_role("img")
        assert picture.locator(".rank").count() == 10
        expect(picture.locator(".rank .strong").first).to_have_text("bert-worker-30")
        expect(picture).to_contain_text("and 31 more pods")

    def test_shows_another_namespace_and_all(self, page: Page) -> None:
        open_view(page, "Status")
        page.get_by_label("All namespaces").check()
        expect(page.get_by_role("button", name=f"{SPACE}/bert")).to_be_visible()
        page.get_by_label("All namespaces").uncheck()
        expect(page.get_by_role("button", name="bert", exact=True)).to_be_visible()
        page.locator("#status-namespace").fill("elsewhere")
        page.locator("#status-namespace").press("Enter")
        expect(page.locator("#status .problem")).to_contain_text(
            "there is no namespace of this name"
        )

    def test_keeps_what_it_showed_without_cluster(self, page: Page, server: FakeApiServer) -> None:
        open_view(page, "Status")
        server.refusal = status(503, "etcd is gone")
        press(page, "status")
        problem = page.locator("#status .problem")
        expect(problem).to_contain_text("answered 503: etcd is gone")
        expect(problem).to_contain_text("this is server http://127.0.0.1:")
        expect(page.locator("#status .outdated")).to_contain_text("bert")
        server.refusal = None
        press(page, "status")
        expect(problem).to_be_empty()
        expect(page.locator("#status .outdated")).to_have_count(0)

    def test_says_what_may_not_be_read(self, page: Page, server: FakeApiServer) -> None:
        forbidden = status(
            403, "nodes is forbidden: User u cannot list resource nodes", reason="Forbidden"
        )
        server.misbehave("list", NODES, *[forbidden] * 5)
        open_view(page, "Status")
        expect(page.locator("#status .callout")).to_contain_text("nodes")
        expect(page.locator("#status .callout")).to_contain_text("answered 403")
        expect(page.locator("#status .jobs")).to_contain_text("bert")


def spoil(scene: Scene) -> None:
    """Write markup into all that a pod or an Event may say."""
    text = f"{MARKUP}{ODD}"
    waiting = {"waiting": {"reason": MARKUP, "message": text}}
    for pod in scene.pods.values():
        metadata = pod["metadata"]
        metadata["ownerReferences"][0]["name"] = text
        metadata["labels"] |= dict.fromkeys({*JOB_NAMES} & metadata["labels"].keys(), text)
        metadata["annotations"][names.MASTER_ADDR] = text
        network = {"name": "default/rdma-net", "interface": MARKUP, "ips": [text]}
        metadata["annotations"][names.NETWORK_STATUS] = json.dumps([network])
    for worker in scene.workers:
        scene.events.append(event("Pod", worker["metadata"]["name"], "FailedMount", text))
        told = {"profile": MARKUP, "injected": [MARKUP, ODD]}
        worker["metadata"]["annotations"][names.STATUS] = json.dumps(told)
        worker["status"]["containerStatuses"] = [{"name": "pytorch", "state": waiting}]
        worker["status"]["phase"] = "Pending"
    failed = f"Error creating: {text}"
    scene.events.append(event("PyTorchJob", "bert", "FailedCreatePod", failed))


def test_shows_what_a_hostile_pod_says_as_text(page: Page, server: FakeApiServer) -> None:
    scene = Scene()
    spoil(scene)
    hold(server, scene)
    open_view(page, "Status")
    page.locator("#status .jobs .name").first.click()
    page.locator("#status .below .findings, #status .below .problem").first.wait_for()
    seen = page.locator("#status").inner_text() + (page.locator("#status").text_content() or "")
    assert SCRIPT.partition(">")[0] in seen
    assert "\u202e" not in seen
    assert "\x1b" not in seen
    assert page.locator("#status").locator("script, a, iframe, object, [onerror]").count() == 0
    assert page.locator("#status img[src]").count() == 0
    assert "owned" not in page.title()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


class TestCheck:
    """What check finds."""

    def test_groups_findings_and_says_what_to_do(self, page: Page, local: LocalPage) -> None:
        open_view(page, "Check")
        headings = [each.inner_text() for each in page.locator("#check h2:visible").all()]
        assert [each.split(" ")[:2] for each in headings] == [["To", "look"], ["As", "it"]]
        finding = page.locator("#check .findings > li", has_text="no DaemonSet of it was found")
        expect(finding).to_contain_text("see that it runs on every node with a fabric")
        expect(finding.locator("code")).to_have_text("multus-missing")
        expect(page.get_by_text("1 profile, valid: shared")).to_be_hidden()
        page.locator("#check summary").click()
        expect(page.get_by_text("1 profile, valid: shared")).to_be_visible()
        local.profiles.write_text(local.profiles.read_text().replace("rdma-net", "gone-net"))
        press(page, "check")
        expect(page.locator("#check h2").first).to_have_text("To mend 1 failure")
        expect(page.locator("#check .findings").first).to_contain_text("gone-net")
        expect(page.get_by_text("1 profile, valid: shared")).to_be_visible()


class TestDryRun:
    """By the cluster's profiles and the caller's rights."""

    def test_says_which_networks_are_assumed(self, page: Page, server: FakeApiServer) -> None:
        path = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions/rdma-net"
        server.misbehave("get", path, *[status(403, "no", reason="Forbidden")] * 4)
        judge(page, namespace="")
        expect(page.locator("#results")).to_contain_text(
            "networks you cannot read are assumed to exist"
        )


class TestOpening:
    """The key in the address."""

    def test_keeps_the_key_over_a_reload_out_of_history(self, page: Page, local: LocalPage) -> None:
        assert page.url == f"{local.url}/"
        open_view(page, "Status")
        page.reload()
        page.locator("#server.live").wait_for()
        expect(page.locator("#status .jobs")).to_contain_text("bert")


def test_can_be_used_by_everybody(page: Page, server: FakeApiServer) -> None:
    open_view(page, "Status")
    look(page)
    explained(page).locator(".timeline").get_by_role("img").wait_for()
    page.locator("#status .below summary").click()
    look(page)
    server.refusal = status(503, "etcd is gone")
    press(page, "status")
    look(page)
    server.refusal = None
    open_view(page, "Check")
    page.locator("#check summary").click()
    look(page)


def test_needs_no_mouse(page: Page) -> None:
    page.get_by_role("link", name="Status").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Status")).to_be_focused()
    page.locator("#status .jobs").wait_for()
    reached = []
    for _ in range(4):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.innerText")
        )
    assert reached == ["status-namespace", "status-all", "Look again", "bert"]
    page.keyboard.press("Enter")
    button = page.locator("#status .jobs .name")
    expect(button).to_have_attribute("aria-expanded", "true")
    page.locator("#status .below .findings").wait_for()
    press(page, "status")
    button.focus()
    page.keyboard.press("Tab")
    expect(page.locator("#status .below summary")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#status .below table")).to_be_visible()
    button.focus()
    page.keyboard.press("Space")
    expect(button).to_have_attribute("aria-expanded", "false")


def test_keeps_the_focus_when_a_look_changes_the_table(page: Page, server: FakeApiServer) -> None:
    open_view(page, "Status")
    button = page.locator("#status .jobs .name")
    button.focus()
    server.delete(PODS, "bert-worker-2", SPACE)
    expect(page.locator("#status .jobs tbody tr").first).to_contain_text("3/4")
    expect(button).to_be_focused()
    assert server.asked("list", EVENTS) or server.asked("get", f"/api/v1/namespaces/{SPACE}/events")
