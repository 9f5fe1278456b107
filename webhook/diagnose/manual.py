"""Write docs/findings.md from the registry of codes: what each finding means, how to see it, what to do."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.diagnose.codes import SHORTAGES, Code

_SEEN: Mapping[str, str] = {
    "clock": "date -u",
    "lease": "kubectl -n fabric-injector get lease fabric-injector -o yaml",
    "controller": "kubectl -n fabric-injector logs deployment/fabric-injector-controller",
    "profiles": "kubectl get fabricprofiles; kubectl describe fabricprofile NAME",
    "certificates": "fabric-injector certs show",
    "configuration": "kubectl get mutatingwebhookconfiguration zz-fabric-injector -o yaml",
    "deployments": "kubectl -n fabric-injector describe deployments,pods",
    "devices": "kubectl describe nodes; kubectl get resourceslices",
    "scheduling": "kubectl describe pod POD; kubectl get events",
    "networks": "kubectl get network-attachment-definitions -A; kubectl get pod POD -o yaml",
    "claims": "kubectl get resourceclaims,resourceclaimtemplates -A; kubectl get resourceslices",
    "namespaces": "kubectl get namespaces -L fabric-injector.io/profile",
    "members": "kubectl get pods -L fabric-injector.io/job,fabric-injector.io/rendezvous",
    "admission": "kubectl get events --field-selector type=Warning",
    "addresses": "kubectl get pods -o yaml | grep fabric-injector.io/",
    "wait": "kubectl logs POD -c fabric-injector-wait",
    "containers": "kubectl describe pod POD; kubectl logs POD --previous",
}


_CHECK, _EXPLAIN, _LOGS = "check", "explain", "explain --logs"
_OF_JOBS = (
    "addresses",
    "admission",
    "containers",
    "controller",
    "drift",
    "events",
    "injection",
    "interfaces",
    "members",
    "memlock",
    "scheduling",
    "shared-memory",
    "volumes",
    "wait",
)
_BY_TOPIC: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_OF_JOBS, (_EXPLAIN,)),
    "lease": (_CHECK, _EXPLAIN),
    "transport": (_LOGS,),
    "unread": (_CHECK, _EXPLAIN),
}
"""Which commands tell the findings of a topic; those of others are told by ``check`` alone."""
_BY_CODE: Mapping[Code, tuple[str, ...]] = {
    **dict.fromkeys((Code.LEASE_HELD, Code.LEASE_AHEAD, Code.ALL_INJECTED), (_CHECK,)),
    **dict.fromkeys(
        (
            Code.DEVICES_LOST,
            Code.NETWORK_PENDING,
            Code.NETWORK_FAILED,
            Code.ADDRESSES_EXHAUSTED,
            Code.NETWORK_NOT_ATTACHED,
            Code.NETWORK_STATUS_MISSING,
            Code.NETWORK_STATUS_UNREADABLE,
            Code.ADDRESS_UNUSABLE,
            Code.ADDRESS_MISSING,
            Code.CLAIM_MISSING,
            Code.CLAIM_UNALLOCATED,
            Code.CLAIM_ADDRESS_MISSING,
        ),
        (_EXPLAIN,),
    ),
    **dict.fromkeys(
        (
            *SHORTAGES.values(),
            Code.CONFIGURATION_MISSING,
            Code.DRIVER_SILENT,
            Code.NETWORK_MISSING,
            Code.CLAIM_TEMPLATE_MISSING,
            Code.NAMESPACE_OBSERVES,
            Code.WEBHOOK_UNREACHABLE,
            Code.WEBHOOK_MISSED,
            Code.WEBHOOK_OUT_OF_REACH,
        ),
        (_CHECK, _EXPLAIN),
    ),
}
"""Of those that are not told by the commands of their topic."""


def commands(code: Code) -> tuple[str, ...]:
    """Return the commands that tell it, ``("check", "explain --logs")``."""
    return _BY_CODE.get(code) or _BY_TOPIC.get(code.topic, (_CHECK,))


def section(code: Code) -> str:
    """Return the section of one code, in Markdown."""
    lines = [f"## {code}", "", code.means, ""]
    told = " or ".join(f"`fabric-injector {command}`" for command in commands(code))
    seen = f'{told}; with `-o json`, a finding with `"code": "{code}"`, topic `{code.topic}`.'
    if code.topic in _SEEN:
        seen += f" By hand: `{_SEEN[code.topic]}`."
    action = code.action or "Nothing, or what the finding itself says."
    return "\n".join(
        [
            *lines,
            f"**How to see it.** {seen}",
            "",
            f"**What to do.** {action[:1].upper()}{action[1:]}",
            "",
        ]
    )


def manual() -> str:
    """Return the whole page."""
    head = (
        "# Findings\n\nEach finding of `check`, `explain` and `status` has a stable code, which stands under what they print.\n"
        "`status` tells the first of what `explain` finds of a job.\n"
        "`fabric-injector check --explain CODE` prints its section of this page, which\n"
        "`python -m webhook.diagnose.manual > docs/findings.md` writes from webhook/diagnose/codes.py.\n"
    )
    return "\n".join([head, *map(section, sorted(Code, key=str))])


def find_code(written: str) -> Code | None:
    """Return the code of this name; None for one that is not there."""
    return next(
        (code for code in Code if str(code) == written.strip().lower().replace("_", "-")), None
    )


if __name__ == "__main__":
    print(manual(), end="")  # noqa: T201  # the page is for standard output
