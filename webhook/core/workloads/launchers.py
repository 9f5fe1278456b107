"""Know what starts the ranks of a job, and what a container's texts do with an address variable.

Source: torch/distributed/run.py (``--master_addr`` counts without ``--rdzv_endpoint`` only; the
default backend is ``static``), accelerate commands/launch.py, deepspeed launcher/runner.py.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cached_property
from itertools import pairwise, takewhile
from typing import Final, NamedTuple, TypeAlias

from webhook.core import bounds, podspec
from webhook.core.model import Object
from webhook.core.workloads import words as tables
from webhook.core.workloads.endpoint import is_local
from webhook.core.workloads.shell import Words, characters_of, is_short, read_commands

_TORCH: Final = tables.program("torch")
_PYTHON: Final = tables.program("python")
_OTHER: Final = tables.program("other_launchers")
_CHOOSES_PYTHON: Final = tables.program("chooses_python")
_IN_SIGHT: Final = tables.program("in_sight")
_STARTS_NOTHING: Final = tables.program("starts_nothing")
_MODULE: Final = tables.word("modules")
_MARK: Final = tables.word("marks")
_SSHD: Final = tables.word("ssh_daemon")
_SWITCH: Final = tables.word("switches")
_SCRIPT: Final = tables.word("script")
_BEFORE: Final = tables.word("before")
_ABBREVIATED: Final = tables.plain("abbreviated")
_ADDRESSES: Final = tables.plain("addresses")
_SIZES: Final = frozenset(tables.plain("sizes"))
_OF_SEVERAL: Final = _SIZES.union(_ADDRESSES, tables.plain("of_several"))
_LOOP: Final = tables.plain("loops")
_BRANCHES: Final = frozenset(tables.plain("branches"))
_ASSIGNS: Final = tables.plain("assigns")
_HOOKS: Final = tables.plain("hooks")

_SSH_SERVICES: Final = (("service", "ssh"), ("service", "sshd"))
_VALUE: Final = re.compile(
    r"\$(?:(?P<bare>\w+)|\{(?P<braced>\w+)\}|\((?P<kubernetes>[-._\w]+)\))"
    r"(?P<port>:[^$`]*(?:\$\{?\w+\}?)?)?\Z"
)
_SUBSTITUTED: Final = re.compile(r"(?:\$\(|`)\s*(?:(?:sh|bash|source|\.)\s|[^\s()`]*(?:/|\.sh\b))")
_REMEMBERED: Final = 2 * (bounds.COMMANDS + bounds.ITEMS)
"""Characters of the commands that are remembered: those of two pods with as many as may be. The
words of a long one may take a megabyte."""
_MOST_GIVEN: Final = 16
"""Variables that a container may give to launchers: of more, nothing is certain."""
_WORD: Final = re.compile(r"\w+")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=")
_EXPANDED: Final = re.compile("[$`\0]")
_NOT_IN_SIGHT: Final = "$"
"""Stands for a backend that an option may name which is not in sight, or not known."""
_SEVERAL: Final = re.compile(r"(?!0*1(?::0*1)?\Z)[0-9]+(?::[0-9]+)?\Z")
"""A number of nodes, or a range, that is written out and is not one."""
_TORCHRUN_VARIABLE: Final = re.compile(r"PET_(?!LOCAL_ADDR|RDZV_CONF)")
"""Those that may number nodes; the others may come of an earlier pass."""

Taken: TypeAlias = list[tuple[str, bool]]
"""Variables that a launcher's address options take, and whether a port follows."""


class Command(NamedTuple):
    """Hold a simple command; *options*: a torch launcher's, ``--nnodes``; None of any other."""

    words: Words
    options: dict[str, str] | None


class Use(Enum):
    """Say what a container's texts do with a variable."""

    NONE = "not named at all"
    LAUNCHER = "only the value of a torch launcher's option"
    ENDPOINT = "as LAUNCHER, before a port: an IPv6 address needs brackets there"
    OTHER = "more: compared, cut, looked up, handed to another program, or not understood"


