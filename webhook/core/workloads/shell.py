"""Read a container's command as the shell in it would: simple commands, and the words of each.

Nothing is expanded or run. For what is not understood (unbalanced quotes, too deep, too long) the
answer is None. Source: POSIX.1-2024, 2.3 Token Recognition, 2.9.1 Simple Commands.
"""

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from webhook.core import bounds

Words: TypeAlias = tuple[str, ...]

MOST_CHARACTERS: Final = bounds.COMMAND
"""Characters of a command that is read: a longer one is a program of its own."""
MOST_WORDS: Final = 4096
MOST_SIGNS: Final = 4096
"""Quotes, separators, expansions and the like; real scripts of 32 KB have 2,000."""
_TEXT: Final = 8
"""Signs for which a text within another counts."""
_DEEPEST: Final = 4
"""Shells within shells: ``bash -c "srun sh -c '…'"``."""
SHELLS: Final = frozenset(("sh", "bash", "dash", "ash", "ksh", "zsh"))
_FEWEST: Final = 3
"""Words of a command that hands a text to a shell."""
_SIGNS = ("-", "+")
_QUIET: Final = "\0"
"""Stands for a ``$`` that this shell does not expand; a shell within may."""
_WORD: Final = r"""(?:[^ \t\n'"\\$`#;&|()<>]++|\$(?![({]))++"""
_PLAIN: Final = re.compile(_WORD)
_PLAIN_WORDS: Final = re.compile(rf"(?:{_WORD}[ \t]++)++")
_PLAIN_COMMAND: Final = re.compile(rf"((?:{_WORD}[ \t]*+)++)([;&|()\n]++)")
_BLANKS: Final = re.compile(r"[ \t]+")
_QUOTED: Final = re.compile(r"'[^']*+'" r'|"[^"\\$`]*+"')
"""A quoted part in which nothing is expanded."""
_ENDS_WORD: Final = frozenset("\n;&|()<>")
_HEREDOC: Final = re.compile(r"""<<(-?)[ \t]*(?:'([^'\n]*)'|"([^"\n]*)"|([^\s;&|()<>'"`$]+))""")
_OPENING: Final = {"$(": ")", "${": "}", "`": "`", '"': '"', "'": "'"}
_NEITHER_OPENS_NOR_CLOSES: Final = re.compile(r"""[^'"\\$`(){}]+""")


class _Signs:
    """Count what is left of MOST_SIGNS for all texts of one container."""

    def __init__(self) -> None:
        self.left = MOST_SIGNS


def read_commands(argv: Words) -> tuple[Words, ...] | None:
    """Return the simple commands that a container starts, also within ``sh -c``.

    None where they cannot be understood. Assignments before a command, redirections and a shell's
    own words (``if``, ``for``, ``exec``) stand among the words; comments are left out. Quotes are
    taken off; ``$NAME``, ``$(…)`` and backquotes stay as they are written.
    """
    signs = _Signs()
    found = _within(argv, 0, signs) if is_short(argv) else None
    if found is None or signs.left < 0:
        return None
    return found if sum(map(len, found)) + len(found) <= MOST_WORDS else None


def is_short(argv: Sequence[str]) -> bool:
    """Tell whether a command is short enough to be read."""
    return characters_of(argv) <= MOST_CHARACTERS


def characters_of(argv: Sequence[str]) -> int:
    """Count the characters of a command, and one for each word."""
    return len(argv) + sum(map(len, argv))


def _within(words: Words, depth: int, signs: _Signs) -> tuple[Words, ...] | None:
    """Return the command itself, or what stands around a shell and the commands of its text."""
    shell, at = _shell_text(words)
    if not at:
        return (words,)
    if depth:
        signs.left -= _TEXT
    if depth == _DEEPEST or (commands := _split(words[at].replace(_QUIET, "$"), signs)) is None:
        return None
    around = words[:shell] + words[at + 1 :]
    found = [around] if around else []
    for command in commands:
        if len(command) < _FEWEST:
            found.append(command)
            continue
        inner = _within(command, depth + 1, signs)
        if inner is None:
            return None
        found += inner
    return tuple(found)


def _shell_text(words: Sequence[str]) -> tuple[int, int]:
    """Return where ``bash`` and TEXT of ``… bash -lc TEXT`` stand; zeros without them."""
    shell = -1
    for index, word in enumerate(words):
        if shell < 0:
            shell = index if word.rpartition("/")[2] in SHELLS else -1
        elif word.startswith(_SIGNS):
            if word[:2] != "--" and "c" in word:
                rest = range(index + 1, len(words))
                return shell, next((at for at in rest if not words[at].startswith(_SIGNS)), 0)
        elif word not in ("pipefail", "errexit", "nounset", "xtrace"):  # what -o takes
            break
    return 0, 0


