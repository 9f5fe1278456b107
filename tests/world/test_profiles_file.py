"""The profiles file on a real file system: symlink swaps, renames, rewrites in place."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.mount import Mount
from tests.profiles import as_text
from tests.waiting import wait_until
from webhook.core.errors import InputError, ProfilesError, WebhookError
from webhook.core.profiles import Profiles, parse_profiles
from webhook.world.followed_file import FollowedFile

ONE = as_text("one: {}")
TWO = as_text("{one: {}, two: {}}")
BROKEN = as_text("one: {pods: none}")


class ProfilesMount(Mount):
    """One that holds ``profiles.yaml``."""

    def __init__(self, root: Path, text: str) -> None:
        super().__init__(root, {"profiles.yaml": text.encode()})
        self.path = root / "profiles.yaml"

    def swap(self, text: str) -> None:
        """Replace the content."""
        self.publish({"profiles.yaml": text.encode()})


class Watch:
    """A file of profiles that is followed, and what it has reported."""

    def __init__(self, path: Path, parse: Callable[[bytes], Profiles] = parse_profiles) -> None:
        self.reloads: list[Profiles] = []
        self.errors: list[WebhookError] = []
        self.file = FollowedFile(
            path,
            parse=parse,
            on_reload=self.reloads.append,
            on_error=self.errors.append,
            interval_seconds=0.02,
        )
        self.file.start()

    def names(self) -> set[str]:
        return set(self.file.current().profiles)


@pytest.fixture
def mount(tmp_path: Path) -> ProfilesMount:
    return ProfilesMount(tmp_path, ONE)


@pytest.fixture
def watch(mount: ProfilesMount) -> Iterator[Watch]:
    watch = Watch(mount.path)
    yield watch
    watch.file.stop()


def test_follows_a_configmap_swap(mount: ProfilesMount, watch: Watch) -> None:
    mount.swap(TWO)
    wait_until(lambda: watch.names() == {"one", "two"}, "profiles one and two")
    wait_until(lambda: watch.reloads == [watch.file.current()], "the reload to be told")
    mount.swap(ONE)
    wait_until(lambda: watch.names() == {"one"}, "profile one alone")
    assert watch.errors == []


def test_follows_a_rename(tmp_path: Path, watch: Watch) -> None:
    replacement = tmp_path / "new.yaml"
    replacement.write_text(TWO)
    replacement.rename(tmp_path / "profiles.yaml")
    wait_until(lambda: watch.names() == {"one", "two"}, "profiles one and two")


def test_follows_a_rewrite_in_place_that_keeps_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "plain.yaml"
    path.write_text(ONE)
    times = path.stat()
    watch = Watch(path)
    try:
        path.write_text(ONE.replace("one", "two"))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        wait_until(lambda: watch.names() == {"two"}, "profile two alone")
    finally:
        watch.file.stop()


@pytest.mark.parametrize("again", [ONE, TWO], ids=["as before", "another"])
def test_keeps_good_profiles_and_tells_a_fault_once(
    mount: ProfilesMount, watch: Watch, again: str
) -> None:
    good = watch.file.current()
    mount.swap(BROKEN)
    wait_until(lambda: watch.file.error() is not None, "the fault to be seen")
    assert watch.file.current() is good
    mount.swap(BROKEN)
    mount.swap(again)
    wait_until(lambda: watch.file.error() is None, "the fault to be gone")
    assert watch.file.current() == parse_profiles(again)
    assert [str(error) for error in watch.errors] == [
        'line 6: FabricProfile one: spec.pods: found "none"; write one of training, all'
    ]


def test_keeps_serving_while_the_file_is_gone(mount: ProfilesMount, watch: Watch) -> None:
    mount.path.unlink()
    wait_until(lambda: len(watch.errors) == 1, "the missing file to be seen")
    assert isinstance(watch.errors[0], InputError)
    assert (
        str(watch.errors[0])
        == f"profiles file {mount.path}: cannot be read: No such file or directory"
    )
    assert watch.names() == {"one"}
    mount.path.symlink_to("..data/profiles.yaml")
    wait_until(lambda: watch.file.error() is None, "the fault to be gone")


def test_outlives_a_fault_of_its_own(mount: ProfilesMount) -> None:
    divisor = [1]

    def parse(content: bytes) -> Profiles:
        assert 1 // divisor[0]
        return parse_profiles(content)

    watch = Watch(mount.path, parse)
    try:
        divisor[0] = 0
        mount.swap(TWO)
        wait_until(lambda: "ZeroDivisionError" in str(watch.file.error()), "the fault of its own")
        divisor[0] = 1
        mount.swap(TWO + "# again\n")
        wait_until(lambda: watch.names() == {"one", "two"}, "profiles one and two")
    finally:
        watch.file.stop()


def test_no_longer_follows_once_stopped(mount: ProfilesMount, watch: Watch) -> None:
    watch.file.stop()
    mount.swap(TWO)
    assert watch.names() == {"one"}
    assert not any("profiles" in thread.name for thread in threading.enumerate())


def test_refuses_to_start_on_a_broken_file(tmp_path: Path) -> None:
    path = tmp_path / "profiles.yaml"
    path.write_text(BROKEN)
    with pytest.raises(ProfilesError) as raised:
        FollowedFile(path, parse=parse_profiles)
    assert [problem.line for problem in raised.value.problems] == [6]


@pytest.mark.parametrize("name", ["absent.yaml", "."], ids=["absent", "directory"])
def test_refuses_to_start_on_a_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"^profiles file .+: cannot be read: "):
        FollowedFile(tmp_path / name, parse=parse_profiles)
