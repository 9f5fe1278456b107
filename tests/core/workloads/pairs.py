"""Jobs whose templates differ, and jobs on one node, as pairs.yaml holds them.

Run as a program, it prints the drawn jobs as manifests: `python -m tests.core.workloads.pairs`.
"""

import itertools
import random

from tests.core.manifests import manifest
from tests.tables import read
from webhook.core.model import Object

TABLES = read(__file__, "pairs.yaml")


def of_roles(row: Object, *run: Object) -> Object:
    """Return the row whose roles run these, in their order."""
    roles = zip(row["roles"].items(), run, strict=True)
    return {**row, "roles": {role: {**said, **one} for (role, said), one in roles}}


def draw(number: int = 80, seed: int = 37) -> dict[str, Object]:
    """Return jobs whose two templates differ, drawn from all systems and all pairs of texts."""
    several, texts = TABLES["several"], TABLES["texts"]
    table = list(itertools.product(several, itertools.permutations(texts, 2)))
    drawn = random.Random(seed).sample(table, number)  # not for secrets
    return {
        f"{system}: {first} beside {second}": of_roles(several[system], texts[first], texts[second])
        for system, (first, second) in drawn
    }


BY_TEXT: dict[str, Object] = {
    name: of_roles(row, TABLES["texts"]["torchrun"], TABLES["texts"]["a script"])
    for name, row in TABLES["by_text"].items()
}
ONE_AND_TWO: dict[str, list[Object]] = TABLES["one_and_two"] | {
    f"{name}: {texts[0]}": [of_roles(row, {"run": text}) for text in texts]
    for name, row in TABLES["of_one_template"].items()
    for texts in TABLES["texts_of_one_and_two"]
}

if __name__ == "__main__":
    print("---\n".join(map(manifest, draw().values())))
