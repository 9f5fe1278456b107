"""The dry run on the page: from a manifest to what its pods become."""

import json

import pytest
import yaml
from playwright.sync_api import FilePayload, Page, expect

from tests.page.served import ServedPage
from tests.tables import table

from .actions import POD, TORCHX, ask, headline, judge, paste

BAD_NETWORK = TORCHX.replace(
    "sidecar.istio.io/inject: 'false'", "k8s.v1.cni.cncf.io/networks: default/rdma-net-ipma"
)


SAMPLES = {
    "TorchX job dist.ddp": "2 pods, all injected",
    "PyTorchJob": "4 pods, all injected",
    "JobSet": "4 pods, all injected",
    "A Deployment that does not train": "2 pods, all left as it is",
    "A pod that could never start": "2 pods, all denied",
}


def test_shows_every_sample_at_one_press_and_starts_over(page: Page) -> None:
    manifest, namespace = (
        page.get_by_label(label, exact=True) for label in ("Manifest", "Namespace")
    )
    for sample, expected in SAMPLES.items():
        expect(page.get_by_role("heading", name="Or start from a sample")).to_be_visible()
        page.get_by_role("button", name=sample).click()
        expect(page.locator("#results h2")).to_have_text(expected)
        if sample == "TorchX job dist.ddp":
            assert "torchrun" in manifest.input_value()
            assert namespace.input_value() == "research"  # as in the README
        page.get_by_role("button", name="Start over").click()
        expect(manifest).to_be_focused()
        expect(page.locator("#results .card")).to_have_count(0)


def test_shows_what_the_server_answers(page: Page, served: ServedPage) -> None:
    cards = judge(page)
    document = served.plain("POST", "/dry-run?namespace=research", TORCHX.encode()).json()
    master = document["pods"][0]
    rows = cards.first.locator(".decisions tbody tr")
    shown = [row.locator("th, td").all_inner_texts()[:3] for row in rows.all()]
    told = [[each["step"], each["outcome"], each["message"]] for each in master["decisions"]]
    assert shown == sorted(told, key=lambda row: row[1] == "skipped")
    assert "rank 0 of job" in cards.first.locator(".facts").inner_text()
    cards.first.get_by_role("tab", name="YAML").click()
    assert yaml.safe_load(
        cards.first.get_by_role("tabpanel").inner_text().replace("\u200b", "")
    ) == yaml.safe_load(master["yaml"])
    cards.first.get_by_role("tab", name="JSON Patch").click()
    assert json.loads(cards.first.get_by_role("tabpanel").inner_text()) == master["patch"]


def test_shows_why_a_pod_is_denied(page: Page) -> None:
    card = judge(page, BAD_NETWORK).first
    assert headline(page) == "2 pods, all denied"
    expect(card.locator(".callout.denied")).to_contain_text(
        "rdma-net-ipma, which does not exist; create"
    )
    expect(card.get_by_role("tab")).to_have_text(["YAML"])


