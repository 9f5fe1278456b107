"""Know the programs that start the ranks of a job, and what a container's own texts do with an address variable.

Source: torch/distributed/run.py (``--master_addr`` counts without ``--rdzv_endpoint`` only; the default backend is ``static``),
accelerate commands/launch.py, deepspeed launcher/runner.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final, NamedTuple

from webhook.core import bounds, podspec
from webhook.core.model import Object
from webhook.core.workloads.shell import (
    MOST_CHARACTERS,
    Words,
    characters_of,
    literal_assignments,
    read_commands,
)

_TORCH: Final = re.compile(r"(?:.*/)?(?:torchrun|accelerate|deepspeed)\Z", re.DOTALL)
_MODULE: Final = re.compile(
    r"torch\.distributed\.(?:run|launch)\Z|accelerate\.commands\.launch\Z|deepspeed\.launcher\.runner\Z"
)
_OTHER: Final = re.compile(
    r"(?:.*/)?(?:mpirun|mpiexec|mpiexec\.hydra|orterun|prterun|horovodrun)\Z", re.DOTALL
)
_MARK: Final = re.compile(
    r"--(?:nnodes|num[-_]nodes|node[-_]rank|num[-_]machines|machine[-_]rank|master[-_]addr|main[-_]process[-_]ip|rdzv[-_]endpoint"
    r"|dist[-_]init[-_]addr|init[-_]method|dist[-_]url|coordinator[-_]addr(?:ess)?|data[-_]parallel[-_]address)(?:=|\Z)"
)
"""Options by which launchers, trainers and inference servers are told how many nodes there are, which is this one, where they meet."""
_SSHD: Final = re.compile(r"(?:.*/sbin/)?sshd\Z|/etc/init\.d/sshd?\Z", re.DOTALL)
_SWITCH: Final = re.compile(
    r"--(?:standalone|no-python|module|run-path|use-env|virtual-local-rank|multi-gpu|use-fsdp|use-deepspeed|cpu|quiet|same-network"
    r"|no-ssh|force-multi)\Z|-m\Z"
)
"""Options of launchers that take no value; the script follows an option's value or one of these. One ending in .py follows any."""
_VALUE: Final = re.compile(
    r"\$(?:(?P<bare>\w+)|\{(?P<braced>\w+)\}|\((?P<kubernetes>[-._\w]+)\))(?P<port>:[^$`]*(?:\$\{?\w+\}?)?)?\Z"
)
_SCRIPT: Final = re.compile(
    r"(?:sh|bash|dash|ash|ksh|zsh|\.|source|eval)\Z|[^$]*/|.*\.sh\Z", re.DOTALL
)
_SUBSTITUTED: Final = re.compile(r"(?:\$\(|`)\s*(?:(?:sh|bash|source|\.)\s|[^\s()`]*(?:/|\.sh\b))")
_REMEMBERED: Final = bounds.COMMANDS + bounds.WORDS
"""Characters of the commands that are remembered, twice: as many as a pod may have, of which the same is asked again and again. The
words of a long one may take a megabyte."""
_NOTHING_TAKEN: list[tuple[str, bool]] = []
"""One for all commands that start no launcher: thousands may be remembered."""
_MOST_GIVEN: Final = 16
"""Variables that a container may give to launchers: of more, nothing is certain."""
_WORD: Final = re.compile(r"\w+")
_IN_SIGHT: Final = re.compile(
    r"(?:.*/)?(?:torchrun|accelerate|deepspeed|python[0-9.]*|pip3?|cd|echo|printf|export|unset|set|ulimit|umask|mkdir|sleep|true"
    r"|:|date|hostname|nvidia-smi|ls|cat|exit|done|fi)\Z",
    re.DOTALL,
)
"""Programs that are known to read no address, and those that train."""
_STARTS_NOTHING: Final = re.compile(
    r"(?:.*/)?(?:pip[0-9.]*|uv|poetry|conda|mamba|apt|apt-get|yum|dnf|git|cd|pushd|ls|mkdir|rm|cp|mv|ln|cat|chmod|chown|tar"
    r"|echo|printf|export|unset|which|type|test|\[|\[\[)\Z",
    re.DOTALL,
)
"""Programs whose words are packages, files or texts: ``pip install accelerate``, ``cd /opt/accelerate`` start no launcher.

``uv run torchrun`` does.
"""
_BEFORE: Final = re.compile(
    r"exec\Z|time\Z|nohup\Z|(?:.*/)?(?:env|numactl|tini|dumb-init)\Z|if\Z|then\Z|else\Z|elif\Z|do\Z|while\Z|until\Z|[{}!]\Z|command\Z"
    r"|-|[A-Za-z_]\w*="
)
"""Words before a command that do not change what it is."""


