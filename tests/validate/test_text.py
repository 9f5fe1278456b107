"""What `profiles validate` finds in a text of several documents: the rows of texts.yaml."""

from typing import Any

from tests.tables import read, table
from webhook.validate.text import check_text

HEAD = "apiVersion: fabric-injector.io/v1alpha1\nkind: FabricProfile"


@table("row", read(__file__, "texts.yaml"))
def test_finds_in_a_text(row: dict[str, Any]) -> None:
    found = check_text(row["text"].replace("HEAD", HEAD))
    said = [f"{each.line}: {each.path}: {each.message}" for each in found.problems]
    begun = [
        line[: len(wanted) - 1] + "…" if wanted.endswith("…") else line
        for line, wanted in zip(said, row["says"], strict=True)
    ]
    assert begun == row["says"]
    if "profiles" in row:
        assert [each.name for each in found.profiles] == row["profiles"]
        assert found.others == row["others"]
