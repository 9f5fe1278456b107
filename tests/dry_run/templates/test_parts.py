"""What a controller adds to the pods of its template is in the pods that are shown: parts.yaml."""

from __future__ import annotations

from tests.dry_run.templates.cases import each_row, find, lacking, rows, view
from webhook.core.model import Object
from webhook.dry_run.templates import find_templates, parse_documents

PARTS = rows("parts", "beside", "pods", "ignored", "says")


@each_row(PARTS)
def test_adds_what_the_controller_adds(row: Object) -> None:
    found = find(*row.get("beside", ()), row["manifest"])
    shown = [view(each) for each in found.pods]
    assert lacking(row["pods"], shown) == []
    pairs = zip(row["pods"], shown, strict=True)
    assert [part for part, whole in pairs if part.keys() - whole.keys()] == []
    assert [each.source for each in found.ignored] == row.get("ignored", [])
    assert row.get("says", "") in " ".join(each.message for each in found.ignored)
    assert not any(each.broken for each in found.ignored)


def test_separates_what_yaml_aliases_share() -> None:
    text = """
    kind: StatefulSet
    apiVersion: apps/v1
    metadata: {name: db}
    spec:
      template:
        spec:
          containers:
          - {name: a, image: i, env: &env [{name: A, value: b}]}
          - {name: b, image: i, env: *env}
    """
    [found] = find_templates(parse_documents(text)).pods
    first, second = found.pod["spec"]["containers"]
    assert first["env"] == second["env"]
    assert first["env"] is not second["env"]
