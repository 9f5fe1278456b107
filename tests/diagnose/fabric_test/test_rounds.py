"""Pairs of nodes in rounds."""

from __future__ import annotations

from itertools import combinations

import pytest

from webhook.diagnose.fabric_test.rounds import pair_rounds


@pytest.mark.parametrize("number", range(10))
def test_each_meets_each_other_once_and_nobody_twice_in_a_round(number: int) -> None:
    nodes = [f"n{index}" for index in range(number)]
    rounds = pair_rounds(nodes, 200)
    met = [frozenset(pair) for pairs in rounds for pair in pairs]
    assert len(met) == len(set(met))
    assert set(met) == {frozenset(pair) for pair in combinations(nodes, 2)}
    for pairs in rounds:
        busy = [node for pair in pairs for node in pair]
        assert len(busy) == len(set(busy))
        assert len(pairs) == number // 2


def test_no_more_pairs_than_are_asked_for() -> None:
    rounds = pair_rounds([f"n{index}" for index in range(40)], 50)
    assert [len(pairs) for pairs in rounds] == [20, 20, 10]
    assert pair_rounds(["a", "a"], 9) == []
