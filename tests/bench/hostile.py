"""Print what hostile pods cost beside reading them: ``python -m tests.bench.hostile``.

Each place of a training pod is repeated or made long until the review holds about so many bytes
(``--bytes``; one above 512 KiB is not read). *answer*: processor time of ``answer_review``. *read*:
that of ``orjson.loads`` of the same body. *ordinary*: the answer to the same pod without the hostile
part. Each is the least of several.

*ratio* is the answer to *read*; *excess* the answer less *ordinary*, to *read*: at most 3. A shape
that exceeds it is measured again, up to three times. Where one of a body above 64 KiB exceeds it
then, the exit status is 1.

Of the shapes a sample is measured, always the same for one ``--seed`` (``--shapes``; 0: all), half
of it places made long by a text, half of it places repeated. ``--worst`` lists the worst only.
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
ROUNDS = 5
SMALL = 64 << 10
"""A larger body has to keep the bound."""
SHORT = 500_000
SHORT_ROUNDS = 20
"""Of a body below SHORT: its times are so small that the best of three is chance."""
Shape: TypeAlias = tuple[str, large.Build]
LIMITS = (1, 2, 3)
BOUND = 3.0
AGAIN = 3
"""How often a shape that exceeds the bound is measured again."""


class Cost(NamedTuple):
    """Hold what one body took: seconds of processor time, and megabytes of the process."""

    seconds: float
    megabytes: float
    outcome: str


class Figures(NamedTuple):
    """Hold what is told of a shape; seconds."""

    name: str
    length: int
    answer: float
    read: float
    ordinary: float
    megabytes: float
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
        told = f"{self.megabytes:7.0f} {self.length:8d}  {self.outcome}, {self.name}"
        return f"{self.excess:6.1f}x {self.ratio:6.1f}x {milliseconds} {told}"


def main() -> None:
    """Measure, and print a line for each shape."""
    made = parser(
        __doc__,
        shapes=(200, "how many to measure, 0: all"),
        seed=(15, "of the sample"),
        worst=(0, "print so many of the worst alone"),
    )
    made.add_argument(
        "--pod", default="pods/kubeflow-pytorchjob-1.yaml", help="fixture to start from"
    )
    made.add_argument("--profile", default="full", choices=("full", "plain"))
    made.add_argument("--only", default="", help="regular expression of the shapes to measure")
    made.add_argument("--bytes", type=int, nargs="+", default=BYTES, help="sizes of a review")
    options = made.parse_args()
    shapes = [
        each for each in large.shapes(large.rich(options.pod)) if re.search(options.only, each[0])
    ]
    if options.shapes:
        shapes = sample(shapes, options.shapes, options.seed)
    ordinary = hostile.review(large.rich(options.pod))
    exceeding = 0
    for size in options.bytes:
        found = measure_shapes(answering(options.profile), shapes, ordinary, size, options.worst)
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
    answer: Callable[[bytes], Cost], shapes: Sequence[Shape], ordinary: bytes, size: int, worst: int
) -> list[Figures]:
    """Return the figures of each shape; print them, or the *worst*, and how many are above what."""
    heads = " ".join([f"{each:>8}" for each in ("answer", "read", "ordinary")])
    print(
        f"{'excess':>7} {'ratio':>7} {heads} {'MB':>7} {'bytes':>8}  outcome, shape; times in milliseconds"
    )
    found = []
    for name, build in shapes:
        found.append(measure(name, sized(build, size), ordinary, answer))
        if not worst:
            print(found[-1], flush=True)
    found.sort(key=lambda each: each.excess, reverse=True)
    for each in found[:worst]:
        print(each)
    print(
        f"{size} bytes, {len(found)} shapes: excess {_counted([each.excess for each in found])}; "
        f"ratio {_counted([each.ratio for each in found])}; most memory {max(each.megabytes for each in found):.0f} MB",
        flush=True,
    )
    return found


def _counted(found: Sequence[float]) -> str:
    counts = [f"{sum(each > limit for each in found)} above {limit}" for limit in LIMITS]
    return f"{', '.join(counts)}, worst {max(found):.2f}"


def measure(name: str, body: bytes, ordinary: bytes, answer: Callable[[bytes], Cost]) -> Figures:
    """Return the figures of a body."""
    costs, reads, ordinaries = [], [], []
    for _ in range(1 + AGAIN):
        for _ in range(ROUNDS if len(body) > SHORT else SHORT_ROUNDS):
            costs.append(answer(body))
            ordinaries.append(answer(ordinary))
            started = time.process_time()
            orjson.loads(body)
            reads.append(time.process_time() - started)
        figures = Figures(
            name,
            len(body),
            _least(costs),
            min(reads),
            _least(ordinaries),
            max(each.megabytes for each in costs),
            costs[0].outcome,
        )
        if figures.excess <= BOUND:
            break
    return figures


def _least(costs: Sequence[Cost]) -> float:
    return min(each.seconds for each in costs)


def answering(profile: str) -> Callable[[bytes], Cost]:
    """Return what answers reviews."""
    profiles, world = hostile.PROFILES, hostile.world(profile)
    gc.collect()
    gc.freeze()  # as the server does
    gc.set_threshold(YOUNG_OBJECTS)

    def answer(body: bytes) -> Cost:
        started = time.process_time()
        try:
            verdict = answer_review(body, profiles, world).verdict
            outcome = verdict.reason if verdict else "allowed"
        except WebhookError as error:
            outcome = type(error).__name__
        return Cost(
            time.process_time() - started,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            outcome,
        )

    return answer


def sized(build: large.Build, size: int) -> bytes:
    """Return the review of a pod of about *size* bytes."""
    one, many = (len(hostile.review(build(times))) for times in (1000, 3000))
    return hostile.review(build(max(1, int((size - one) / max((many - one) / 2000, 0.01)) + 1000)))


if __name__ == "__main__":
    main()
