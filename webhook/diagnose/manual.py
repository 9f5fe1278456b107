"""Collect the codes of all rules, and write docs/findings.md: what each means, and what to do."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from itertools import groupby

import webhook.diagnose
from webhook.core.profiles.slips import did_you_mean
from webhook.diagnose import codes
from webhook.diagnose.finding import Code

_BY_HAND: Mapping[str, str] = {
    "addresses": "kubectl get pods -o yaml | grep fabric-injector.io/",
    "admission": "kubectl get events --field-selector type=Warning",
    "certificates": "fabric-injector certs show",
    "claims": "kubectl get resourceclaims,resourceclaimtemplates -A; kubectl get resourceslices",
    "clock": "date -u",
    "configuration": "kubectl get mutatingwebhookconfiguration zz-fabric-injector -o yaml",
    "containers": "kubectl describe pod POD; kubectl logs POD --previous",
    "controller": "kubectl -n fabric-injector logs deployment/fabric-injector-controller",
    "deployments": "kubectl -n fabric-injector describe deployments,pods",
    "devices": "kubectl describe nodes; kubectl get resourceslices",
    "lease": "kubectl -n fabric-injector get lease fabric-injector -o yaml",
    "members": "kubectl get pods -L fabric-injector.io/job,fabric-injector.io/rendezvous",
    "namespaces": "kubectl get namespaces -L fabric-injector.io/profile",
    "networks": "kubectl get network-attachment-definitions -A; kubectl get pod POD -o yaml",
    "profiles": "kubectl get fabricprofiles; kubectl describe fabricprofile NAME",
    "scheduling": "kubectl describe pod POD; kubectl get events",
    "wait": "kubectl logs POD -c fabric-injector-wait",
}
_HEAD = """# Findings

Each failure and warning of `check`, `explain` and `status` has a stable code.
`fabric-injector explain --code CODE` prints its section of this page.
`make reference` writes the page from the rules in webhook/diagnose.
"""


def all_codes() -> dict[str, Code]:
    """Return the codes of every module of webhook.diagnose, by name, topic by topic."""
    found: dict[str, Code] = {}
    for module in pkgutil.walk_packages(webhook.diagnose.__path__, "webhook.diagnose."):
        values = vars(import_module(module.name)).values()
        found |= {each.name: each for each in values if isinstance(each, Code)}
    for old in codes.Code:  # those that no rule defines yet
        if old.action:
            found.setdefault(str(old), Code(str(old), old.topic, old.means, old.action))
    return dict(sorted(found.items(), key=lambda item: (item[1].topic, item[0])))


def section(code: Code, level: str = "##") -> str:
    """Return the section of one code, in Markdown."""
    action = f"{code.action[:1].upper()}{code.action[1:]}"
    return f"{level} {code}\n\n{code.means}\n\n**What to do.** {action}.\n"


def manual() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for topic, of_topic in groupby(all_codes().values(), lambda code: code.topic):
        parts.append(f"## {topic}\n")
        if topic in _BY_HAND:
            parts.append(f"By hand: `{_BY_HAND[topic]}`\n")
        parts += [section(code, "###") for code in of_topic]
    return "\n".join(parts)


def find_code(written: str) -> tuple[Code | None, str]:
    """Return the code of this name; None where there is none, with the name that was meant, if any."""
    known, name = all_codes(), written.strip().lower().replace("_", "-")
    return known.get(name), did_you_mean(name, known)


if __name__ == "__main__":
    print(manual(), end="")  # noqa: T201  # the page is for standard output