_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=")
_ASSIGNS: Final = frozenset(("export", "declare", "typeset", "readonly", "local"))
_LOOP: Final = frozenset(("while", "until", "for", "select"))
_PYTHON: Final = re.compile(r"(?:.*/)?python[0-9.]*\Z", re.DOTALL)


_ABBREVIATED: Final = (
    *("--nnodes", "--nproc-per-node", "--rdzv-backend", "--rdzv-endpoint", "--rdzv-id"),
    *("--rdzv-conf", "--standalone", "--module", "--no-python", "--run-path", "--node-rank"),
    *("--master-addr", "--master-port", "--local-addr", "--use-env", "--virtual-local-rank"),
)
"""Options of torchrun that matter here: argparse takes a prefix that is of one option alone."""
_SHORTEST_PREFIX: Final = len("--x")
_NOT_IN_SIGHT: Final = "$"
"""Stands for a backend that an option may name which is not in sight, or not known."""
_ENDPOINTS: Final = ("--main-process-ip", "--rdzv-endpoint")
"""Options that take an address where the backend is static; accelerate composes the endpoint from the first."""
_ADDRESSES: Final = ("--master-addr", *_ENDPOINTS)
_SEVERAL: Final = re.compile(r"(?!0*1(?::0*1)?\Z)[0-9]+(?::[0-9]+)?\Z")
"""A number of nodes, or a range, that is written out and is not one."""


class Command(NamedTuple):
    """Hold a simple command; *options*: those between a torch launcher and its script, ``--master-addr``, None where it starts none."""

    words: Words
    options: dict[str, str] | None


class Use(Enum):
    """Say what a container's texts do with a variable."""

    NONE = "not named at all"
    LAUNCHER = "only the value of a torch launcher's option"
    ENDPOINT = "as LAUNCHER, before a port: an IPv6 address needs brackets there"
    OTHER = "something else: compared, cut, looked up, handed to another program, or not understood"


class Script:
    """Hold the commands of a container and what was found out about them: the pods of a job ask the same of the same texts."""

    def __init__(self, commands: tuple[Command, ...]) -> None:
        self.commands = commands
        self.starts_torch = False
        self.sets_backend = False
        self.asks_for_backend = False
        for command in commands:
            options = command.options
            if options is not None:
                self.starts_torch = True
                if not options.get("--rdzv-backend") and not options.keys().isdisjoint(_ENDPOINTS):
                    self.asks_for_backend = True
            for word in command.words:
                if "PET_RDZV_BACKEND" in word:
                    self.sets_backend = True
        self._runs_file: bool | None = None
        self._runs_again: bool | None = None
        self._taken: dict[bool, list[list[tuple[str, bool]]]] = {}
        self._uses: dict[tuple[str, bool], Use] = {}

    def runs_file(self) -> bool:
        """Tell whether a file that is not written in the pod runs beside the launchers."""
        if self._runs_file is None:
            self._runs_file = any(map(_runs_file, self.commands))
        return self._runs_file

    def runs_again(self) -> bool:
        """Tell whether a loop starts what trains."""
        if self._runs_again is None:
            self._runs_again = _runs_again(self.commands)
        return self._runs_again

    def taken(self, *, is_static: bool) -> list[list[tuple[str, bool]]]:
        """Return for each command the variables that its launcher's address options take, and whether a port follows."""
        found = self._taken.get(is_static)
        if found is None:
            found = self._taken[is_static] = [
                _taken(command, is_static=is_static) for command in self.commands
            ]
        return found

    def use(self, name: str, *, is_static: bool) -> Use:
        """Say what the commands do with a variable."""
        found = self._uses.get((name, is_static))
        if found is None:
            found = self._use(name, self.taken(is_static=is_static))
            if len(self._uses) < _MOST_GIVEN:
                self._uses[name, is_static] = found
        return found

    def _use(self, name: str, taken: list[list[tuple[str, bool]]]) -> Use:
        before_port: set[bool] = set()
        for command, of_command in zip(self.commands, taken, strict=True):
            if named := sum(
                [_WORD.findall(word).count(name) for word in command.words if name in word]
            ):
                ports = [has_port for variable, has_port in of_command if variable == name]
                if len(ports) != named:
                    return Use.OTHER
                before_port.update(ports)
        if not before_port:
            return Use.NONE
        return Use.ENDPOINT if True in before_port else Use.LAUNCHER


