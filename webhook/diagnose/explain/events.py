"""Tell the Events that the controller wrote of the pods, and what kept the job's owner from creating pods."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from webhook.core.model import Object
from webhook.core.reconcile.complaint import NO_ADDRESS
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.observation import Observation, Stage, common_form
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading
from webhook.diagnose.explain.scheduling import event_time
from webhook.diagnose.refusal import api_messages, read_refusal

_OURS = "fabric-injector"
_LACKS_IPC_LOCK_ALONE = re.compile(
    r'(violates PodSecurity "[^"]*": non-default capabilities \([^()]* must not include "IPC_LOCK" in [\w.]+\))$'
)
_REFUSED: tuple[tuple[re.Pattern[str], Code, str | None], ...] = (
    (
        _LACKS_IPC_LOCK_ALONE,
        Code.POD_SECURITY_REFUSED,
        "label the namespace privileged, or set podSecurity: skip or ipcLock: false in the profile",
    ),
    (re.compile(r"(violates PodSecurity .*)", re.DOTALL), Code.POD_SECURITY_REFUSED, None),
    (
        re.compile(r"(failed quota: .*)", re.DOTALL),
        Code.QUOTA_REFUSED,
        "give the job's containers what is named, or the namespace a LimitRange with defaults",
    ),
    (re.compile(r"(exceeded quota: .*)", re.DOTALL), Code.QUOTA_REFUSED, None),
    (
        re.compile(
            r"forbidden: (\[?(?:m(?:ax|in)imum \S+ usage|\S+ max limit to request ratio) per .*)",
            re.DOTALL,
        ),
        Code.POD_REFUSED,
        "change the namespace's LimitRange, or what the job's containers ask for, injected devices included",
    ),
    (
        re.compile(r'admission (webhook "[^"]*" denied the request: .*)', re.DOTALL),
        Code.POD_REFUSED,
        None,
    ),
    (
        re.compile(r"(?:forbidden|denied|invalid): (.*)", re.DOTALL | re.IGNORECASE),
        Code.POD_REFUSED,
        None,
    ),
)
_POD_NAME = re.compile(r'\bpods? "?[a-z0-9][a-z0-9.-]*[0-9*-]"?')

_CUT = "…"
_ALSO = ". Also: "
"""Between the faults of one denial; see webhook.core.review."""
_Refused = tuple[str, Code, str, str | None]
"""The owner, and what is told of it: code, message, action."""


def observe(
    reading: Reading, parts: Sequence[Part], unattached: Collection[str] = ()
) -> Iterator[Observation]:
    """Tell our own Events of live pods. *unattached*: those of which it is told why they have no network."""
    live = {part.name: part for part in parts if part.is_live}
    for event in reading.events or ():
        subject, source = event.get("involvedObject") or {}, event.get("source") or {}
        if _OURS not in (event.get("reportingComponent"), source.get("component")):
            continue
        part = live.get(str(subject.get("name")))
        if part is None or subject.get("uid") not in (None, part.pod["metadata"].get("uid")):
            continue
        if (
            part.member is not None
            and not part.member.waits
            and event.get("reason") != "UnexpectedInterface"
        ):
            continue  # it has all that it lacked; Events stay for an hour
        if part.name in unattached and event.get("reason") == NO_ADDRESS:
            continue
        message = common_form(str(event.get("message") or ""), part.name)

        said = f"Event {event.get('reason')}"
        yield Observation(Stage.EVENT, "warn", Code.EVENT, said, pods=(part.name,), detail=message)


def observe_refusals(reading: Reading, parts: Iterable[Part]) -> Iterator[Observation]:
    """Tell what kept an owner from creating pods, unless pods came after it."""
    newest = max(
        (str(part.pod["metadata"].get("creationTimestamp") or "") for part in parts), default=""
    )
    found: dict[_Refused, tuple[str, int]] = {}
    for event in reading.events or ():
        subject = event.get("involvedObject") or {}
        if (
            subject.get("kind") == "Pod"
            or event.get("type") == "Normal"
            or event_time(event) < newest
        ):
            continue
        is_creation = str(event.get("reason") or "").startswith("FailedCreate")
        told = (
            _told(text, is_creation=is_creation)
            for text in api_messages(str(event.get("message") or ""))
        )
        for one in {each for each in told if each is not None}:
            key = (f"{subject.get('kind')} {subject.get('name')}", *one)
            last, times = found.get(key, ("", 0))
            found[key] = (max(last, event_time(event)), times + int(event.get("count") or 1))
    newest_first = sorted(
        _joined(found).items(), key=lambda item: item[1][0], reverse=True
    )  # Events stay for an hour
    for (owner, code, message, action), (last, times) in newest_first:
        if code is Code.POD_DENIED:
            message, action = _split_advice(message)
        often = f" ({times} times, last at {last[:19]})" if times > 1 else ""
        yield Observation(
            Stage.ADMISSION, "fail", code, f"a pod of it {message}{often}", action, subject=owner
        )


def _split_advice(message: str) -> tuple[str, str | None]:
    """Return what our webhook found and what it says to do, which ends its message; several faults stay as they are told."""
    found, _, advice = message.rpartition("; ")
    if not found or _ALSO in message or message.endswith(_CUT):
        return message, None
    return found, f"{advice}; the owner then tries again, or restart the job"


def _joined(found: Mapping[_Refused, tuple[str, int]]) -> Mapping[_Refused, tuple[str, int]]:
    """Count a message that an Event's end has cut off as the longer one that begins with it, if there is one."""
    joined: dict[_Refused, tuple[str, int]] = {}
    after: _Refused | None = None
    same: _Refused | None = None
    for key in sorted(
        found, key=lambda key: (key[0], str(key[1]), key[2].removesuffix(_CUT)), reverse=True
    ):
        begins = key[2].removesuffix(_CUT)
        if (
            after is None
            or begins == key[2]
            or after[:2] != key[:2]
            or not after[2].startswith(begins)
        ):
            same = key
        after = key
        last, times = joined.get(same or key, ("", 0))
        joined[same or key] = (max(last, found[key][0]), times + found[key][1])
    return joined


