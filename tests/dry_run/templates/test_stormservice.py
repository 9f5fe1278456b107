"""The pods of a StormService, and the variables that it gives them."""

from __future__ import annotations

from tests.dry_run.templates.kinds import container, env, find, storm_service, template


def test_wraps_what_the_user_set_after_the_variables_of_stormservice() -> None:
    own = [
        {"name": "POD_GROUP_SIZE", "value": "9"},
        {"name": "HEAD", "value": "$(PODSET_NAME)-0.$(STORM_SERVICE_NAME)"},
    ]
    made = storm_service(stateful=True, podGroupSize=2, template=template(container("p", env=own)))
    first, second = (each.pod for each in find(made).pods)
    assert [entry["name"] for entry in second["spec"]["containers"][0]["env"]] == [
        "PODSET_NAME",
        "POD_GROUP_INDEX",
        "POD_GROUP_SIZE",
        "STORM_SERVICE_NAME",
        "ROLESET_NAME",
        "ROLESET_INDEX",
        "ROLE_NAME",
        "ROLE_TEMPLATE_HASH",
        "ROLE_REPLICA_INDEX",
        "HEAD",
    ]
    assert env(second, "POD_GROUP_SIZE") == "2"
    assert env(second, "PODSET_NAME") == "llm-roleset-xxxxx-p-xxxxx-0"
    assert (
        first["metadata"]["name"] == first["spec"]["hostname"] == f"{env(first, 'PODSET_NAME')}-0"
    )
    assert second["spec"]["subdomain"] == "llm"


def test_a_pod_without_an_index_has_no_name_of_its_own() -> None:
    [first, _] = (each.pod for each in find(storm_service(replicas=2)).pods)
    assert env(first, "ROLE_REPLICA_INDEX") is None
    assert "hostname" not in first["spec"]
    assert "stormservice.orchestration.aibrix.ai/podset-name" not in first["metadata"]["labels"]