def shows_torch_launcher(container: Object) -> bool:
    """Tell whether the command starts torchrun, ``python -m torch.distributed.run``, accelerate or deepspeed."""
    script = _script(container)
    return script is not None and script.starts_torch


def shows_launcher(container: Object) -> bool:
    """Tell whether the command starts, or looks like, one of several nodes: any launcher, or an option that numbers nodes."""
    script = _script(container)
    if script is None:
        return False
    return script.starts_torch or any(_is_of_several(each.words) for each in script.commands)


def assigned_variables(container: Object) -> list[str]:
    """Return the variables that the text sets for what it starts: ``MASTER_ADDR=$HEAD python t.py``, ``export RANK=0``."""
    script = _script(container)
    found = []
    for command in script.commands if script is not None else ():
        for word in command.words:
            if match := _ASSIGNMENT.match(word):
                found.append(match[1])
            elif not (_BEFORE.match(word) or word in _ASSIGNS):
                break
    return found


def serves_ssh(container: Object) -> bool:
    """Tell whether the command starts an ssh daemon: the workers of mpirun do, which comes to them from another pod."""
    script = _script(container)
    for command in script.commands if script is not None else ():
        started = [word for word in command.words if not _BEFORE.match(word)][:2]
        if started and (
            _SSHD.match(started[0]) or started in (["service", "ssh"], ["service", "sshd"])
        ):
            return True
    return False


def meets_at_static_endpoint(container: Object) -> bool:
    """Tell whether a torch launcher of several nodes meets at a static endpoint, whose host it gives its ranks as MASTER_ADDR."""
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
    """Tell whether a torch launcher's option says that there are several nodes, which outweighs every variable."""
    return any(
        _SEVERAL.match(options.get("--nnodes", options.get("--num-machines", "")))
        for options, _ in _launchers(container)
    )


def _launchers(container: Object) -> Iterator[tuple[dict[str, str], str]]:
    """Yield the options of each torch launcher, and the backend by which it meets; empty where that cannot be known."""
    script = _script(container)
    if script is None or not script.starts_torch:
        return
    otherwise = _backend(container, script)
    for command in script.commands:
        if command.options:
            yield command.options, command.options.get("--rdzv-backend") or otherwise


def is_in_sight(container: Object) -> bool:
    """Tell whether all that a container runs is written in the pod: torch launchers, no script."""
    script = _script(container) if container.get("command") else None
    return (
        script is not None
        and bool(script.commands)
        and not script.runs_file()
        and all(_IN_SIGHT.match(_program(each.words)) for each in script.commands)
    )


def runs_script(container: Object) -> bool:
    """Tell whether a file that is not written in the pod runs beside the launchers.

    It may look up or compare what they are given, or start launchers itself.
    """
    script = _script(container)
    return script is not None and script.runs_file()


def _is_of_several(words: Words) -> bool:
    program = next((at for at, word in enumerate(words) if not _BEFORE.match(word)), 0)
    if words and _starts_nothing(words, program):
        return False
    starts_ray = words[program : program + 1] == ("ray",) and words[program + 1 : program + 2] == (
        "start",
    )
    return starts_ray or any(_OTHER.match(word) or _shows_option(word) for word in words)


def _shows_option(word: str) -> bool:
    """Tell an option that numbers nodes, also within a text that is run later: ``CMD="torchrun --nnodes=2 t.py"``."""
    return "--" in word and any(map(_MARK.match, word.split()))


