"""Write docs/findings.md from the registry of codes: what each finding means, how to see it, what to do."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.diagnose.codes import Code

_SEEN: Mapping[str, str] = {
    "clock": "date -u",
    "lease": "kubectl -n fabric-injector get lease fabric-injector -o yaml",
    "controller": "kubectl -n fabric-injector logs deployment/fabric-injector-controller",
    "profiles": "kubectl get fabricprofiles; kubectl describe fabricprofile NAME",
    "certificates": "fabric-injector certs show",
    "configuration": "kubectl get mutatingwebhookconfiguration fabric-injector -o yaml",
    "validation": "kubectl get validatingwebhookconfiguration fabric-injector -o yaml",
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


def section(code: Code) -> str:
    """Return the section of one code, in Markdown."""
    lines = [f"## {code}", "", code.means, ""]
    seen = f'`fabric-injector check -o json`, or `explain`: a finding with `"code": "{code}"`, topic `{code.topic}`.'
    if code.topic in _SEEN:
        seen += f" By hand: `{_SEEN[code.topic]}`."
    action = code.action or "Nothing, or what the finding itself says."
    return "\n".join(
        [*lines, f"**How to see it.** {seen}", "", f"**What to do.** {action[:1].upper()}{action[1:]}", ""]
    )


def manual() -> str:
    """Return the whole page."""
    head = (
        "# Findings\n\nEach finding of `check`, `explain` and `status` has a stable code.\n"
        "`fabric-injector check --explain CODE` prints its section of this page, which\n"
        "`python -m webhook.diagnose.manual > docs/findings.md` writes from webhook/diagnose/codes.py.\n"
    )
    return "\n".join([head, *map(section, sorted(Code, key=str))])


def find_code(written: str) -> Code | None:
    """Return the code of this name; None for one that is not there."""
    return next((code for code in Code if str(code) == written.strip().lower().replace("_", "-")), None)


if __name__ == "__main__":
    print(manual(), end="")  # noqa: T201  # the page is for standard output