class Script:
    """Hold the commands of a container, and once for all pods of a job what was found out."""

    def __init__(self, commands: tuple[Words, ...] | None) -> None:
        self.is_understood = commands is not None
        self.commands = tuple([Command(words, _options(words)) for words in commands or ()])
        self.launchers = [one.options for one in self.commands if one.options is not None]
        self.sets_backend = any("PET_RDZV_BACKEND" in " ".join(each) for each in commands or ())
        self.taken = {
            static: [_taken(one, is_static=static) for one in self.launchers]
            for static in (False, True)
        }
        """What the address options of each launcher take, by whether the backend is static."""

    @cached_property
    def runs_shell_file(self) -> bool:
        """Tell whether a shell's script that is not written in the pod runs beside launchers."""
        return any(map(_runs_shell_file, self.commands))

    @cached_property
    def runs_file(self) -> bool:
        """Tell the same of any script, also one of Python."""
        return self.runs_shell_file or any(map(_runs_python_file, self.commands))

    @cached_property
    def is_in_sight(self) -> bool:
        """Tell whether the commands are known, and all of them start what is written in the pod."""
        programs = (_program(each.words) for each in self.commands)
        return bool(self.commands) and not self.runs_file and all(map(_IN_SIGHT.match, programs))

    @cached_property
    def literals(self) -> dict[str, str]:
        """Return what is set for sure, before the text branches; the last of a name counts."""
        every = (each.words for each in self.commands)
        straight = takewhile(lambda words: _BRANCHES.isdisjoint(words[:1]), every)
        found = (each for words in filter(_started, straight) for each in _assigned(words))
        return {name: value for name, value in found if not _EXPANDED.search(value)}

    @cached_property
    def runs_again(self) -> bool:
        """Tell whether a loop starts what trains, or a function beside one, or one by itself.

        That is launchers, or Python programs where there are none. A variable of a running
        container never changes; rank 0 may have another address by then.
        """
        loops = blocks = 0
        has_loop = trains_in_block = False
        for words, options in self.commands:
            started, program = _started(words), _program(words)
            named = started if program == "function" else started[:1]
            first = Counter([*words[: len(words) - len(started)], *named])
            loops += sum(map(first.__getitem__, _LOOP))
            blocks += first["{"]
            trains = options is not None or (not self.launchers and bool(_PYTHON.match(program)))
            if loops and (trains or program.startswith("$")):  # $CMD, or a function's "$@"
                return True
            has_loop = has_loop or loops > 0
            trains_in_block = trains_in_block or (trains and blocks > 0)
            loops = max(0, loops - first["done"])
            blocks = max(0, blocks - first["}"])
        return trains_in_block and (has_loop or self._calls_itself())

    def _calls_itself(self) -> bool:
        """Tell whether a function is called twice: one call may be its own."""
        called = Counter(_program(words) for words, _ in self.commands)
        return any(
            len(words) == 1 and following.words[:1] == ("{",) and called[words[0]] > 2
            for (words, _), following in pairwise(self.commands)
        )

    def use(self, name: str, *, is_static: bool) -> Use:
        """Say what the commands do with a variable."""
        taken = iter(self.taken[is_static])
        before_port: set[bool] = set()
        for words, options in self.commands:
            by_launcher = [] if options is None else next(taken)
            named = sum([_WORD.findall(word).count(name) for word in words if name in word])
            if not named:
                continue
            ports = [has_port for variable, has_port in by_launcher if variable == name]
            if len(ports) != named:
                return Use.OTHER
            before_port.update(ports)
        if not before_port:
            return Use.NONE
        return Use.ENDPOINT if True in before_port else Use.LAUNCHER


def shows_torch_launcher(container: Object) -> bool:
    """Tell whether it starts torchrun, also as a module, accelerate or deepspeed."""
    return bool(script_of(container).launchers)


def shows_launcher(container: Object) -> bool:
    """Tell whether it starts any launcher, or shows an option that numbers nodes."""
    return shows_torch_launcher(container) or any(
        _is_of_several(each.words) for each in script_of(container).commands
    )


def assigned_variables(container: Object) -> list[tuple[str, str]]:
    """Return what the text sets for what it starts: ``MASTER_ADDR=$HEAD python t.py``."""
    commands = script_of(container).commands
    return [each for command in commands for each in _assigned(command.words)]


def _assigned(words: Words) -> Iterator[tuple[str, str]]:
    for word in words:
        if match := _ASSIGNMENT.match(word):
            yield match[1], word[match.end() :]
        elif not (_BEFORE.match(word) or word in _ASSIGNS):
            return


def serves_ssh(container: Object) -> bool:
    """Tell whether it starts an ssh daemon, as the workers of mpirun do."""
    return any(
        _SSHD.match(_program(words)) or _started(words)[:2] in _SSH_SERVICES
        for words, _ in script_of(container).commands
    )


def meets_at_static_endpoint(container: Object) -> bool:
    """Tell whether torch gives the ranks the host of a static endpoint as MASTER_ADDR."""
    return any(
        backend == "static" and any(map(options.get, _ADDRESSES)) and not _says_one_node(options)
        for options, backend in _launchers(container)
    )


def meets_at_etcd(container: Object) -> bool:
    """Tell whether torchrun meets at etcd, which no pod of the job hosts."""
    return any(
        backend.startswith("etcd") and options.get("--rdzv-endpoint")
        for options, backend in _launchers(container)
    )


def names_several_nodes(container: Object) -> bool:
    """Tell whether a torch launcher's option says several nodes, which outweighs every variable."""
    return any(
        _SEVERAL.match(options.get("--nnodes", options.get("--num-machines", "")))
        for options, _ in _launchers(container)
    )