def _starts_nothing(words: Words, program: int) -> bool:
    return _STARTS_NOTHING.match(words[program]) is not None and words[
        program + 1 : program + 2
    ] != ("run",)


def _runs_file(command: Command) -> bool:
    program = _program(command.words)
    if _PYTHON.match(program) and command.options is None and _runs_python_file(command.words):
        return True
    if _SCRIPT.match(program) and not _IN_SIGHT.match(program):
        return True
    return any(map(_SUBSTITUTED.search, command.words))


def _program(words: Words) -> str:
    for word in words:
        if not _BEFORE.match(word):
            return word
    return "true"


def _runs_python_file(words: Words) -> bool:
    """Tell ``python t.py`` and ``python -m package``, whose texts are not in the pod, from others."""
    arguments = iter(words)
    next(filter(_PYTHON.match, arguments))  # the arguments of python follow
    for word in arguments:
        if not word.startswith("-"):
            return True
        if word.endswith("m"):  # -m, -um
            return next(arguments, "") != "pip"
        if word.endswith("c"):
            return False
    return False


def runs_again(container: Object) -> bool:
    """Tell whether a loop starts what trains, perhaps through a function: launchers, or python programs where there are none.

    A variable never changes in a running container, though rank 0 may have another address by the next turn.
    """
    script = _script(container)
    return script is not None and script.runs_again()


def _runs_again(commands: tuple[Command, ...]) -> bool:
    has_launcher = any(each.options is not None for each in commands)
    loops, name = 0, ""
    braces: list[
        str
    ] = []  # the function that each { begins; the name before a mere group is none's
    begun: dict[str, int] = {}  # how often each stands among them
    functions: set[str] = set()
    repeated: set[str] = set()
    trains_in_function = False
    for words, options in commands:
        at = 0
        while at < len(words) and (
            _BEFORE.match(words[at]) or words[at] in _LOOP or words[at] in ("done", "function")
        ):
            if words[at] in _LOOP:
                loops += 1
            elif words[at] == "done":
                loops = max(0, loops - 1)
            elif words[at] == "{":
                braces.append(name)
                begun[name] = begun.get(name, 0) + 1
                functions.add(name)
            elif words[at] == "}" and braces:
                ended = braces.pop()
                begun[ended] -= 1
                if not begun[ended]:
                    del begun[ended]
            elif words[at] == "function":
                at += 1
                name = "".join(words[at : at + 1])
            at += 1
        program = "".join(words[at : at + 1])
        name = program if len(words) == 1 else ""
        if loops and program.startswith("$"):
            return True  # "$@" in a function that is given the launcher, or $CMD
        if loops or program in begun:  # a function may call itself
            repeated.add(program)
        if options is not None or (not has_launcher and _PYTHON.match(program)):
            if loops:
                return True
            trains_in_function = trains_in_function or any(begun)
    return trains_in_function and not functions.isdisjoint(repeated - {""})


def use_of(container: Object, name: str) -> Use:
    """Say what the texts of a container do with variable *name*.

    Texts: command, arguments, the values of other variables, and the commands of probes and lifecycle hooks.
    """
    if _is_named_elsewhere(container, name):
        return Use.OTHER
    if not _names(container, name):
        return Use.NONE
    script = _script(container)
    return (
        Use.OTHER if script is None else script.use(name, is_static=_is_static(container, script))
    )


def given_variables(container: Object) -> frozenset[str]:
    """Return the variables, of any name, that an address option of a torch launcher takes."""
    script = _script(container)
    if script is None or not script.starts_torch:
        return frozenset()
    taken = script.taken(is_static=_is_static(container, script))
    found = frozenset([name for of_command in taken for name, _ in of_command])
    return found if len(found) <= _MOST_GIVEN else frozenset()


def given_addresses(container: Object) -> list[str]:
    """Return what the address options of torch launchers take, and what a command's text sets MASTER_ADDR to."""
    script = _script(container)
    found: list[str] = []
    for words, known in script.commands if script is not None else ():
        options = known or {}
        found += [options[name] for name in _ADDRESSES if name in options]
        found += [word.partition("=")[2] for word in words if word.startswith("MASTER_ADDR=")]
    return found


