"""Run mutants in one pytest session: its tests are collected once, and each mutant has a process forked from it.

The child puts the mutant's code into the functions that are there, empties all caches, and runs the tests that reach the changed
statement until one fails. What passes is run once more, at the end, in a new interpreter that has the mutant from the first import on:
a table that is made as a module is imported may hold what the function gave before the change.
"""

import functools
import gc
import hashlib
import json
import os
import pickle
import resource
import signal
import sys
import time
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests import ROOT
from tests.mutation.fresh import SameDraws
from tests.mutation.mutants import CORE, Mutant
from tests.mutation.outcomes import BUILD, Outcome, Outcomes
from tests.mutation.reached import Reach, Reached

PROCESSES = 2
PATIENCE = 4.0
"""Processor seconds of tests, as measured with coverage, that a mutant is given in a forked process."""

FRESH_PATIENCE = 120.0
"""The same in a new interpreter: few come so far."""

MEMORY = 3 << 30

BROKEN = 70
"""Exit status of a child that could not do its work."""

PART = 200
"""Tests that one process looks at, after which what it found is kept."""

Work = TypeVar("Work")

Functions = dict[types.CodeType, list[types.FunctionType]]


class Runner(SameDraws):
    """A pytest plugin that runs mutants instead of the session's tests."""

    def __init__(self, mutants: list[Mutant], reached: Reached, outcomes: Outcomes) -> None:
        self._mutants = mutants
        self._reached = reached
        self._outcomes = outcomes

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._session = session
        self._items = {item.nodeid: item for item in session.items}
        self._functions, self._caches = _functions(), _caches()
        gc.collect()
        gc.freeze()
        self._look()
        states = {mutant: self._reached.state(mutant) for mutant in self._mutants}
        todo = [one for one in self._mutants if self._outcomes.of(one, states[one]) is None]
        print(f"{len(todo)} mutants are run in forked processes", flush=True)
        for mutant, status in _each(todo, self._judge):
            self._outcomes.add(mutant, states[mutant], _outcome(mutant, status, Outcome.PASSED))
        todo = [
            one for one in self._mutants if self._outcomes.of(one, states[one]) is Outcome.PASSED
        ]
        print(f"{len(todo)} that survived are run in a new interpreter each", flush=True)
        for mutant, status in _each(todo, self._judge_anew):
            self._outcomes.add(mutant, states[mutant], _outcome(mutant, status, Outcome.SURVIVED))
        return True

    def _look(self) -> None:
        """See what each test reaches that is new or has changed."""
        unknown = self._reached.unknown(self._items)
        print(
            f"{len(unknown)} of {len(self._items)} tests are run with coverage: what does each reach?",
            flush=True,
        )
        parts = [unknown[at : at + PART] for at in range(0, len(unknown), PART)]
        failed = []
        for part, status in _each(parts, self._look_at):
            file = _part(part)
            if status:
                sys.exit(f"the tests could not be run: {part[0]} and those after it")
            found: dict[str, Reach] = pickle.loads(file.read_bytes())
            file.unlink()
            self._reached.add(found)
            failed += [name for name in part if name not in found]
        if failed:
            sys.exit("\n".join(("these fail without any change:", *failed)))

    def _look_at(self, names: list[str]) -> bool:
        found = self._reached.look(names, lambda name: self._passes([self._items[name]]))
        _part(names).write_bytes(pickle.dumps(found))
        return True

    def _judge(self, mutant: Mutant) -> bool:
        """Tell whether all tests pass that reach the change."""
        names = self._reached.tests(mutant, mutant.lines, PATIENCE)
        _limit(10 + 5 * self._reached.seconds(names))
        return not _swap(self._functions, mutant) or self._passes(
            [self._items[name] for name in names]
        )

    def _judge_anew(self, mutant: Mutant) -> bool:
        """Have a new interpreter take this process over, and tell whether all tests pass that reach the function."""
        names = self._reached.tests(mutant, mutant.lines, FRESH_PATIENCE)
        names += self._reached.tests(
            mutant, mutant.body, FRESH_PATIENCE - self._reached.seconds(names)
        )
        names = list(dict.fromkeys(names))
        _limit((60 if names else 900) + 5 * self._reached.seconds(names))
        # no test reaches what runs only as its module is imported: then those of its folder
        names = names or [f"tests/{Path(mutant.path).parent.relative_to('webhook')}"]
        job = BUILD / f"{mutant.key}.json"
        job.write_text(json.dumps({"path": mutant.path, "source": mutant.source(), "tests": names}))
        os.execv(sys.executable, [sys.executable, "-m", "tests.mutation.fresh", str(job)])

    def _passes(self, tests: list[pytest.Item]) -> bool:
        """Run tests until one fails; tell whether none did."""
        for cache in self._caches:
            cache.cache_clear()
        before = self._session.testsfailed
        for test, following in zip(tests, [*tests[1:], None], strict=False):  # there may be none
            test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            if self._session.testsfailed != before:
                return False
        return True


