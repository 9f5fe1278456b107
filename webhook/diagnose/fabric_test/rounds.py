"""Put nodes together in pairs, in rounds in which no node is asked twice."""

from __future__ import annotations

from collections.abc import Sequence

Round = list[tuple[str, str]]


def pair_rounds(nodes: Sequence[str], most: int) -> list[Round]:
    """Return rounds of at most n/2 pairs, till each node has met each other one, or there are *most* pairs.

    The circle method of round-robin tournaments: the first place stays, the others move on by one; with an odd number, one rests.
    """
    places = list(dict.fromkeys(nodes))
    if len(places) % 2:
        places.append("")
    rounds = []
    left = most
    half = len(places) // 2
    for _ in range(len(places) - 1):
        pairs = [
            (one, other) for one, other in zip(places[:half], places[: half - 1 : -1], strict=True) if one and other
        ]
        if not pairs[:left]:
            break
        rounds.append(pairs[:left])
        left -= len(rounds[-1])
        places[1:] = [places[-1], *places[1:-1]]
    return rounds