def test_says_what_to_do_where_a_namespace_has_no_label(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    judge(page, namespace="default")
    step = page.get_by_label("Next step")
    expect(step).to_contain_text("PROFILE is one of: eight-rails, hostdev, rdma-shared")
    step.get_by_role("button", name="Copy the command").click()
    expect(page.locator("#said")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "kubectl label namespace default fabric-injector.io/profile=PROFILE"
    step.get_by_role("button", name="Run as namespace research").click()
    expect(page.locator("#results h2")).to_have_text("2 pods, all injected")
    expect(page.get_by_label("Namespace", exact=True)).to_have_value("research")
    expect(step).to_have_count(0)


def test_offers_a_profile_where_the_manifest_names_its_namespace(page: Page) -> None:
    judge(page, TORCHX.replace("metadata:\n", "metadata:\n  namespace: default\n", 1))
    page.get_by_role("button", name="Run with profile hostdev").click()
    expect(page.locator("#results h2")).to_have_text("2 pods, all injected")
    expect(page.get_by_label("Profile", exact=True)).to_have_value("hostdev")


def test_says_what_a_namespace_that_observes_would_do(page: Page) -> None:
    card = judge(page, namespace="trial").first
    assert headline(page) == "2 pods, all observed only"
    expect(card.locator(".callout.observed")).to_contain_text("nothing is changed or denied")
    expect(page.get_by_label("Next step")).to_contain_text(
        "kubectl label namespace trial fabric-injector.io/mode-"
    )
    expect(page.get_by_label("Next step").get_by_role("button")).to_have_count(1)
    expect(card.locator(".decisions").first).to_contain_text("default/rdma-net-ipam")


def test_tells_what_a_namespace_gives(page: Page) -> None:
    options = page.locator("#known-namespaces option")
    assert [option.get_attribute("value") for option in options.all()] == [
        *("hostdev", "rails", "research", "trial", "default"),
    ]
    page.get_by_label("Namespace", exact=True).fill("trial")
    expect(page.locator("#namespace-hint")).to_have_text(
        "its label says profile rdma-shared; it only observes"
    )
    page.get_by_label("Namespace", exact=True).fill("default")
    expect(page.locator("#namespace-hint")).to_have_text("carries no profile label")
    page.get_by_label("Namespace", exact=True).fill("nowhere")
    expect(page.locator("#namespace-hint")).to_have_text("not known to this server")


@table(
    "text, message, selected",
    {
        "mapping": ("kind: Pod\nmetadata:\n  name: a: b\n", "line 3, column 10", ": b"),
        "end of text": ("kind: Pod\nspec: {\n", "line 3, column 1", ""),
        "tab": ("kind: Pod\n\tspec: 1", "the line holds a tab", "\tspec: 1"),
    },
)
def test_shows_where_it_is_no_yaml(page: Page, text: str, message: str, selected: str) -> None:
    ask(page, text)
    expect(page.get_by_role("alert")).to_contain_text(message)
    area = page.get_by_label("Manifest", exact=True)
    expect(area).to_have_attribute("aria-invalid", "true")
    expect(area).to_be_focused()
    assert (
        area.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)")
        == selected
    )
    expect(page.locator(".gutter .fault")).to_have_count(1)
    area.press("End")
    area.press_sequentially(" ")
    expect(page.get_by_role("alert")).to_have_text("")


def test_counts_the_pods_of_a_workload(page: Page) -> None:
    container = "{name: pytorch, image: i, command: [torchrun, train.py]}"
    role = f"{{replicas: 3, template: {{spec: {{containers: [{container}]}}}}}}"
    text = (
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n"
        "metadata: {name: bert, namespace: research}\n"
        f"spec: {{pytorchReplicaSpecs: {{Master: {role.replace('3', '1')}, Worker: {role}}}}}\n"
    )
    judge(page, text)
    assert headline(page) == "4 pods, all injected"
    expect(page.locator("#results .chip", has_text="pods like it")).to_have_count(1)
    expect(page.get_by_label("Workloads")).to_contain_text(
        "PyTorchJob/bert 4 pods: 1 rank 0, 3 workers; meets and trains on net1"
    )
    kinds = page.get_by_label("Workloads").locator(".kind")
    expect(kinds).to_have_text(["bert-master-0, rank 0", "bert-worker-0 and 2 more, worker"])
    gains = page.get_by_label("Workloads").locator("dl").first.locator("div")
    assert [" ".join(each.inner_text().split()) for each in gains.all()][:2] == [
        "networks annotation k8s.v1.cni.cncf.io/networks gets default/rdma-net-ipam (net1)",
        "devices container pytorch asks for rdma/rdma_shared_device_a: 1",
    ]
    expect(page.get_by_label("Warnings for workloads")).to_have_count(0)


def test_names_objects_that_cannot_be_read(page: Page) -> None:
    spec = "{pytorchReplicaSpecs: {Worker: {replicas: $NODES}}}"
    broken = f"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec: {spec}\n"
    config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
    judge(page, f"{POD}---\n{config_map}---\n{broken}\n")
    expect(page.get_by_label("Objects without pods")).to_contain_text("ConfigMap/x")
    assert headline(page) == "1 pod, left as it is; 1 object cannot be read"
    expect(page.get_by_label("Objects that cannot be read")).to_contain_text(
        "Worker.replicas: expected an integer"
    )
    expect(page.locator("#said")).to_contain_text("1 object cannot be read")
    judge(page, broken)
    assert headline(page) == "1 object cannot be read"


def test_sifts_pods_by_verdict(page: Page) -> None:
    judge(page, f"{TORCHX}\n---\n{BAD_NETWORK}\n---\n{POD}")
    assert headline(page) == "5 pods: 2 denied, 2 injected, 1 left as it is"
    expect(
        page.locator("#results .card", has=page.get_by_role("button", expanded=True))
    ).to_contain_text("rdma-net-ipma")
    page.get_by_role("button", name="Denied 2").click()
    expect(page.locator("#results .chip")).to_have_text(["Denied", "Denied"])
    page.get_by_role("button", name="All 5").click()
    expect(page.locator("#results .card")).to_have_count(5)


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16"])
def test_reads_files_as_windows_writes_them(page: Page, coding: str) -> None:
    text = POD.replace("image: i", "image: '\u00e9'")
    choose(page, "job.yaml", text.replace("\n", "\r\n").encode(coding))
    expect(page.get_by_label("Manifest", exact=True)).to_have_value(text)


def test_reads_no_file_that_is_no_text(page: Page) -> None:
    paste(page, POD)
    choose(page, "logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\xff")
    expect(page.get_by_role("alert")).to_have_text(
        "logo.png is no text in UTF-8: nothing was read."
    )
    expect(page.get_by_label("Manifest", exact=True)).to_have_value(POD)


def choose(page: Page, name: str, content: bytes) -> None:
    page.get_by_label("Choose files…").set_input_files(
        FilePayload(name=name, mimeType="text/plain", buffer=content)
    )


def test_reads_a_file_that_is_dropped_anywhere(page: Page) -> None:
    page.evaluate(
        """text => {
            const dropped = new DataTransfer();
            dropped.items.add(new File([text], "job.yaml"));
            const how = { dataTransfer: dropped, bubbles: true, cancelable: true };
            const event = (name) => new DragEvent(name, how);
            document.body.dispatchEvent(event("dragover"));
            document.body.dispatchEvent(event("drop"));
        }""",
        POD,
    )
    expect(page.get_by_label("Manifest", exact=True)).to_have_value(POD)


def test_keeps_nothing_that_was_typed(page: Page, url: str) -> None:
    judge(page)
    page.reload()
    expect(page.get_by_label("Manifest", exact=True)).to_have_value("")
    expect(page.get_by_label("Namespace", exact=True)).to_have_value("")
    assert page.url == f"{url}/"


def test_marks_an_answer_to_an_older_text(page: Page) -> None:
    judge(page)
    paste(page, POD)
    expect(page.get_by_text("This answers what you asked before")).to_be_visible()