def _part(names: list[str]) -> Path:
    return BUILD / f"look-{hashlib.sha256(names[0].encode()).hexdigest()[:16]}"


def _outcome(mutant: Mutant, status: int, survived: Outcome) -> Outcome:
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == BROKEN:
        sys.exit(f"could not be run: {mutant.label}")
    return Outcome.KILLED if status else survived


def _each(todo: list[Work], work: Callable[[Work], bool]) -> Iterator[tuple[Work, int]]:
    """Have forked processes do work, two at a time; give each piece with the status of its process, and tell how far the run is."""
    began, running, waiting = time.monotonic(), dict[int, Work](), todo[::-1]
    while waiting or running:
        while waiting and len(running) < PROCESSES:
            one = waiting.pop()
            running[_fork(work, one)] = one
        pid, status = os.wait()
        yield running.pop(pid), status
        done = len(todo) - len(waiting) - len(running)
        if done % 20 == 0 or done == len(todo):
            left = (time.monotonic() - began) / done * (len(todo) - done) / 60
            print(f"{done} of {len(todo)}, {left:.0f} minutes left", flush=True)


def _fork(work: Callable[[Work], bool], one: Work) -> int:
    """Fork a process that does work, quietly; it ends with status 0 if that gives True, 1 if False. Give its process ID."""
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    errors, nothing = os.dup(2), os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    status = BROKEN
    try:
        status = 0 if work(one) else 1
    except MemoryError:
        status = 1  # a mutant that collects without end: see _limit
    except BaseException:
        os.write(errors, traceback.format_exc().encode())
    finally:
        os._exit(status)


def _limit(seconds: float) -> None:
    """End this process once it has used so much processor time from now on, or too much memory: a mutant may loop for ever."""
    used = sum(os.times()[:2])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + seconds) + 1, resource.RLIM_INFINITY))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)


def _functions() -> Functions:
    """Give the functions of webhook/core by their code."""
    functions: Functions = {}
    for one in gc.get_objects():
        if isinstance(one, types.FunctionType) and one.__code__.co_filename.startswith(f"{CORE}/"):
            functions.setdefault(one.__code__, []).append(one)
    return functions


def _swap(functions: Functions, mutant: Mutant) -> bool:
    """Put the mutant's code into the functions that exist; tell whether that could be done."""
    path = str(ROOT / mutant.path)
    swapped = False
    todo = [(compile(Path(path).read_text(), path, "exec"), compile(mutant.source(), path, "exec"))]
    while todo:
        old, new = todo.pop()
        for function in functions.get(old, ()):
            if old != new:
                if old.co_freevars != new.co_freevars:
                    return False
                function.__code__ = new
                swapped = True
        olds, news = (
            [one for one in code.co_consts if isinstance(one, types.CodeType)]
            for code in (old, new)
        )
        if len(olds) == len(news):
            todo += zip(olds, news, strict=True)
    return swapped


def _caches() -> list["functools._lru_cache_wrapper[object]"]:
    """Give the caches of our functions: what other tests left in them would hide a mutant."""
    return [
        one
        for one in gc.get_objects()
        if isinstance(one, functools._lru_cache_wrapper)
        and one.__module__.startswith(("webhook.", "tests."))
    ]
