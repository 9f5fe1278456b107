"""The pods of a JobSet, and their names."""

from __future__ import annotations

from tests.dry_run.templates.kinds import find, jobset, names


def test_leaves_a_jobsets_pods_without_names_where_it_says_so() -> None:
    manifest = jobset(("w", 2, 1))
    manifest["spec"]["network"] = {"enableDNSHostnames": False}
    manifest["spec"]["replicatedJobs"][0]["template"]["spec"]["completionMode"] = "NonIndexed"
    found = find(manifest)
    assert names(found) == ["js-w-0-*", "js-w-1-*"]
    assert all("subdomain" not in each.pod["spec"] for each in found.pods)
