"""Inputs run in child processes with bounds, so that a crash, a hang or a flood of memory is a finding and not the end."""

from __future__ import annotations

import contextlib
import faulthandler
import mmap
import os
import resource
import shutil
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.mutations import mutated, shaped
from tests.fuzz.parsers import PARSERS, Parser

LONGEST_S = 5  # CPU over one input.
WAITS_S = 120  # By the wall clock: a read that waits for nobody.
MEMORY = 500 << 20  # Beyond what the child has at its start.
SHAPED = 0.05  # So many of the inputs are values of any shape, by hypothesis.
_SHOWN = 2000


@dataclass
class Fault:
    """What one input did. ``where`` is the place in the package; inputs that fail there alike are one fault."""

    parser: str
    where: str
    what: str
    number: int
    data: bytes

    def told(self) -> dict[str, object]:
        return vars(self) | {"data": repr(self.data[:_SHOWN])}


@dataclass
class Outcome:
    """What became of the inputs of one parser."""

    parser: str
    inputs: int = 0
    cpu_s: float = 0.0
    faults: dict[tuple[str, str], Fault] = field(default_factory=dict)

    def add(self, fault: Fault) -> None:
        self.faults.setdefault((fault.where, fault.what.split(":")[0]), fault)


def run(parser: Parser, inputs: int, seed_number: int, *, first: int = 0, warm: bool = True) -> Outcome:
    """``inputs`` inputs, from number ``first`` on. ``warm``: the examples are read first, in this process."""
    for example in parser.examples if warm else ():  # What the parser loads is loaded here, once.
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(*parser.refusals):
            parser.read(example, Path(folder))
    outcome, begun = Outcome(parser.name), _children_cpu_s()
    by_hypothesis = int(inputs * SHAPED) if parser.form != "text" else 0
    at, end = first, first + inputs - by_hypothesis
    while at < end:
        at = _batch(outcome, parser, partial(_mutations, parser, seed_number, at, end), end)
    if by_hypothesis:
        _batch(outcome, parser, partial(_shapes, parser, seed_number, by_hypothesis), 0)
    outcome.inputs, outcome.cpu_s = inputs, _children_cpu_s() - begun
    return outcome


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _mutations(parser: Parser, seed_number: int, first: int, end: int) -> Iterator[tuple[int, bytes]]:
    for number in range(first, end):
        yield number, mutated(parser, seed_number, number)


def _shapes(parser: Parser, seed_number: int, count: int) -> Iterator[tuple[int, bytes]]:
    made: list[bytes] = []

    @seed(seed_number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(shaped(parser))
    def collect(data: bytes) -> None:
        made.append(data)

    collect()
    yield from enumerate(made)


def _batch(outcome: Outcome, parser: Parser, inputs: Callable[[], Iterator[tuple[int, bytes]]], end: int) -> int:
    """Run inputs in a child until one of them kills it. Returns the number of the input to go on with."""
    place = mmap.mmap(-1, 16 + (1 << 20))  # The number of the input, its length, and the input itself.
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os._exit(_child(parser, inputs(), place, writer))
        except BaseException:  # noqa: BLE001 - the child must not go on as its parent
            traceback.print_exc()
            os._exit(1)
    os.close(writer)
    with open(reader, "rb") as pipe:
        for line in pipe:
            where, what, number, data = _fields(line)
            outcome.add(Fault(parser.name, where, what, number, data))
    _, status = os.waitpid(child, 0)
    number, length = int.from_bytes(place[:8], "little"), int.from_bytes(place[8:16], "little")
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        what = f"hangs: more than {LONGEST_S} s" if name in ("SIGPROF", "SIGALRM") else f"killed by {name}"
        outcome.add(Fault(parser.name, "", what, number, place[16 : 16 + length]))
        return number + 1
    if status:
        raise RuntimeError(f"the inputs of {parser.name} could not be made")
    return end


def _fields(line: bytes) -> tuple[str, str, int, bytes]:
    where, what, number, data = line.rstrip(b"\n").split(b"\t")
    return (
        where.decode(),
        bytes.fromhex(what.decode()).decode(errors="replace"),
        int(number),
        bytes.fromhex(data.decode()),
    )


def _child(parser: Parser, inputs: Iterator[tuple[int, bytes]], place: mmap.mmap, writer: int) -> int:
    faulthandler.disable()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    with contextlib.suppress(FileNotFoundError):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as home:
        for number, data in inputs:
            place[:16] = number.to_bytes(8, "little") + min(len(data), 1 << 20).to_bytes(8, "little")
            place[16 : 16 + len(data[: 1 << 20])] = data[: 1 << 20]
            folder = Path(home, str(number))
            folder.mkdir()
            signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
            signal.setitimer(signal.ITIMER_REAL, WAITS_S)
            try:
                parser.read(data, folder)
            except parser.refusals:
                pass
            except BaseException as error:  # noqa: BLE001 - that is what is looked for
                line = "\t".join([_where(error), _what(error).hex(), str(number), data[: 1 << 20].hex()])
                os.write(writer, line.encode() + b"\n")
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.setitimer(signal.ITIMER_REAL, 0)
                shutil.rmtree(folder, ignore_errors=True)
    return 0


def _where(error: BaseException) -> str:
    """The last place in the package that the error went through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/moechat/" in frame.filename] or list(frames)
    return f"{'/'.join(Path(own[-1].filename).parts[-2:])}:{own[-1].lineno}"


def _what(error: BaseException) -> bytes:
    return f"{type(error).__name__}: {str(error)[:300]}".encode(errors="replace")


def plan(inputs: int, only: str = "") -> list[tuple[Parser, int]]:
    """How many inputs each parser gets."""
    chosen = [parser for parser in PARSERS if only in parser.name]
    whole = sum(parser.share for parser in chosen)
    return [(parser, max(20, round(inputs * parser.share / whole))) for parser in chosen]


def all_parsers(inputs: int, seed_number: int, only: str = "", *, first: int = 0) -> Iterator[Outcome]:
    for parser, count in plan(inputs, only):
        yield run(parser, count, seed_number, first=first)