def _told(text: str, *, is_creation: bool) -> tuple[Code, str, str | None] | None:
    """Say what an API server's message tells; of one that nothing is known of, what it is, where it is of a *creation*."""
    told = _refusal(text)
    if told is None and is_creation:
        message = common_form(text.removeprefix("Error creating: "), "", limit=600)
        return Code.POD_REFUSED, f"could not be created: {message}", None
    return told


def _refusal(text: str) -> tuple[Code, str, str | None] | None:
    told = read_refusal(text)
    if told is not None and _OURS in told.webhook and told.called:
        return Code.POD_DENIED, f"was refused: {_said(told.message)}", None
    if told is not None and _OURS in told.webhook:
        message = f"cannot be created, because the webhook does not answer: {_said(told.message)}"
        return (
            Code.WEBHOOK_UNREACHABLE,
            message,
            "see fabric-injector check, and the webhook's pods",
        )
    if told is not None and not told.called:
        said = _said(f'"{told.webhook}": {told.message}')
        message = f"cannot be created, because another program's webhook does not answer: {said}"
        return Code.OTHER_WEBHOOK_UNREACHABLE, message, None
    for pattern, code, action in _REFUSED:
        if match := pattern.search(text):
            return code, f"was refused: {_said(match[1])}", action
    return None


def _said(text: str) -> str:
    return common_form(_POD_NAME.sub("pod", text).removeprefix("pod: "), "", limit=600)


def concerns(event: Object, owner: str, owners: Iterable[str]) -> bool:
    """Tell whether an Event is of the job's owner or of what that made, which other jobs' names may only look like.

    A JobSet's Jobs and a LeaderWorkerSet's StatefulSets end in a number, a Kueue Workload in five characters after its kind and the
    name, a Volcano PodGroup in the Job's uid.
    """
    name = str((event.get("involvedObject") or {}).get("name") or "")
    if name in owners or not owner:
        return name in owners
    made = rf"{re.escape(owner)}(?:-[a-z0-9-]+)?-\d+|[a-z]+-{re.escape(owner)}-[0-9a-z]{{5}}|{re.escape(owner)}-[0-9a-f-]{{36}}"
    return re.fullmatch(made, name) is not None