def meets_by(container: Object) -> str:
    """Return the backend by which torchrun's agents of several nodes meet, ``c10d``; empty where it is not known.

    ``static`` is told only where an option names the endpoint, which then outweighs every variable.
    """
    script = _script(container)
    found = set()
    for command in script.commands if script is not None else ():
        options = command.options
        if script is not None and options is not None and not _says_one_node(options):
            backend = options.get("--rdzv-backend") or _backend(container, script)
            is_named = any(options.get(name) for name in _ADDRESSES)
            found.add(backend if is_named or backend != "static" else "")
    if not found and not is_in_sight(container):
        return podspec.env_value(container, "PET_RDZV_BACKEND") or ""
    backend = found.pop() if len(found) == 1 else ""
    return "" if "$" in backend else backend


def literal_variables(container: Object) -> dict[str, str]:
    """Return the literal values that lines of the text set for what they start."""
    return literal_assignments(tuple(podspec.argv(container)))


def _names(container: Object, name: str) -> bool:
    for text in podspec.argv(container):  # noqa: SIM110  # any() would make a generator
        if name in text:
            return True
    return False


def _script(container: Object) -> Script | None:
    """Return what a container runs; None for what is not understood, or too long to be read."""
    argv = podspec.argv(container)
    characters = characters_of(argv)
    if characters > MOST_CHARACTERS:
        return None
    return _SCRIPTS.read(tuple(argv), characters)


def _parse(argv: Words) -> Script | None:
    commands = read_commands(argv)
    return (
        None
        if commands is None
        else Script(tuple([Command(words, _options(words)) for words in commands]))
    )


class _Scripts:
    """Read once what the pods of a job share. Of what is remembered, what was not asked for lately is forgotten.

    Several threads may ask: at worst they read the same twice.
    """

    def __init__(self) -> None:
        self._young: dict[Words, tuple[Script | None]] = {}
        self._old: dict[Words, tuple[Script | None]] = {}
        self._characters = 0

    def read(self, argv: Words, characters: int) -> Script | None:
        """Return what these words, of so many characters, start; None for what is not understood."""
        known = self._young.get(argv)
        if known is None:
            known = self._old.get(argv)
            if known is None:
                known = (_parse(argv),)
            if self._characters + characters > _REMEMBERED:
                self._old, self._young, self._characters = self._young, {}, 0
            self._young[argv] = known
            self._characters += characters
        return known[0]


_SCRIPTS: Final = _Scripts()


def _is_named_elsewhere(container: Object, name: str) -> bool:
    for entry in podspec.env(container):
        if (value := entry.get("value")) and name in value and _is_word_of(name, value):
            return True  # as $(NAME), or as $NAME in a text that a shell evaluates
    for mount in podspec.mounts(container):
        if "subPathExpr" in mount and name in (mount["subPathExpr"] or ""):
            return True
    hooks = [
        container[key]
        for key in ("livenessProbe", "readinessProbe", "startupProbe")
        if key in container
    ]
    lifecycle = container.get("lifecycle") or {}
    hooks += [lifecycle[event] for event in ("postStart", "preStop") if event in lifecycle]
    for hook in hooks:
        if hook and (run := hook.get("exec")):
            for text in run.get("command") or ():
                if name in text:
                    return True
    return False