def _launchers(container: Object) -> Iterator[tuple[dict[str, str], str]]:
    """Yield the options of each torch launcher, and its backend; empty where it is not known."""
    script = script_of(container)
    if not script.launchers:
        return
    otherwise = _backend(container, script)
    for options in script.launchers:
        yield options, options.get("--rdzv-backend") or otherwise


def is_in_sight(container: Object) -> bool:
    """Tell whether all that a container runs is written in the pod: torch launchers, no script."""
    return bool(container.get("command")) and script_of(container).is_in_sight


def _is_of_several(words: Words) -> bool:
    started = _started(words)
    is_export = started[:1] == ("export",)  # of a text that is run later
    return (is_export or not _starts_nothing(started)) and (
        started[:2] == ("ray", "start")
        or any(map(_OTHER.match, words))
        # an option that numbers nodes, also within a text that is run later
        or any(map(_MARK.match, (part for word in words if "--" in word for part in word.split())))
    )


def _starts_nothing(started: Words) -> bool:
    return any(map(_STARTS_NOTHING.match, started[:1])) and started[1:2] != ("run",)


def _runs_shell_file(command: Command) -> bool:
    program = _program(command.words)
    is_script = _SCRIPT.match(program) and not _IN_SIGHT.match(program)
    if is_script and not _CHOOSES_PYTHON.match(command.words[-1]):
        return True
    return any(map(_SUBSTITUTED.search, command.words))


def _started(words: Words) -> Words:
    """Return a command from its program on: without ``exec``, ``if`` and assignments before it."""
    at = next((at for at, word in enumerate(words) if not _BEFORE.match(word)), len(words))
    return words[at:]


def _program(words: Words) -> str:
    return next(iter(_started(words)), "true")


def _runs_python_file(command: Command) -> bool:
    """Tell ``python t.py`` and ``python -m package``, whose texts are not in the pod."""
    if command.options is not None or not _PYTHON.match(_program(command.words)):
        return False
    arguments = iter(command.words)
    next(filter(_PYTHON.match, arguments))  # the arguments of python follow
    for word in arguments:
        if not word.startswith("-"):
            return True
        if word.endswith("m"):  # -m, -um
            return next(arguments, "") != "pip"
        if word.endswith("c"):
            return False
    return False


def use_of(container: Object, name: str) -> Use:
    """Say what the texts of a container do with variable *name*.

    Texts: command, arguments, the values of other variables, commands of probes and hooks.
    """
    if _is_named_elsewhere(container, name):
        return Use.OTHER
    if not any(name in text for text in podspec.argv(container)):
        return Use.NONE
    script = script_of(container)
    if not script.is_understood:
        return Use.OTHER
    return script.use(name, is_static=_backend(container, script) == "static")


def given_variables(container: Object) -> frozenset[str]:
    """Return the variables, of any name, that an address option of a torch launcher takes."""
    script = script_of(container)
    if not script.launchers:
        return frozenset()
    taken = script.taken[_backend(container, script) == "static"]
    found = frozenset([name for by_launcher in taken for name, _ in by_launcher])
    return found if len(found) <= _MOST_GIVEN else frozenset()


def meets_by(container: Object) -> str:
    """Return the backend by which torchrun's agents of several nodes meet; empty if not known.

    ``static`` is certain only where an option names the endpoint, which outweighs every variable.
    """
    found = {
        backend if backend != "static" or any(map(options.get, _ADDRESSES)) else ""
        for options, backend in _launchers(container)
        if not _says_one_node(options)
    }
    if not found and not is_in_sight(container):
        return podspec.env_value(container, "PET_RDZV_BACKEND") or ""
    backend = found.pop() if len(found) == 1 else ""
    return "" if "$" in backend else backend


class _Scripts:
    """Read once what the pods of a job share, and forget all where it becomes too much.

    Several threads may ask: at worst they read the same twice.
    """

    def __init__(self) -> None:
        self._known: dict[Words, Script] = {}
        self._characters = 0

    def read(self, argv: Words) -> Script:
        """Return what these words start: no commands where they are not understood, or too long."""
        script = self._known.get(argv)
        if script is None:
            if not is_short(argv):
                return _TOO_LONG
            script = Script(read_commands(argv))
            self._characters += characters_of(argv)
            if self._characters > _REMEMBERED:
                self._known, self._characters = {}, characters_of(argv)
            self._known[argv] = script
        return script


_SCRIPTS: Final = _Scripts()
_TOO_LONG: Final = Script(None)


def script_of(container: Object) -> Script:
    """Return what a container runs."""
    return _SCRIPTS.read(tuple(podspec.argv(container)))


