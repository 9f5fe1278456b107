"""Print what hostile pods cost beside reading them: ``python -m tests.bench.hostile``.

Each place of a training pod is repeated or made long until the review holds about so many bytes
(``--bytes``; one above 512 KiB is not read). *answer*: processor time of ``answer_review``. *read*:
that of ``orjson.loads`` of the same body. *ordinary*: the answer to the same pod without the hostile
part. Each is the least of several.

*ratio* is the answer to *read*; *excess* the answer less *ordinary*, to *read*: at most 3. A shape
that exceeds it is measured again, up to three times. Where one of a body above 64 KiB exceeds it
then, the exit status is 1.

Of the shapes a sample is measured, always the same for one ``--seed`` (``--shapes``; 0: all), half
of it places made long by a text, half of it places repeated.
"""

import gc
import re
import resource
import sys
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeAlias

import orjson

from tests import hostile
from tests.bench.place import parser
from tests.hostile import large
from webhook.core.errors import WebhookError
from webhook.core.review import answer_review
from webhook.serve.run import YOUNG_OBJECTS

BYTES = (100_000, 250_000, 500_000)
ROUNDS = 20
SMALL = 64 << 10
"""A larger body has to keep the bound."""
LIMITS = (1, 2, 3)
BOUND = 3.0
AGAIN = 3
"""How often a shape that exceeds the bound is measured again."""
Shape: TypeAlias = tuple[str, large.Build]


class Figures(NamedTuple):
    """Hold what is told of a shape; seconds."""

    name: str
    length: int
    answer: float
    read: float
    ordinary: float
    outcome: str

    @property
    def ratio(self) -> float:
        """Return the whole cost to that of reading."""
        return self.answer / self.read

    @property
    def excess(self) -> float:
        """Return what it costs beyond an ordinary pod to what reading costs."""
        return (self.answer - self.ordinary) / self.read

    def __str__(self) -> str:
        times = (self.answer, self.read, self.ordinary)
        milliseconds = " ".join([f"{1000 * each:8.2f}" for each in times])
        told = f"{self.length:8d}  {self.outcome}, {self.name}"
        return f"{self.excess:6.1f}x {self.ratio:6.1f}x {milliseconds} {told}"


def main() -> None:
    """Measure, and print a line for each shape."""
    made = parser(__doc__, shapes=(200, "how many to measure, 0: all"), seed=(15, "of the sample"))
    made.add_argument("--only", default="", help="regular expression of the shapes to measure")
    made.add_argument("--bytes", type=int, nargs="+", default=BYTES, help="sizes of a review")
    options = made.parse_args()
    shapes = [each for each in large.shapes(large.rich()) if re.search(options.only, each[0])]
    if options.shapes:
        shapes = sample(shapes, options.shapes, options.seed)
    ordinary, answer = hostile.review(large.rich()), answering()
    exceeding = 0
    for size in options.bytes:
        found = measure_shapes(answer, shapes, ordinary, size)
        if size > SMALL:
            exceeding += sum(each.excess > BOUND for each in found)
    if exceeding:
        sys.exit(
            f"{exceeding} shapes cost more than an ordinary pod and {BOUND:g} times what reading them costs"
        )


def sample(shapes: Sequence[Shape], count: int, seed: int) -> list[Shape]:
    """Draw so many shapes, half of them places that a text makes long, as far as there are so many."""
    random = Random(seed)
    repeated = [each for each in shapes if each[0].split(" ", 1)[1] not in large.TEXTS]
    drawn = random.sample(repeated, min(count // 2, len(repeated)))
    long = [each for each in shapes if each[0].split(" ", 1)[1] in large.TEXTS]
    return drawn + random.sample(long, min(count - len(drawn), len(long)))


def measure_shapes(
    answer: Callable[[bytes], str], shapes: Sequence[Shape], ordinary: bytes, size: int
) -> list[Figures]:
    """Return the figures of each shape; print them, and how many are above what."""
    heads = " ".join([f"{each:>8}" for each in ("answer", "read", "ordinary", "bytes")])
    print(f"{'excess':>7} {'ratio':>7} {heads}  outcome, shape; times in milliseconds")
    found = []
    for name, build in shapes:
        found.append(measure(name, sized(build, size), ordinary, answer))
        print(found[-1], flush=True)
    excess, ratio = (_counted([getattr(one, key) for one in found]) for key in ("excess", "ratio"))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{size} bytes, {len(found)} shapes: excess {excess}; ratio {ratio}; "
        f"most memory so far {most:.0f} MB",
        flush=True,
    )
    return found


def _counted(found: Sequence[float]) -> str:
    counts = [f"{sum(each > limit for each in found)} above {limit}" for limit in LIMITS]
    return f"{', '.join(counts)}, worst {max(found):.2f}"


def measure(name: str, body: bytes, ordinary: bytes, answer: Callable[[bytes], str]) -> Figures:
    """Return the figures of a body."""
    times: dict[str, list[float]] = {"answer": [], "read": [], "ordinary": []}
    works: dict[str, Callable[[], object]] = {
        "answer": lambda: answer(body),
        "read": lambda: orjson.loads(body),
        "ordinary": lambda: answer(ordinary),
    }
    for _ in range(1 + AGAIN):
        for _ in range(ROUNDS):
            for key, work in works.items():
                started = time.process_time()
                work()
                times[key].append(time.process_time() - started)
        least = {key: min(found) for key, found in times.items()}
        figures = Figures(name, len(body), **least, outcome=answer(body))
        if figures.excess <= BOUND:
            break
    return figures


def answering() -> Callable[[bytes], str]:
    """Return what answers reviews, and gives what came out."""
    world = hostile.world("full")
    gc.collect()
    gc.freeze()  # as the server does
    gc.set_threshold(YOUNG_OBJECTS)

    def answer(body: bytes) -> str:
        try:
            verdict = answer_review(body, hostile.PROFILES, world).verdict
        except WebhookError as error:
            return type(error).__name__
        return verdict.reason if verdict else "allowed"

    return answer


def sized(build: large.Build, size: int) -> bytes:
    """Return the review of a pod of about *size* bytes."""
    one, many = (len(hostile.review(build(times))) for times in (1000, 3000))
    return hostile.review(build(max(1, int((size - one) / max((many - one) / 2000, 0.01)) + 1000)))


if __name__ == "__main__":
    main()
