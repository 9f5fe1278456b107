"""Commands as a shell reads them: simple commands and their words, beside what a real shell makes of the same text."""

import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tables import read
from webhook.core.workloads.shell import (
    MOST_CHARACTERS,
    MOST_SIGNS,
    MOST_WORDS,
    Words,
    read_commands,
)

TABLES = read(__file__, "shell.yaml")


def commands_of(found: list[list[str]]) -> tuple[Words, ...]:
    return tuple(map(tuple, found))


ARGVS: dict[Words, tuple[Words, ...] | None] = {
    **{tuple(argv): commands_of(found) for argv, found in TABLES["argvs"]},
    ("sh", "-c", "a" * (MOST_CHARACTERS + 1)): None,
    ("a" * (MOST_CHARACTERS - 2), ""): (("a" * (MOST_CHARACTERS - 2), ""),),
    ("a" * (MOST_CHARACTERS - 2), "b"): None,
    ("sh", "-c", "a " * (MOST_WORDS - 1)): (("a",) * (MOST_WORDS - 1),),
    ("sh", "-c", "a " * MOST_WORDS): None,
    ("sh", "-c", "a" + ";" * MOST_SIGNS): (("a",),),
    ("sh", "-c", "a" + ";" * (MOST_SIGNS + 1)): None,
    ("sh", "-c", "a" + "''" * MOST_SIGNS): (("a",),),
    ("sh", "-c", "a <<X\n" + ";" * MOST_SIGNS + "\nX"): None,
    ("sh", "-c", "sh -c '" + ";" * MOST_SIGNS + "'"): None,
    ("sh", "-c", "sh -c a;" * (MOST_SIGNS // 9)): (("a",),) * (MOST_SIGNS // 9),
    ("sh", "-c", "sh -c a;" * (MOST_SIGNS // 9 + 1)): None,
}


@pytest.mark.parametrize("text", TABLES["texts"])
def test_splits_a_text_into_simple_commands(text: str) -> None:
    assert read_commands(("bash", "-c", text)) == commands_of(TABLES["texts"][text])


@pytest.mark.parametrize("text", TABLES["not_understood"])
def test_says_of_a_text_that_ends_too_early_that_it_is_not_understood(text: str) -> None:
    assert read_commands(("bash", "-c", text)) is None


@pytest.mark.parametrize("argv", ARGVS, ids=lambda argv: " ".join(argv)[:40])
def test_finds_the_text_that_a_shell_is_given(argv: Words) -> None:
    assert read_commands(argv) == ARGVS[argv]


def nested(depth: int) -> Words:
    argv: Words = ("torchrun", "t.py")
    for _ in range(depth):
        quoted = ("'" + word.replace("'", "'\\''") + "'" for word in argv)
        argv = ("sh", "-c", " ".join(quoted))
    return argv


@pytest.mark.parametrize("depth", range(7))
def test_shells_within_shells_are_read_to_a_depth(depth: int) -> None:
    assert read_commands(nested(depth)) == ((("torchrun", "t.py"),) if depth <= 4 else None)


HOSTILE = [
    piece * (MOST_CHARACTERS // len(piece) - 8)
    for piece in (*TABLES["repeated"], *TABLES["pieces"])
]


@given(st.lists(st.sampled_from([*TABLES["pieces"], "sh -c "])).map("".join) | st.text())
@settings(deadline=None)
def test_reads_any_text_without_fault_and_invents_nothing(text: str) -> None:
    commands = read_commands(("sh", "-c", text))
    assert sum(len(word) for words in commands or () for word in words) <= len("sh-c" + text)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:3]))
def test_reads_the_longest_texts_in_one_go(text: str) -> None:
    """Each character is looked at once or twice: a reader that went back over them would not end here."""
    commands = read_commands(("sh", "-c", text))
    assert sum(len(word) for words in commands or () for word in words) <= len("sh-c" + text)


WORD = st.lists(st.sampled_from(TABLES["parts"]), min_size=1, max_size=3).map("".join)
COMMAND = st.lists(WORD, max_size=4).map(lambda words: " ".join(["c", *words]))
BETWEEN = st.sampled_from(["; ", "\n", " && ", " | ", " &\n", " # $A ' c\n", ";\n\n"])
SHELL_TEXT = st.lists(st.tuples(COMMAND, BETWEEN), min_size=1, max_size=4).map(
    lambda pairs: "".join(part for pair in pairs for part in pair).rstrip(" |&;\n") + "\n"
)
PRELUDE = r"""
set -f
c() { printf '%s\0' "$@" $'\1' >&3; }
"""


def run_by_bash(text: str) -> list[Words]:
    """Return the arguments that command ``c`` is given, each time; the variables hold their own spelling."""
    reader, writer = os.pipe()
    try:
        script = PRELUDE + text + "\nwait\n"
        subprocess.run(
            ["bash", "-c", f"exec 3>&{writer}\n" + script],
            env={"A": "$A", "B": "${B}", "PATH": os.environ["PATH"]},
            pass_fds=[writer],
            check=True,
            stdin=subprocess.DEVNULL,
        )
    finally:
        os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        words = stream.read().decode().split("\0")[:-1]
    found: list[Words] = []
    command: list[str] = []
    for word in words:
        if word == "\1":
            found.append(tuple(command))
            command = []
        else:
            command.append(word)
    return found


@given(SHELL_TEXT)
@settings(deadline=None, max_examples=80)
def test_splits_as_bash_does(text: str) -> None:
    commands = read_commands(("bash", "-c", text))
    assert commands is not None
    assert all(words[0] == "c" for words in commands)
    mine = [tuple(word.replace("\0", "$") for word in words[1:]) for words in commands]
    assert sorted(mine) == sorted(run_by_bash(text))