def _is_named_elsewhere(container: Object, name: str) -> bool:
    """Tell whether other texts than the command's name a variable, as ``$(NAME)`` or ``$NAME``."""
    values = "\0".join([entry.get("value") or "" for entry in podspec.env(container)])
    if name in values and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", values):
        return True
    return name in str([container.get(key) for key in _HOOKS])


def _options_at(words: Words) -> int:
    """Return where the options of a torch launcher begin; 0 where the command is none."""
    started = _started(words)
    if _starts_nothing(started) or started[1:3] == ("-m", "pip"):
        return 0
    for index, word in enumerate(words):
        if _TORCH.match(word):
            if not word.endswith("accelerate"):
                return index + 1
            if words[index + 1 : index + 2] == ("launch",):
                return index + 2
        elif _MODULE.match(word) and words[index - 1 : index] == ("-m",):
            return index + 1
    return 0


def _options(words: Words) -> dict[str, str] | None:
    index = _options_at(words)
    if not index:
        return None
    options: dict[str, str] = {}
    is_certain = True
    while index < len(words) and words[index].startswith("-") and words[index] != "--":
        option, equals, value = words[index].partition("=")
        option = _spelt_out(option.replace("_", "-"))
        is_certain = is_certain and (option in _ABBREVIATED or not option.startswith("--rdzv"))
        index += 1
        takes_next = not equals and not _SWITCH.match(option) and index < len(words)
        if takes_next and not (words[index].startswith("-") or words[index].endswith(".py")):
            value = words[index]
            index += 1
        options[option] = value
    # what a variable holds may be options, and name a backend
    if index < len(words) and words[index].startswith(("$", "`")):
        options.setdefault("--rdzv-backend", _NOT_IN_SIGHT)
    if not is_certain:
        options["--rdzv-backend"] = _NOT_IN_SIGHT
    return options


def _spelt_out(option: str) -> str:
    """Return the option that torchrun takes this one for."""
    if option in _ABBREVIATED or len(option) < len("--x"):
        return option
    meant = [one for one in _ABBREVIATED if one.startswith(option)]
    return meant[0] if len(meant) == 1 else option


def _says_one_node(options: dict[str, str]) -> bool:
    nodes = options.get("--nnodes", options.get("--num-machines"))
    return (
        "--standalone" in options
        or nodes in ("1", "1:1")
        or options.get("--rdzv-endpoint") == "localhost:0"
    )


def _backend(container: Object, script: Script) -> str:
    """Return the backend where no option names one; empty where it cannot be known."""
    if script.sets_backend:
        return ""
    if not podspec.has_env(container, "PET_RDZV_BACKEND"):
        return "" if container.get("envFrom") else "static"
    return podspec.env_value(container, "PET_RDZV_BACKEND") or ""


def _taken(options: dict[str, str], *, is_static: bool) -> Taken:
    """Return what a torch launcher's address options take.

    What stands behind the script is the script's own. A c10d endpoint takes none: its name must
    stay the name of the pod that hosts it. *is_static*: the backend where no option names one.
    """
    if backend := options.get("--rdzv-backend"):
        is_static = backend == "static"
    values = [options.get(name, "") for name in (_ADDRESSES if is_static else _ADDRESSES[:1])]
    matches = filter(None, map(_VALUE.match, values))
    return [
        (each["bare"] or each["braced"] or each["kubernetes"], each["port"] is not None)
        for each in matches
    ]


def run_on_one_node(containers: Iterable[Object], *, by_default: bool = False) -> bool:
    """Tell whether torch launchers are started, and every one of them says one node.

    *by_default*: one that is given no number of nodes does too, and nothing else starts several.
    """
    found = False
    for container in containers:
        script = script_of(container)
        if not script.is_understood:
            return False
        may_default = by_default and not script.runs_shell_file
        for command in script.commands:
            if command.options is None:
                if by_default and _is_of_several(command.words):
                    return False
            elif _says_one_node(command.options) or (
                may_default and _is_on_one_by_default(container, command)
            ):
                found = True
            else:
                return False
    return found


def _is_on_one_by_default(container: Object, command: Command) -> bool:
    """Tell a launcher that neither says how many nodes there are nor meets others.

    deepspeed is none: it may find a hostfile.
    """
    options = command.options or {}
    meets_itself = any(is_local(options.get(name, "").partition(":")[0]) for name in _ADDRESSES)
    if not (_SIZES if meets_itself else _OF_SEVERAL).isdisjoint(options):
        return False
    if container.get("envFrom"):
        return False
    launcher = command.words[_options_at(command.words) - 1]
    if launcher.endswith(("deepspeed", "deepspeed.launcher.runner")):
        return False
    told = [*podspec.argv(container), *(entry["name"] for entry in podspec.env(container))]
    return not any(map(_TORCHRUN_VARIABLE.search, told))
