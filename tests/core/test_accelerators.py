"""Accelerators: which resources and claims stand for one, and how many a container asks for."""

from tests.tables import table
from webhook.core.accelerators import count_accelerators, find_accelerator, may_have_accelerator
from webhook.core.model import Object


@table(
    "limits, accelerator, number",
    {
        "whole ones": ({"nvidia.com/gpu": "8"}, "nvidia.com/gpu", 8),
        "none of the first kind": ({"a.b/gpu": "0", "nvidia.com/gpu": "8"}, "nvidia.com/gpu", 8),
        "none, as a number": ({"nvidia.com/gpu": 0}, None, None),
        "none of any": ({"nvidia.com/gpu": "0"}, None, None),
        "half of one": ({"nvidia.com/gpu": "1500m"}, "nvidia.com/gpu", None),
        "fewer than none": ({"nvidia.com/gpu": "-1"}, "nvidia.com/gpu", None),
    },
)
def test_counts_what_is_asked_for(
    limits: Object, accelerator: str | None, number: int | None
) -> None:
    container = {"resources": {"limits": limits}}
    assert (find_accelerator(container), count_accelerators(container)) == (accelerator, number)


@table(
    "claims, claimed, may",
    {
        "of the container": ([{"name": "card"}], ["card"], True),
        "of no container": ([{"name": "card"}], [], False),
        "of another name": ([{"name": "card"}], ["other"], False),
        "a channel by its name": ([{"name": "imex"}], ["imex"], False),
        "a channel by its template": (
            [{"name": "c", "resourceClaimTemplateName": "my-imex-channel"}],
            ["c"],
            False,
        ),
    },
)
def test_a_claim_may_be_of_an_accelerator(
    claims: list[Object], claimed: list[str], may: bool
) -> None:
    container = {"resources": {"claims": [{"name": name} for name in claimed]}}
    pod = {"spec": {"resourceClaims": claims, "containers": [container]}}
    assert may_have_accelerator(pod) is may
