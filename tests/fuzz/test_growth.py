"""No reader of foreign text takes more than about twice as long over twice the text: a short part of ``tests.fuzz.growth``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from moechat.reading import saying
from moechat.when import LONGEST_READ
from tests.fuzz.growth import KB, MOST, Read, Text, calls, cpu_s, doors, slow, texts

SHORT, LONG = 6_000, 24_000
MOST_TIMES = 9.0  # A line takes four times as long over four times the text, a square sixteen times.
FREE_S, FREE_CALLS = 0.25, 3_000
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def readers() -> Iterator[Mapping[str, Read]]:
    with doors() as every:
        for read in every.values():
            read("我住在杭州, I live in Leeds")  # what it loads is loaded
        yield every


def test_twice_the_text_calls_no_more_than_about_twice_the_functions(readers: Mapping[str, Read]) -> None:
    much = {}
    for text in [*texts(30)][::6]:
        for name, read in readers.items():
            if name != "turn":
                short, long = (calls(read, text.of(size)) for size in (12 * KB, 24 * KB))
                if long > max(MOST * short, FREE_CALLS):
                    much[name, text] = (short, long)
    assert much == {}


def test_four_times_the_text_takes_no_square_of_the_time(readers: Mapping[str, Read]) -> None:
    long = {}
    for text in [*texts(30)][1::6]:
        for name, read in readers.items():
            if name != "turn" or text.piece in ("[", "1"):
                times = [cpu_s(read, text.of(size)) for size in (SHORT, LONG)]
                if times[1] > max(FREE_S, MOST_TIMES * times[0]):
                    long[name, text] = times
    assert long == {}


@pytest.mark.parametrize("piece", ["\n", " ", "，"])
def test_a_word_behind_a_page_of_marks_is_weighed_as_fast_as_others(readers: Mapping[str, Read], piece: str) -> None:
    text = Text("", piece, "你好, hello")
    short, long = (cpu_s(saying.saying, text.of(size)) for size in (LONGEST_READ // 4, LONGEST_READ))
    assert long <= max(FREE_S, MOST_TIMES * short)


def test_a_square_is_found() -> None:
    def pairs(text: str) -> int:
        return sum(text[at] == text[other] for at in range(0, len(text), 64) for other in range(0, len(text), 8))

    assert "then" in slow("pairs", pairs, Text("", "a"), 64) or "s over" in slow("pairs", pairs, Text("", "a"), 64)
    assert calls(lambda text: [text.find("b") for _ in text], "a" * 2000) > 2 * calls(
        lambda text: [text.find("b") for _ in text], "a" * 900
    )


@pytest.mark.soak
def test_two_hundred_texts_up_to_half_a_megabyte() -> None:
    seed = os.environ.get("SEED", "1")
    command = [sys.executable, "-m", "tests.fuzz.growth", "--seeds", "200", "--largest", "512", "--seed", seed]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout
