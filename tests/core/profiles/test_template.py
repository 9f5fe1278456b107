"""Lists of a profile: what distinguishes their items."""

from webhook.core.profiles.template import keyed


def test_a_mount_is_known_by_the_path_that_the_kubelet_sees() -> None:
    assert list(keyed("volumeMounts", [{"name": "a", "mountPath": "//data/"}])) == ["/data"]


def test_a_toleration_is_known_by_all_its_fields() -> None:
    plain, no_execute = {"key": "a"}, {"key": "a", "effect": "NoExecute"}
    found = keyed("tolerations", [plain, no_execute, {"key": "a", "operator": "Equal"}])
    assert list(found) == [("a", "Equal", "", ""), ("a", "Equal", "", "NoExecute")]
