"""Job keys: the format is an interface between versions, so the values are pinned."""

import re

import pytest

from webhook.core.job_key import job_key

LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?\Z")


def test_format_is_pinned() -> None:
    assert (
        job_key("bert", "pytorchjob", "c80e117c-3086-4d7f-9128-285a4a336947", "", "bert-master-0")
        == "bert-4e2b1a474f"
    )
    assert job_key("train", "torchx", "train-x/uid", "0", "role 0 replica 0") == "train-6f2baaecab"
    assert job_key("_my job/ünï-", "job", "uid", "", "x-0") == "my-job-n-003d97b82c"


@pytest.mark.parametrize(
    "name", ["", "_", "a" * 300, "x_y.z", "ünï", "-a-", "\ud800", "a" * 51 + "-b"]
)
def test_is_a_label_value_whatever_the_name(name: str) -> None:
    assert LABEL_VALUE.match(job_key(name, "job", "uid", "", "x-0"))


@pytest.mark.parametrize("position", range(1, 5))
def test_differs_with_each_part_of_the_identity(position: int) -> None:
    parts = ["train", "torchx", "id", "0", "train-0"]
    other = parts.copy()
    other[position] += "x"
    assert job_key(*parts) != job_key(*other)


def test_parts_do_not_run_into_each_other() -> None:
    assert job_key("a", "s", "id", "1", "x") != job_key("a", "s", "id1", "", "x")


def test_a_name_keeps_its_letters_at_both_ends() -> None:
    assert job_key("-XaX.", "job", "uid", "", "x-0").startswith("XaX-")
