"""A file on a real file system: symlink swaps, renames, rewrites; followed, or read at a look."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mount import Mount
from tests.profiles import as_text
from webhook.core.errors import InputError, Problem, ProfilesError
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
    """A file of profiles that is looked at, and what it has reported."""

    def __init__(self, path: Path, parse: Callable[[bytes], Profiles] = parse_profiles) -> None:
        self.reloads: list[Profiles] = []
        self.file = FollowedFile(path, parse=parse, on_read=self.reloads.append)

    def names(self) -> set[str]:
        return set(self.file.look().profiles)


@pytest.fixture
def mount(tmp_path: Path) -> ProfilesMount:
    return ProfilesMount(tmp_path, ONE)


@pytest.fixture
def watch(mount: ProfilesMount) -> Watch:
    return Watch(mount.path)


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was logged of faults, without the name of the file."""
    found = [each for each in caplog.messages if "not reloaded" in each]
    return [each.partition(" stays: ")[2].partition(": ")[2] for each in found]


def test_follows_a_configmap_swap(
    mount: ProfilesMount, watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    mount.swap(TWO)
    assert watch.names() == {"one", "two"}
    assert watch.reloads[1:] == [watch.file.current()]
    mount.swap(ONE)
    assert watch.names() == {"one"}
    assert errors(caplog) == []


def test_follows_a_rewrite_in_place_that_keeps_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "plain.yaml"
    path.write_text(ONE)
    times = path.stat()
    watch = Watch(path)
    path.write_text(ONE.replace("one", "two"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert watch.names() == {"two"}


@pytest.mark.parametrize("again", [ONE, TWO], ids=["as before", "another"])
def test_keeps_good_profiles_and_tells_a_fault_once(
    mount: ProfilesMount, watch: Watch, again: str, caplog: pytest.LogCaptureFixture
) -> None:
    good = watch.file.current()
    for _ in range(2):
        mount.swap(BROKEN)
        assert watch.file.look() is good
        assert watch.file.error() is not None
    mount.swap(again)
    assert watch.file.look() == parse_profiles(again)
    assert watch.file.error() is None
    assert errors(caplog) == ["line 6: FabricProfile one: spec.pods: Invalid enum value 'none'"]


def test_keeps_serving_while_the_file_is_gone(mount: ProfilesMount, watch: Watch) -> None:
    mount.path.unlink()
    assert watch.names() == {"one"}
    told = watch.file.error()
    assert isinstance(told, InputError)
    assert str(told) == f"profiles file {mount.path}: cannot be read: No such file or directory"
    mount.path.symlink_to("..data/profiles.yaml")
    watch.file.look()
    assert watch.file.error() is None


def test_outlives_a_fault_of_its_own(mount: ProfilesMount) -> None:
    divisor = [1]

    def parse(content: bytes) -> Profiles:
        assert 1 // divisor[0]
        return parse_profiles(content)

    watch = Watch(mount.path, parse)
    divisor[0] = 0
    mount.swap(TWO)
    assert watch.names() == {"one"}
    assert "ZeroDivisionError" in str(watch.file.error())
    divisor[0] = 1
    assert watch.names() == {"one", "two"}


@pytest.mark.parametrize("name", ["absent.yaml", "."], ids=["absent", "directory"])
def test_refuses_to_start_on_a_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"^profiles file .+: cannot be read: "):
        FollowedFile(tmp_path / name, parse=parse_profiles)


class Looks:
    """A file that holds a number, 0 where it is absent; what was parsed and reported."""

    def __init__(self, path: Path) -> None:
        self.parsed: list[bytes] = []
        self.has_memory = True
        self.file = FollowedFile(path, parse=self.parse, absent=0, at_first=-1)

    def parse(self, content: bytes) -> int:
        self.parsed.append(content)
        if not self.has_memory:
            raise InputError("no memory")
        if not content.isdigit():
            raise ProfilesError((Problem("", 1, "is not a number"),))
        return int(content)


def test_is_parsed_where_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("1")
    looks = Looks(path)
    assert [looks.file.look() for _ in range(3)] == [1, 1, 1]
    path.write_text("2")
    assert [looks.file.look() for _ in range(3)] == [2, 2, 2]
    assert looks.parsed == [b"1", b"2"]
    path.unlink()
    assert looks.file.look() == 0


def test_what_failed_for_want_of_memory_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "file"
    path.write_text("1")
    looks = Looks(path)
    looks.has_memory = False
    assert [looks.file.look() for _ in range(3)] == [-1, -1, -1]
    assert errors(caplog) == ["no memory"]
    looks.has_memory = True
    assert looks.file.look() == 1
    assert looks.file.error() is None
