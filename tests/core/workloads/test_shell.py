"""Commands as a shell reads them: simple commands and their words, beside what a real shell makes of the same text."""

import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.core.workloads.shell import (
    MOST_CHARACTERS,
    MOST_SIGNS,
    MOST_WORDS,
    Words,
    read_commands,
)

TEXTS: dict[str, tuple[Words, ...]] = {
    "torchrun t.py": (("torchrun", "t.py"),),
    "a; b && c || d | e & f\ng": (("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",)),
    "(cd /src && torchrun t.py)": (("cd", "/src"), ("torchrun", "t.py")),
    "torchrun \\\n  --nnodes=2 \\\n  t.py": (("torchrun", "--nnodes=2", "t.py"),),
    "a # torchrun --nnodes=1\nb": (("a",), ("b",)),
    "a b#c '#d'": (("a", "b#c", "#d"),),
    "a 'b c'\"d e\"f\\ g": (("a", "b cd ef g"),),
    'a "x \\"y\\" \\$Z $W"': (("a", 'x "y" \0Z $W'),),
    "a '$X' $X ${X:-y z} $(b; c) `d e`": (("a", "\0X", "$X", "${X:-y z}", "$(b; c)", "`d e`"),),
    "a $(b (c) d) e": (("a", "$(b (c) d)", "e"),),
    "a $(b ')' c) d": (("a", "$(b ')' c)", "d"),),
    'a "$(b "c d")" e': (("a", '$(b "c d")', "e"),),
    "A=1 B=$A exec torchrun t.py": (("A=1", "B=$A", "exec", "torchrun", "t.py"),),
    "a > log 2>&1 < in": (("a", ">", "log", "2", ">", "1", "<", "in"),),
    "if a; then b; fi": (("if", "a"), ("then", "b"), ("fi",)),
    'sh -c "torchrun t.py; b"': (("torchrun", "t.py"), ("b",)),
    "srun bash -c 'torchrun --master_addr=$M t.py'": (
        ("srun",),
        ("torchrun", "--master_addr=$M", "t.py"),
    ),
    "cat > f <<EOF\nit's\nEOF\ntorchrun t.py": (
        ("cat", ">", "f", "<<", "EOF"),
        ("it's\n",),
        ("torchrun", "t.py"),
    ),
    "cat <<-'E F'\n\ta $X\n\tE F\nb": (("cat", "<<", "E F"), ("a", "$X"), ("b",)),
    'bash <<"END" | c\na; b\nEND': (("bash", "<<", "END"), ("c",), ("a",), ("b",)),
    "a <<\\X <<Y; b\nit's\nX\n2\nY\nc": (
        ("a", "<<", "X", "<<", "Y"),
        ("b",),
        ("it's\n",),
        ("2",),
        ("c",),
    ),
    "a <<X\nb\nXX\n": (("a", "<<", "X"), ("b",), ("XX",)),
    "a <<X": (("a", "<<", "X"),),
    "a <<<it b\nc": (("a", "<<<", "it", "b"), ("c",)),
    "a <<X\nb <<Y\nc\nX\nd": (("a", "<<", "X"), ("b", "<", "<", "Y"), ("c",), ("d",)),
    "": (),
    "# nothing": (),
}
"""Texts behind ``bash -c``. ``\\0`` stands for a ``$`` that the shell leaves as it is."""
NOT_UNDERSTOOD = ["a 'b", 'a "b', "a $(b", "a `b", "a ${b", 'a "$(b"', "bash -c 'sh -c \"c'"]
ARGVS: dict[Words, tuple[Words, ...] | None] = {
    ("torchrun", "a b", "$X"): (("torchrun", "a b", "$X"),),
    (): ((),),
    ("bash", "-lc", "a; b"): (("a",), ("b",)),
    ("/bin/bash", "-c", "--", "a; b"): (("a",), ("b",)),
    ("bash", "-o", "pipefail", "-ec", "a"): (("a",),),
    ("bash", "--norc", "-c", "a"): (("a",),),
    ("tini", "--", "sh", "-c", "a"): (("tini", "--"), ("a",)),
    ("sh", "-c", "a $0", "b"): (("b",), ("a", "$0")),
    ("bash", "run.sh", "-c", "a"): (("bash", "run.sh", "-c", "a"),),
    ("busybox", "sh", "-c", "a"): (("busybox",), ("a",)),
    ("bash", "-c"): (("bash", "-c"),),
    ("python", "-c", "import os; os"): (("python", "-c", "import os; os"),),
    ("sh", "-c", "a" * (MOST_CHARACTERS + 1)): None,
    ("a" * (MOST_CHARACTERS - 2), ""): (("a" * (MOST_CHARACTERS - 2), ""),),
    ("a" * (MOST_CHARACTERS - 2), "b"): None,
    ("sh", "-c", "a " * (MOST_WORDS - 1)): (("a",) * (MOST_WORDS - 1),),
    ("sh", "-c", "a " * MOST_WORDS): None,
    ("sh", "-c", "a" + ";" * MOST_SIGNS): (("a",),),
    ("sh", "-c", "a" + ";" * (MOST_SIGNS + 1)): None,
    ("sh", "-c", "a <<X\n" + ";" * MOST_SIGNS + "\nX"): None,
    ("sh", "-c", "sh -c '" + ";" * MOST_SIGNS + "'"): None,
    ("sh", "-c", "sh -c a;" * (MOST_SIGNS // 9)): (("a",),) * (MOST_SIGNS // 9),
    ("sh", "-c", "sh -c a;" * (MOST_SIGNS // 9 + 1)): None,
    ("sh", "-c", "echo $A$1 a$ $'b' $;c"): (("echo", "$A$1", "a$", "$b", "$"), ("c",)),
}


@pytest.mark.parametrize("text", TEXTS)
def test_splits_a_text_into_simple_commands(text: str) -> None:
    assert read_commands(("bash", "-c", text)) == TEXTS[text]


@pytest.mark.parametrize("text", NOT_UNDERSTOOD)
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


PIECES = [*"a)}(`'\"\\\n #;&|<>=$", "$X", "${X}", "$(", "${", "<<A", "A\n"]
HOSTILE = [
    piece * (MOST_CHARACTERS // len(piece) - 8)
    for piece in (
        "<<A\n",
        "<<A <<B\n",
        "a<<A\nA\n",
        "<<A\n'\n",
        *PIECES,
        '"$(',
        "$('",
        "${`",
        "\\\n",
        "'a'",
        "a ",
        "(a",
    )
]


@given(st.lists(st.sampled_from([*PIECES, "sh -c "])).map("".join) | st.text())
@settings(deadline=None)
def test_reads_any_text_without_fault_and_invents_nothing(text: str) -> None:
    commands = read_commands(("sh", "-c", text))
    assert sum(len(word) for words in commands or () for word in words) <= len("sh-c" + text)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:3]))
def test_reads_the_longest_texts_in_one_go(text: str) -> None:
    """Each character is looked at once or twice: a reader that went back over them would not end here."""
    commands = read_commands(("sh", "-c", text))
    assert sum(len(word) for words in commands or () for word in words) <= len("sh-c" + text)


PARTS = st.sampled_from(
    [
        "x",
        "--nnodes=2",
        "$A/",
        "${B}",
        "'$A y'",
        "'a \"b'",
        '"$A z"',
        '"${B}"',
        '"it\'s"',
        '"\\$A"',
        '"q\\"q"',
        "\\ ",
        "\\$A",
        "=",
        ":29",
        "\\\n",
    ]
)
WORD = st.lists(PARTS, min_size=1, max_size=3).map("".join)
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
@settings(deadline=None, max_examples=150)
def test_splits_as_bash_does(text: str) -> None:
    commands = read_commands(("bash", "-c", text))
    assert commands is not None
    assert all(words[0] == "c" for words in commands)
    mine = [tuple(word.replace("\0", "$") for word in words[1:]) for words in commands]
    assert sorted(mine) == sorted(run_by_bash(text))
