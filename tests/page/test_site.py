"""The site builds strictly, its pages are sound, and who types a symptom finds the answer."""

import functools
import http.server
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests import ROOT
from tests.docs import reference

SYMPTOMS = {
    "training falls back to TCP": "training-falls-back-to-tcp",
    "stuck Init": "my-pods-are-stuck-in-init",
    "cannot lock memory": "rdma-cannot-lock-memory",
    "NCCL timeout": "the-ranks-never-meet-timeout-of-nccl-gloo-or-c10d",
    "insufficient rdma Pending": "my-pod-stays-pending",
    "Bus error": "bus-error-the-shared-memory-in-devshm-is-too-small",
    "failed calling webhook": "my-pod-is-refused-or-calling-the-webhook-failed",
    "MASTER_ADDR empty": "master_addr-is-empty-or-a-name",
    "wrong interface eth0": "nccl-or-gloo-uses-the-wrong-interface",
    "job gets no network": "the-job-gets-no-network-nothing-was-injected",
    "exit status 75": "the-wait-step-failed-with-status-75",
    "slow after upgrade": "it-worked-and-is-slow-after-an-upgrade",
    "context deadline exceeded": "my-pod-is-refused-or-calling-the-webhook-failed",
    "no IP addresses available": "my-pods-are-stuck-in-init",
    "NCCL uses eth0": "nccl-or-gloo-uses-the-wrong-interface",
    "MASTER_ADDR is a name": "master_addr-is-empty-or-a-name",
}
"""What people type, and the section of faq.md that answers it."""
SMALLEST_TEXT = 11
"""In pixels of the screen."""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that logs nothing."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as readers do; a broken link fails."""
    folder = tmp_path_factory.mktemp("site")
    command = ["make", "docs", f"SITE={folder}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site on loopback; the search needs that."""
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_each_page_has_one_heading_and_its_place_in_the_navigation(site: Path) -> None:
    pages = {page.name: page.read_text() for page in site.glob("*.html")}
    assert {*pages} >= {page.replace(".md", ".html") for page in reference.PAGES}
    headings = {name: len(re.findall(r"<h1\b", text)) for name, text in pages.items()}
    assert {*headings.values()} == {1}, headings
    navigation = pages["faq.html"].partition("md-sidebar--secondary")[0]
    titles = re.findall(r'class="md-ellipsis">\s*(\S[^<]*?)\s*<', navigation)
    assert titles.count("Security") == 1


def test_the_code_of_a_finding_leads_to_its_section(site: Path) -> None:
    assert '<a href="findings.html#lease-stale"><code>' in (site / "faq.html").read_text()
    assert 'id="lease-stale"' in (site / "findings.html").read_text()


def test_the_search_finds_the_answer_of_a_symptom(browser: Browser, address: str) -> None:
    page, found = browser.new_page(), {}
    for symptom in SYMPTOMS:
        page.goto(f"{address}/index.html?q={symptom.replace(' ', '+')}")
        first = page.locator(".md-search-result__item").first
        first.wait_for()
        links = first.locator("a").evaluate_all("all => all.map(each => each.href)")
        found[symptom] = {link.partition("#")[2] for link in links[:3] if "/faq.html" in link}
    page.close()
    assert {
        symptom for symptom, answer in SYMPTOMS.items() if answer not in found[symptom]
    } == set()


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("name", "shown"), [("index", "overview.svg"), ("code", "code.svg")])
def test_the_pictures_can_be_read(
    browser: Browser, address: str, name: str, shown: str, width: int, scheme: str
) -> None:
    context = browser.new_context(
        color_scheme=scheme,  # type: ignore[arg-type]
        viewport={"width": width, "height": 900},
    )
    page = context.new_page()
    page.goto(f"{address}/{name}.html")
    picture = page.locator(f'img[src="{shown}"]')
    scale = picture.evaluate("image => image.width / image.naturalWidth")
    sizes = re.findall(r"font: (?:bold )?(\d+)px", (ROOT / "docs" / shown).read_text())
    assert min(map(int, sizes)) * scale >= SMALLEST_TEXT
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    folder = ROOT / "build/screenshots/site"
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", animations="disabled")
    context.close()
