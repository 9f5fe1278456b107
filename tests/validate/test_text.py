"""What `profiles validate` finds in a text of several documents."""

from webhook.validate.text import check_text

HEAD = "apiVersion: fabric-injector.io/v1alpha1\nkind: FabricProfile\n"


def told(text: str) -> list[str]:
    found = check_text(text)
    return [f"{each.line}: {each.path}: {each.message}" for each in found.problems]


def test_a_broken_document_hides_no_other() -> None:
    text = f"""a: [
---
{HEAD}metadata: 3
spec:
  netwroks: []
---
{HEAD}metadata: {{name: b}}
spec:
  sharedMemory:
    sizeLimit: big
"""
    assert told(text) == [
        "2: document: not valid YAML: did not find expected node content, while parsing a flow "
        "node",
        "5: metadata: found a number; write an object, {name: value}, or one name: value a line",
        "7: spec.netwroks: is not a field; did you mean networks?",
        "14: spec.sharedMemory.sizeLimit: write a size such as 16Gi, or none",
    ]


def test_finds_profiles_in_lists_and_leaves_out_other_kinds() -> None:
    text = f"""apiVersion: v1
kind: List
items:
- {HEAD.replace(chr(10), chr(10) + "  ")}metadata: {{name: a}}
  spec: {{pods: trainings}}
- {{apiVersion: v1, kind: Service}}
"""
    assert told(text) == [
        '7: spec.pods: found "trainings"; write one of training, '
        "accelerators, all; did you mean training?"
    ]
    found = check_text(text)
    assert ([each.name for each in found.profiles], found.others) == (["a"], 1)


def test_names_a_kind_or_version_that_is_none_of_ours() -> None:
    group = "apiVersion: fabric-injector.io/v1alpha1"
    assert told(f"{group}\nkind: FabricProfiles") == [
        '2: kind: found "FabricProfiles"; write one of FabricProfile, Configuration; '
        "did you mean FabricProfile?"
    ]
    old = HEAD.replace("v1alpha1", "v1") + "metadata: {name: a}\nspec: {a: 1}"
    version, field = told(old)
    assert version == (
        '1: apiVersion: found "fabric-injector.io/v1"; write fabric-injector.io/v1alpha1'
    )
    assert field.startswith("4: spec.a: is not a field; the fields here are pods, ")
    (elsewhere,) = told(f"{HEAD}metadata: {{name: a}}\nspec: {{env: []}}")
    assert elsewhere == "4: spec.env: is not a field; write it as container.env"
    (nothing,) = told(f"{HEAD}metadata: null\nspec: {{}}")
    assert nothing.startswith("3: metadata.name: is missing")
    large = told(f"{HEAD}metadata: {{name: a}}\nspec: {{sharedMemory: {{sizeLimit: {10**30}}}}}")
    assert len(large) == 1
    assert "is greater than the maximum of" in large[0]
    odd = told("apiVersion: fabric-injector.io/v1alpha1\nkind: {a: b}")
    assert odd[0].startswith("2: kind: found ")
    assert told("[1]") == ["1: document: found a list; write an object with apiVersion and kind"]


def test_reads_as_the_webhook_does_what_the_definition_takes() -> None:
    text = f"""{HEAD}metadata: {{name: a}}
spec:
  sharedMemory: {{sizeLimit: 1e400}}
---
apiVersion: config.fabric-injector.io/v1alpha1
kind: Configuration
multus: {{later: 1}}
"""
    size, settings = told(text)
    assert size.startswith('5: spec.sharedMemory.sizeLimit: found "1e400"; write a whole number')
    assert settings.startswith("9: multus.later: is not a field")


def test_compares_profiles_of_one_file() -> None:
    text = "---\n".join(
        f"{HEAD}metadata: {{name: {name}}}\nspec: {{podLabels: {{a: b}}}}\n" for name in "aba"
    )
    assert told(text) == [
        "6: spec.podLabels: profile a has the same; no pod could choose one of the two",
        "11: metadata.name: profile a stands at line 1 already; remove one of the two",
    ]


def test_a_profile_gives_no_pod_anothers_pod_labels() -> None:
    text = f"""{HEAD}metadata: {{name: a}}
spec: {{podLabels: {{a: b}}}}
---
{HEAD}metadata: {{name: b}}
spec: {{pod: {{metadata: {{labels: {{a: b}}}}}}}}
"""
    (clash,) = told(text)
    assert clash.startswith("6: spec.pod.metadata.labels[a]: profile a has it in podLabels")


def test_null_is_absent_and_json_is_read() -> None:
    text = f"{HEAD}metadata: {{name: a}}\nspec: {{pods: null, rendezvous: null}}"
    assert told(text) == []
    (item,) = told(text.replace("{pods: null", "{networks: [null]"))
    assert item.startswith("4: spec.networks[0]: found nothing; write an object")
    assert told('{"apiVersion": "fabric-injector.io/v1alpha1", "kind": "FabricProfile"}') == [
        "1: spec: is missing; write spec: and its value",
        "1: metadata.name: is missing; write name: and its value",
    ]


def test_names_fields_of_metadata_that_do_not_exist() -> None:
    text = HEAD + "metadata: {name: a, labls: {}}\nspec: {pods: trainings}"
    assert [each.partition(": is")[0].partition(": found")[0] for each in told(text)] == [
        "3: metadata.labls",
        "4: spec.pods",
    ]
