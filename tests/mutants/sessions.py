"""Tests run on mutants without starting anew each time: pytest collects a room once, and each mutant is tried in a child
process of its own, which is given the fault in memory. No file of the checkout is ever changed.

Works where a process can be forked.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import json
import math
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from coverage import Coverage

from tests.mutants.operators import Mutant

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 4 << 30  # what an endless loop may take
SURVIVED, KILLED, TO_BE_IMPORTED = range(3)
OUTCOMES = {SURVIVED: "survived", KILLED: "killed"}


@dataclass(frozen=True)
class Baseline:
    """A room without a fault: the seconds of CPU of each test that passes, and which of them reach which lines of which module.

    A mutant meets no more tests than last ``within`` seconds together."""

    seconds: Mapping[str, float]
    reached: Mapping[str, Mapping[str, Sequence[str]]]
    within: float = math.inf

    def tests_for(self, mutant: Mutant) -> list[str]:
        """The tests that could see the fault, the quickest first; all of them, the module's own first, where importing it runs
        the fault."""
        lines = self.reached.get(mutant.module, {})
        reached = map(str, mutant.place.lines) if mutant.place.function else lines
        near = {test for line in reached for test in lines.get(line, ())}
        far = set() if mutant.place.function else set(self.seconds) - near
        ordered = [test for tests in (near, far) for test in sorted(tests, key=lambda one: (self.seconds[one], one))]
        lasting = itertools.accumulate(self.seconds[test] for test in ordered)
        return [test for test, seconds in zip(ordered, lasting, strict=True) if seconds <= self.within] or ordered[:1]


class Session:
    """A pytest session whose tests are run by ``job``, as often and in which order it likes."""

    def __init__(self, job: Callable[[Session], Iterable[Any]], rows: Any) -> None:
        self._job, self._rows = job, rows
        self.items: dict[str, pytest.Item] = {}
        self.reports: list[pytest.TestReport] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        for row in self._job(self):
            print(json.dumps(row), file=self._rows, flush=True)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.reports.append(report)

    def reports_of(self, test: str, following: str | None) -> list[pytest.TestReport]:
        """Run one test; what it shares with the one that follows stays set up."""
        self.reports.clear()
        item = self.items[test]
        item.ihook.pytest_runtest_protocol(item=item, nextitem=self.items[following] if following else None)
        return list(self.reports)

    def nearest(self, mutants: Sequence[Mutant]) -> list[str]:
        """All tests, those first whose file names what most of the mutants change: the function, or else the module."""
        files = {item.path: item.path.read_text(encoding="utf-8") for item in self.items.values()}
        names = [one.place.function[0].split(".")[-1] if one.place.function else one.stem for one in mutants]
        far = {path: sum(name not in text for name in names) for path, text in files.items()}
        return sorted(self.items, key=lambda test: far[self.items[test].path])

    def measure(self, mutants: Sequence[Mutant], within: float) -> Iterator[Baseline]:
        """Run the tests, the nearest first, and note which lines of the mutants' modules each reaches; no more of them than last
        ``within`` seconds a mutant."""
        include = sorted({str(ROOT / one.module) for one in mutants})
        coverage = Coverage(data_file=None, include=include, config_file=False)
        coverage.start()
        seconds: dict[str, float] = {}
        until = time.process_time() + within * len(mutants)
        for test, following in pairs(self.nearest(mutants)):
            if time.process_time() > until:
                break
            coverage.switch_context(test)
            begun = time.process_time()
            reports = self.reports_of(test, following)
            if all(report.passed for report in reports):
                seconds[test] = time.process_time() - begun
        coverage.stop()
        data = coverage.get_data()
        reached = {
            Path(file).relative_to(ROOT).as_posix(): {
                str(line): sorted(seconds.keys() & set(tests)) for line, tests in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        yield Baseline(seconds, reached, within)

    def outcome(self, mutant: Mutant, baseline: Baseline) -> int:
        """How the tests, as they are collected, take the mutant; the fault goes when the child process ends."""
        tests = [test for test in baseline.tests_for(mutant) if test in self.items]
        pid = os.fork()
        if pid == 0:
            status = KILLED
            with contextlib.suppress(BaseException):
                bound = int(20 + 10 * sum(baseline.seconds[test] for test in tests))
                resource.setrlimit(resource.RLIMIT_CPU, (bound, bound))
                resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
                signal.alarm(10 * bound)
                if is_imported(mutant) or is_put_in(mutant):
                    failed = any(report.failed for pair in pairs(tests) for report in self.reports_of(*pair))
                    status = KILLED if failed else SURVIVED
                else:
                    status = TO_BE_IMPORTED
            os._exit(status)
        _, status = os.waitpid(pid, 0)
        return KILLED if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def in_session(
    tests: Sequence[str], folder: Path, job: Callable[[Session], Iterable[Any]], mutant: Mutant | None = None
) -> Iterator[Any]:
    """The rows of ``job`` over the collected tests, in a process that imports ``mutant`` in place of its module."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reads)
        with os.fdopen(writes, "w") as rows, Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
            if mutant is not None:
                sys.meta_path.insert(0, Importer(mutant))
                for name in [name for name in sys.modules if name.split(".")[0] == "moechat"]:
                    del sys.modules[name]  # Whoever asks may have imported it.
            options = (
                "-n",
                "0",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:randomly",
                "-m",
                "not soak and not slow and not browser",
            )
            with contextlib.suppress(BaseException):
                pytest.main([*options, "--hypothesis-seed=0", f"--basetemp={folder / 'tests'}",
                             *(str(ROOT / path) for path in tests)], plugins=[Session(job, rows)])  # fmt: skip
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as rows:
        yield from map(json.loads, rows)
    os.waitpid(pid, 0)


def measured(mutants: Sequence[Mutant], tests: Sequence[str], folder: Path, within: float = math.inf) -> Baseline:
    [row] = in_session(tests, folder, lambda session: map(asdict, session.measure(mutants, within)))
    return Baseline(**row)


def pairs(tests: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Each test with the one that follows it."""
    return zip(tests, [*tests, None][1:], strict=True)


class Importer(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Imports a mutant in place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        name = mutant.module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        super().__init__(name, str(ROOT / mutant.module))
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        return (
            importlib.util.spec_from_file_location(fullname, self.path, loader=self) if fullname == self.name else None
        )

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._mutant.source, self.path, "exec", dont_inherit=True)


def is_imported(mutant: Mutant) -> bool:
    return any(isinstance(finder, Importer) for finder in sys.meta_path)


def is_put_in(mutant: Mutant) -> bool:
    """The running function has the mutant's code from now on. False where that cannot be done."""
    path = str(ROOT / mutant.module)
    gc.unfreeze()  # What the tests' conftest froze is not listed.
    functions = [one for one in gc.get_objects() if isinstance(one, FunctionType) and one.__code__.co_filename == path]
    codes = list(codes_in(compile(mutant.source, path, "exec", dont_inherit=True)))
    [*live] = (
        one for one in functions if (one.__code__.co_qualname, one.__code__.co_firstlineno) == mutant.place.function
    )
    [*changed] = (one for one in codes if (one.co_qualname, one.co_firstlineno) == mutant.place.function)
    if len(live) != 1 or len(changed) != 1 or live[0].__code__.co_freevars != changed[0].co_freevars:
        return False
    live[0].__code__ = changed[0]
    forget_results()
    return True


def forget_results() -> None:
    """What functions of ours keep of earlier calls was made without the fault."""
    for one in gc.get_objects():
        if isinstance(one, _lru_cache_wrapper) and one.__module__.startswith("moechat."):
            one.cache_clear()


def codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)
