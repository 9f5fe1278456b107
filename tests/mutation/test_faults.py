"""`make faults` puts each fault where its text stands once, and takes what a test says of it for found."""

from pathlib import Path

import pytest

from tests.conftest import TIERS
from tests.mutation.faults import Fault, read_faults, run_tests

FAULT = Fault("One and one are two", "sum.py", "+", "-", ["test_sum.py"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 + 1 + 1", "2 times in sum.py"),
        ("1", "0 times in sum.py"),
        (None, "sum.py, which is gone"),
    ],
)
def test_a_text_that_is_not_there_once_is_no_place_for_a_fault(
    tmp_path: Path, text: str | None, said: str
) -> None:
    if text is not None:
        (tmp_path / "sum.py").write_text(text)
    with pytest.raises(ValueError, match=said):
        FAULT.put_into(tmp_path)


def test_says_which_test_finds_a_fault(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = core\n")
    (tmp_path / "sum.py").write_text("TWO = 1 + 1\n")
    test = "import pytest\nfrom sum import TWO\n\n@pytest.mark.core\ndef test_two():\n    assert TWO == 2\n"
    (tmp_path / "tests/test_sum.py").write_text(test)
    before = FAULT.put_into(tmp_path)
    assert run_tests(tmp_path, FAULT.tests, "core") == (1, "tests/test_sum.py::test_two")
    assert before == "TWO = 1 + 1\n"


def test_each_fault_breaks_something_of_its_own() -> None:
    faults = read_faults()
    assert {fault.tier for fault in faults} <= {"core", *TIERS}
    assert (
        len({(fault.file, fault.old, fault.new) for fault in faults})
        == len({fault.breaks for fault in faults})
        == len(faults)
    )