def _is_word_of(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _options_at(words: Words) -> int:
    """Return where the options of a torch launcher begin; 0 where the command is none."""
    program = next((at for at, word in enumerate(words) if not _BEFORE.match(word)), 0)
    if words and (
        _starts_nothing(words, program) or words[program + 1 : program + 3] == ("-m", "pip")
    ):
        return 0
    for index, word in enumerate(words):
        if _TORCH.match(word):
            if word.endswith("accelerate") and words[index + 1 : index + 2] != ("launch",):
                continue
            return index + 2 if word.endswith("accelerate") else index + 1
        if _MODULE.match(word) and words[index - 1 : index] == ("-m",):
            return index + 1
    return 0


def _options(words: Words) -> dict[str, str] | None:
    index = _options_at(words)
    if not index:
        return None
    options = {}
    is_certain = True
    while index < len(words) and words[index].startswith("-") and words[index] != "--":
        option, equals, value = words[index].partition("=")
        option = _spelt_out(option.replace("_", "-"))
        is_certain = is_certain and (option in _ABBREVIATED or not option.startswith("--rdzv"))
        following = words[index + 1] if index + 1 < len(words) else "-"
        if not (
            equals
            or _SWITCH.match(option)
            or following.startswith("-")
            or following.endswith(".py")
        ):
            index += 1
            value = following
        options[option] = value
        index += 1
    if index < len(words) and words[index].startswith(
        ("$", "`")
    ):  # what it holds may be options, and name a backend
        options.setdefault("--rdzv-backend", _NOT_IN_SIGHT)
    if not is_certain:
        options["--rdzv-backend"] = _NOT_IN_SIGHT
    return options


def _spelt_out(option: str) -> str:
    """Return the option that torchrun takes this one for."""
    if option in _ABBREVIATED or len(option) < _SHORTEST_PREFIX:
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


def _is_static(container: Object, script: Script) -> bool:
    """Tell whether the backend is static where no option names one; it is not looked up where no option depends on it."""
    return script.asks_for_backend and _backend(container, script) == "static"


def _backend(container: Object, script: Script) -> str:
    """Return the backend where no option names one; empty where it cannot be known."""
    if script.sets_backend:
        return ""
    if not podspec.has_env(container, "PET_RDZV_BACKEND"):
        return "" if container.get("envFrom") else "static"
    return podspec.env_value(container, "PET_RDZV_BACKEND") or ""


def _taken(command: Command, *, is_static: bool) -> list[tuple[str, bool]]:
    """Return the variables whose value a torch launcher's address option takes, and whether a port follows.

    What stands behind the script is the script's own. A c10d endpoint takes none: its name must stay the name of the pod that hosts it.
    *is_static*: the backend where no option names one.
    """
    options = command.options
    if not options:
        return _NOTHING_TAKEN
    backend = options.get("--rdzv-backend")
    if backend:
        is_static = backend == "static"
    endpoints = [options.get(name, "") for name in _ENDPOINTS] if is_static else []
    values = (options.get("--master-addr", ""), *endpoints)
    matches = [match for value in values if (match := _VALUE.match(value))]
    return [
        (each["bare"] or each["braced"] or each["kubernetes"], each["port"] is not None)
        for each in matches
    ]


_OF_SEVERAL: Final = frozenset(
    (
        *_ADDRESSES,
        "--nnodes",
        "--node-rank",
        "--rdzv-backend",
        "--rdzv-id",
        "--rdzv-conf",
        "--num-machines",
        "--machine-rank",
        "--config-file",
        "--deepspeed-hostfile",
    )
)
"""Options without which torchrun and accelerate run on one node."""
_TORCHRUN_VARIABLE: Final = re.compile(r"PET_(?!LOCAL_ADDR|RDZV_CONF)")
"""Those that may number nodes; the others may come of an earlier pass."""
_DEEPSPEED: Final = re.compile(r"(?:.*/)?deepspeed\Z|deepspeed\.launcher\.runner\Z", re.DOTALL)


def run_on_one_node(containers: Iterable[Object], *, by_default: bool = False) -> bool:
    """Tell whether torch launchers are started, and every one of them says that it runs on one node.

    *by_default*: one that is given no number of nodes does too, and no other launcher is started.
    """
    found = False
    for container in containers:
        script = _script(container)
        if script is None:
            return False
        for command in script.commands:
            if command.options is None:
                if by_default and _is_of_several(command.words):
                    return False
            elif _says_one_node(command.options) or (
                by_default and _is_on_one_by_default(container, command)
            ):
                found = True
            else:
                return False
    return found


def _is_on_one_by_default(container: Object, command: Command) -> bool:
    """Tell a launcher that is given no number of nodes; deepspeed may find a hostfile."""
    if not _OF_SEVERAL.isdisjoint(command.options or ()):
        return False
    if any(map(_DEEPSPEED.match, command.words[: _options_at(command.words)])):
        return False
    if container.get("envFrom") or runs_script(container):
        return False
    told = [*podspec.argv(container), *(entry["name"] for entry in podspec.env(container))]
    return not any(map(_TORCHRUN_VARIABLE.search, told))
