"""What a member lacks, of what was decided about it."""

from tests import pods
from webhook.core import names
from webhook.core.reconcile import Fate, Member, read_member
from webhook.core.reconcile.jobs import publication


def member(**annotations: str) -> Member:
    found = read_member(pods.member_pod("w", annotations=annotations))
    assert found is not None
    return found


def test_a_wait_ends_for_a_cause_only_while_an_address_is_missing() -> None:
    waits = member(**{names.WAITS_FOR: "master-addr"})
    ended = publication(waits, "", Fate("why"))
    assert ended is not None
    assert ended.annotations == {names.WAIT_ENDS: "why"}
    told = member(**{names.WAIT_ENDS: "why"})
    mended = publication(told, "10.0.0.1", Fate("why"))
    assert mended is not None
    assert mended.annotations[names.WAIT_ENDS] == ""


def test_the_longest_name_of_rank_0_is_kept() -> None:
    kept = [member(**{names.MASTER_NAME: "n" * length}).master_name for length in (255, 256)]
    assert kept == ["n" * 255, ""]
