"""A file that is read at each look, without a thread."""

from pathlib import Path

from webhook.core.errors import InputError, Problem, ProfilesError, WebhookError
from webhook.world.followed_file import FollowedFile


class Looks:
    """A file that holds a number, 0 where it is absent; what was parsed and reported."""

    def __init__(self, path: Path) -> None:
        self.parsed: list[bytes] = []
        self.told: list[WebhookError] = []
        self.has_memory = True
        self.file = FollowedFile(
            path, parse=self.parse, absent=0, at_first=-1, on_error=self.told.append
        )

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


def test_what_is_broken_is_told_once_and_the_last_good_value_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    looks = Looks(path)
    assert looks.file.look() == -1
    path.write_text("1")
    assert looks.file.look() == 1
    path.write_text("x")
    assert [looks.file.look() for _ in range(3)] == [1, 1, 1]
    assert looks.parsed == [b"x", b"1", b"x"]
    assert len(looks.told) == 2
    path.unlink()
    path.mkdir()
    assert [looks.file.look() for _ in range(3)] == [1, 1, 1]
    assert len(looks.told) == 3
    assert "cannot be read" in str(looks.told[-1])


def test_what_failed_for_want_of_memory_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("1")
    looks = Looks(path)
    looks.has_memory = False
    assert [looks.file.look() for _ in range(3)] == [-1, -1, -1]
    assert [str(error) for error in looks.told] == ["no memory"]
    looks.has_memory = True
    assert looks.file.look() == 1
    assert looks.file.error() is None
