"""The views of what the server knows."""

from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from tests.page.served import ServedPage
from webhook.presets import read_presets

from .actions import judge
from .conftest import NETWORKS, watched


def open_view(page: Page, name: str) -> None:
    page.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", level=1, name=name)).to_be_focused()
    assert page.locator("main > section:visible").count() == 1


def test_shows_profiles(page: Page) -> None:
    open_view(page, "Profiles")
    rails = page.locator(".profile", has_text="eight-rails")
    assert rails.locator(".wanted li").count() == 8
    expect(rails).to_contain_text("nvidia.com/sriov_resource_rail_7")
    expect(rails).to_contain_text("used by rails")
    expect(rails.locator("pre")).to_contain_text("timeout: 600s")
    assert page.locator(".profile").count() == 3


def test_shows_every_preset(context: BrowserContext, tmp_path: Path) -> None:
    presets = read_presets()
    file = tmp_path / "profiles.yaml"
    file.write_text("---\n".join(preset.text for preset in presets))
    with ServedPage(tmp_path / "log", file, NETWORKS) as server:
        url = server.url
        with watched(context, f"{url}/#profiles", url) as page:
            expect(page.locator(".profile h2")).to_have_text([preset.name for preset in presets])
            expect(page.locator("#profiles")).to_contain_text("mountPath: /usr/local/nvidia/lib64")
            expect(page.locator("#profiles")).not_to_contain_text("[object Object]")


def test_an_error_of_drawing_is_not_one_of_the_server(context: BrowserContext, url: str) -> None:
    page = context.new_page()
    failed: list[str] = []
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.route("**/state", lambda route: route.fulfill(json={"version": "1", "problems": []}))
    page.goto(url)
    expect(page.locator("#server")).to_have_text("this page failed: reload it")
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator("#server")).to_have_text("this page failed: reload it")
    assert failed


def test_shows_networks(page: Page) -> None:
    open_view(page, "Networks")
    expect(page.locator("#networks tr", has_text="default/hostdev-net")).to_contain_text(
        "nvidia.com/hostdev"
    )
    broken = page.locator("#networks tr", has_text="rails/broken")
    expect(broken).to_contain_text("no IPAM")
    expect(broken.locator(".fault")).to_contain_text("write one label")


def test_shows_letters_that_would_reorder_a_line_as_what_they_are(page: Page) -> None:
    open_view(page, "Networks")
    expect(page.locator("#networks")).to_contain_text("rails/rail\ufffd-8")
    assert "\u202e" not in page.locator("#networks").inner_text()


def test_shows_namespaces(page: Page) -> None:
    open_view(page, "Namespaces")
    expect(page.locator("#namespaces tr", has_text="trial")).to_contain_text("observe")
    expect(page.locator("#namespaces tbody tr").last).to_contain_text("default")


def test_shows_jobs_and_their_addresses(page: Page) -> None:
    open_view(page, "Jobs")
    cells = [
        row.locator("th, td").all_inner_texts() for row in page.locator("#jobs tbody tr").all()
    ]
    assert cells == [
        [
            "rails",
            "train-6223265f5a",
            "train-0",
            "not yet published",
            "eight-rails",
            "2026-11-21 10:01:02 UTC",
        ],
        [
            "research",
            "bert-3f9a01c2de",
            "bert-master-0",
            "192.168.5.17",
            "rdma-shared",
            "2026-11-21 09:12:44 UTC",
        ],
    ]


def test_comes_back_to_the_answer(page: Page) -> None:
    judge(page)
    open_view(page, "Jobs")
    page.go_back()
    expect(page.locator("#results .card")).to_have_count(2)


def test_asks_anew(page: Page) -> None:
    with page.expect_response("**/state") as answer:
        page.get_by_role("button", name="Refresh").click()
    assert answer.value.headers["cache-control"] == "no-store"


def test_leads_from_a_job_to_its_namespace_profile_and_network_and_back(page: Page) -> None:
    open_view(page, "Jobs")
    page.locator("#jobs tr", has_text="bert").get_by_role("link", name="research").click()
    namespace = page.locator("#namespaces tbody tr")
    expect(namespace).to_have_count(1)
    expect(namespace).to_contain_text("research")
    namespace.get_by_role("link", name="rdma-shared").click()
    profile = page.locator(".profile.pointed")
    expect(profile).to_contain_text("rdma-shared")
    profile.get_by_role("link", name="default/rdma-net-ipam").click()
    network = page.locator("#networks tbody tr")
    expect(network).to_have_count(1)
    network.get_by_role("link", name="rdma-shared").click()
    profile.get_by_role("link", name="research").click()
    namespace.get_by_role("link", name="bert-3f9a01c2de").click()
    expect(page.locator("#jobs tbody tr")).to_have_count(1)
    page.go_back()
    expect(page.get_by_role("heading", level=1, name="Namespaces")).to_be_visible()
    page.get_by_role("link", name="Networks").click()
    expect(page.locator("#networks tbody tr")).not_to_have_count(1)


def test_opens_at_what_the_address_names(page: Page, url: str) -> None:
    page.goto("about:blank")
    page.goto(f"{url}/#networks/default%2Frdma-net-ipam")
    expect(page.locator("#networks tbody tr.pointed")).to_contain_text("default/rdma-net-ipam")
    expect(page.locator("#networks tbody tr")).to_have_count(1)