def _split(text: str, signs: _Signs, *, is_heredoc: bool = False) -> list[Words] | None:
    """Split a shell's text; None where a quote or a parenthesis is left open, or of too many signs.

    The lines of a here-document are read as commands, for it may be a script; as one word where
    they are none. One within another is not looked for.
    """
    heredocs: list[re.Match[str]] = []
    commands: list[Words] = []
    words: list[str] = []
    parts: list[str] = []
    position, length = 0, len(text)
    while position < length:
        is_first = not (words or parts or heredocs)
        if is_first and (plain := _PLAIN_COMMAND.match(text, position)):
            commands.append(tuple(_PLAIN.findall(plain[1])))
            position = plain.end()
            signs.left -= len(plain[2])
            if signs.left < 0:
                return None
            continue
        if plain := _PLAIN_WORDS.match(text, position):
            run: list[str] = _PLAIN.findall(text, position, plain.end())
            if parts:
                run[0] = "".join(parts) + run[0]
                parts = []
            words += run
            position = plain.end()
            continue
        if plain := _PLAIN.match(text, position):
            parts.append(plain[0])
            position = plain.end()
            continue
        if blanks := _BLANKS.match(text, position):
            if parts:
                words.append("".join(parts))
                parts = []
            position = blanks.end()
            continue
        character = text[position]
        signs.left -= 1
        if signs.left < 0:
            return None
        if character == "#" and parts:
            parts.append(character)
        elif character == "#":
            end = text.find("\n", position)
            if end < 0:
                break
            position = end - 1  # the line's end ends a command too
        elif character in _ENDS_WORD:
            if parts:
                words.append("".join(parts))
                parts = []
            if text.startswith("<<<", position):
                words.append("<<<")
                position += 2
            elif (
                character == "<" and not is_heredoc and (heredoc := _HEREDOC.match(text, position))
            ):
                heredocs.append(heredoc)
                words += ("<<", _delimiter(heredoc))
                position = heredoc.end() - 1
            elif character in "<>":
                words.append(character)
                position += text.startswith("&", position + 1)  # 2>&1
            elif words:
                commands.append(tuple(words))
                words = []
            if character == "\n":
                for heredoc in heredocs:
                    start = position + 1
                    end, position = _end_of_heredoc(text, start, heredoc)
                    lines = text[start:end]
                    inner = _split(lines, signs, is_heredoc=True)
                    commands += [(lines,)] if inner is None else inner
                heredocs = []
        elif text.startswith("\\\n", position):
            position += 1  # a line that goes on
        elif quoted := _QUOTED.match(text, position):
            part = quoted[0][1:-1]
            parts.append(part.replace("$", _QUIET) if character == "'" else part)
            position = quoted.end() - 1
        else:
            end = _end_of_part(text, position)
            if end < 0:
                return None
            parts.append(_part(text[position:end]))
            position = end - 1
        position += 1
    if parts:
        words.append("".join(parts))
    if words:
        commands.append(tuple(words))
    return commands


def _delimiter(heredoc: re.Match[str]) -> str:
    return heredoc[2] or heredoc[3] or (heredoc[4] or "").replace("\\", "")


def _end_of_heredoc(text: str, position: int, heredoc: re.Match[str]) -> tuple[int, int]:
    """Return where the lines of a here-document end, and the end of the line that ends it."""
    delimiter = _delimiter(heredoc)
    while position < len(text):
        end = text.find("\n", position)
        end = end if end >= 0 else len(text)
        line = text[position:end]
        if (line.lstrip("\t") if heredoc[1] else line) == delimiter:
            return position, end
        position = end + 1
    return len(text), len(text)


def _part(raw: str) -> str:
    """Take the quotes off a part of a word, which is not in single quotes."""
    if raw[0] == "\\":
        return raw[1:].replace("$", _QUIET).replace("\n", "")
    if raw[0] == '"':
        return re.sub(r'\\([\\"`\n])', r"\1", raw[1:-1].replace("\\$", _QUIET).replace("\\\n", ""))
    return raw


def _end_of_part(text: str, position: int) -> int:
    """Return where a quoted, escaped or substituted part ends; -1 where it does not."""
    if text[position] == "\\":
        return min(position + 2, len(text))
    opening = text[position : position + 2]
    if opening not in _OPENING:
        opening = opening[:1]
    open_parts = [_OPENING[opening]]
    position += len(opening)
    while position < len(text):
        if passed := _NEITHER_OPENS_NOR_CLOSES.match(text, position):
            position = passed.end()
            continue
        character, wanted = text[position], open_parts[-1]
        pair = text[position : position + 2]
        if wanted == "'":
            if character == "'":
                open_parts.pop()
        elif character == "\\":
            position += 1
        elif character == wanted:
            open_parts.pop()
        elif pair in _OPENING:
            open_parts.append(_OPENING[pair])
            position += 1
        elif character in '`"' or (character == "'" and wanted != '"'):
            open_parts.append(character)
        elif character == "(" and wanted == ")":
            open_parts.append(")")
        position += 1
        if not open_parts:
            return position
    return -1
