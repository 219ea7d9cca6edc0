"""Sentences through every reader: ``python -m tests.fuzz.sentences --count 100000 --seed 1``.

Whatever reads what people say (times, questions, rules, words, quotes, the offline replies) gets sentences of the shared
data, of the tests' own tables, and mutations of them. No reader may raise, and none may take longer than ``LONGEST_S``
of CPU over one. What fails is shown with the smallest text that still fails, and the exit status is 1. The slowest call of each
reader is told at the end: a text that doubles and takes four times as long is a fault, too.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import random
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import FrameType

from moechat.ai.chat_model import ChatRequest
from moechat.ai.offline.model import OfflineModel
from moechat.ai.offline.retelling import fact_to_user, retold, said_by_user
from moechat.cue import Cue
from moechat.index import traits
from moechat.language import association, words
from moechat.memory import contradiction
from moechat.memory.diary import asked_spans
from moechat.model import Exchange, Hit
from moechat.rules import importance, message, reading, topics
from moechat.understanding import answer, gate
from moechat.when import asks, en_times, resolve, shown, zh

TESTS = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("MOECHAT_SHARED", TESTS.parents[1] / "shared"))
CHINA = timezone(timedelta(hours=8))
NOW = datetime(2025, 5, 21, 15, 0, tzinfo=CHINA)
NOWS = [
    *(6 * [NOW]),
    datetime(2024, 2, 29, 0, 10, tzinfo=CHINA),
    datetime(2024, 12, 31, 23, 59, 59, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=CHINA),
    datetime(9999, 12, 31, 12, 0, tzinfo=timezone(timedelta(hours=-9))),
]
LONGEST_S = 5.0
SAID = 500  # Longer texts of the shared data are cut: it is sentences that are read here.
PASTED = 20_000  # A doubled text has at most so many characters.
NAMES = ("阿明", "小满")


# ---- the readers


@dataclass(frozen=True)
class Sentence:
    """``other`` is another sentence: of a pair, one may be what was said, and one what is claimed of it."""

    text: str
    other: str
    now: datetime


def _times(one: Sentence) -> None:
    for use in ("recall", "writing"):
        for anchors in (None, lambda what: (NOW, NOW) if len(what) % 2 else None):
            spans = resolve(one.text, one.now, use=use, anchors=anchors)  # type: ignore[arg-type]
            asks(one.text, spans)
            for span in spans:
                assert span.start <= span.end
                shown(span.start, NOW, "zh")


def _cue(one: Sentence) -> None:
    cue = Cue(one.text, one.now)
    asked_spans(cue), cue.words, cue.clauses


def _rules(one: Sentence) -> None:
    understood = reading.understand(
        Exchange("1", one.now, one.text, one.other), user_name="阿明", character_name="小满"
    )
    for event in understood.events:
        topics.path_for(event)
        importance.rate(event, known_matters=frozenset(importance.matters(event)))
    for new in understood.facts:
        for old in reading.understand(Exchange("2", one.now, one.other, "")).facts:
            contradiction.relation(new, old)
            contradiction.relation(old, new)


def _ratings(one: Sentence) -> None:
    importance.rate(one.text)
    importance.marks(one.text)
    rating = importance.read_rating(one.text)
    assert rating is None or 0.1 <= rating <= 1
    topics.paths_in(one.text)


def _words(one: Sentence) -> None:
    for read in (words.tokens, words.content_tokens, words.keywords, words.clauses, words.count_tokens, words.words):
        read(one.text)


def _traits(one: Sentence) -> None:
    traits.of(one.text), traits.asking(one.text), traits.asks_when(one.text), traits.side_meant(one.text)
    traits.asked_words(traits.without_names(one.text, NAMES))
    traits.names(one.text, one.other[:20])


def _association(one: Sentence) -> None:
    _, base = association.base_words(one.text, names=NAMES, vocabulary=frozenset(words.words(one.other)))
    association.expand(base, [association.shipped()])


def _gate(one: Sentence) -> None:
    exchange = Exchange("1", one.now, one.text, one.other)
    for quote in (one.other, one.text[:10], one.text):
        gate.found(quote, [exchange], {"1": message.read(one.text)})
    gate.dates_stand((one.now, one.now), [exchange], ())


def _answer(one: Sentence) -> None:
    for text in (one.text, f'{{"exchanges": [{{"id": 1, "tag": {json.dumps(one.text)}}}], "facts": {one.text}'):
        for leaving_out in (None, []):
            with contextlib.suppress(ValueError):
                answer.read(text, leaving_out=leaving_out)


def _offline(one: Sentence) -> None:
    _replied(one.text, one.other)


def _retold(one: Sentence) -> None:
    _replied(one.other, one.text)
    for language in ("zh", "en"):
        fact_to_user(one.text, "阿明", language)
        retold(one.text, set(words.tokens(one.other)), *NAMES, language)
    said_by_user(one.text, *NAMES)


def _replied(text: str, remembered: str) -> None:
    """What is said without a model to a message, where something is remembered."""
    cue = Cue(text, NOW)
    hits = [
        Hit("diary", "events", "1", f"阿明：{remembered}\n小满：{remembered}", 1.0, NOW, ("1",)),
        Hit("core", "profile", "2", remembered, 1.0, NOW, ("1",)),
        Hit("lore", "lore", "3", remembered, 1.0, None, ()),
    ]
    context = [Exchange("0", NOW, text, remembered)]
    request = ChatRequest(
        [], text=text, now=NOW, spans=cue.spans, empty_spans=cue.spans[:1], hits=hits, context=context
    )
    list(OfflineModel().stream(request))


READERS: dict[str, Callable[[Sentence], None]] = {
    reader.__name__[1:]: reader
    for reader in (_times, _cue, _rules, _ratings, _words, _traits, _association, _gate, _answer, _offline, _retold)
}

# ---- the sentences


def own_sentences() -> list[str]:
    """Every string of the tests' own tables that is a sentence or a phrase."""
    found: dict[str, None] = {}
    for path in [
        *sorted(TESTS.glob("*_table*.py")),
        *sorted(TESTS.glob("*_blind.py")),
    ]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and 2 < len(node.value) <= SAID:
                found[node.value] = None
    return list(found)


def shared_sentences() -> list[str]:
    """What people say in the shared data, [] where it is absent."""
    found: dict[str, None] = {}
    for path in sorted((SHARED / "data").rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            for key in ("text", "question", "answer"):
                text = row.get(key)
                if isinstance(text, str) and text:
                    found[text[:SAID]] = None
                    found |= dict.fromkeys(
                        part for part in re.findall(r"[^。！？.!?\n]+[。！？.!?]*", text[:SAID]) if len(part) > 3
                    )
    return list(found)


def time_words() -> list[str]:
    source = str(vars(zh)) + str(vars(en_times))
    return sorted({*re.findall(r"[\u4e00-\u9fff]{1,4}", source), *re.findall(r"[A-Za-z][A-Za-z']{2,}", source)})


QUANTIFIERS = (
    "每 所有 没有 不 别 没 都 从来不 几乎 好几 第一次 上次 不是不 如果 要是 谁 什么 吗 ？ every all none never not hardly don't "
    "isn't if whenever first last no more than ago before after since until between and or but ? n't"
).split()
HUGE = [
    "9" * 400, "0" * 60, "1e999", "-1", "１２３４５６７８９０", "一万亿亿", "九" * 40, "三千二百万", "99999999", "0.0000001",
    "²³", "①", "٣", "৪",
    "2025-02-30", "9999-99-99", "25:61", "1/0", "1" * 30 + "岁", "2" * 30 + "年前", "9" * 12 + " years ago",
]  # fmt: skip
NOISE = [
    "\u200b", "\u200d", "\u202e", "\ufeff", "\u0301", "\ufffd", "\x00", "\x0b", "\t", "\r\n", "\u2028", "\u3000", "ﬀ", "İ",
    "ſ", "ß", "Å", "🙂", "👩‍👩‍👧",
    "𠮷", "○", "＠", "\\", "{}", "{0}", "%s", "(", "[", "“", "「", "*", "'", '"', "＜", "&#", "\ue000", "\U0010ffff",
]  # fmt: skip


@dataclass
class Sentences:
    """Sentences and mutations of them, the same for the same seed."""

    seed: int
    shared: bool = True
    pool: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.pool = own_sentences() + (shared_sentences() if self.shared else [])
        self._times = time_words()
        self._rng = random.Random(self.seed)

    def __iter__(self) -> Iterator[Sentence]:
        while True:
            text = self._rng.choice(self.pool)
            for _ in range(self._rng.choice((0, 1, 1, 2, 2, 3, 5))):
                text = self._rng.choice(self.MUTATIONS)(self, text)
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            yield Sentence(text[:PASTED], self._rng.choice(self.pool), self._rng.choice(NOWS))

    def _put_in(self, text: str, piece: str) -> str:
        at = self._rng.randint(0, len(text))
        between = " " if piece[:1].isascii() and self._rng.random() < 0.8 else ""
        return f"{text[:at]}{between}{piece}{between}{text[at:]}"

    def _spliced(self, text: str) -> str:
        other = self._rng.choice(self.pool)
        return text[: self._rng.randint(0, len(text))] + other[self._rng.randint(0, len(other)) :]

    def _swapped(self, text: str) -> str:
        mine, theirs = self._cut_up(text), self._cut_up(self._rng.choice(self.pool))
        for _ in range(self._rng.randint(1, 4)):
            if mine and theirs:
                mine[self._rng.randrange(len(mine))] = self._rng.choice(theirs)
        return "".join(mine)

    @staticmethod
    def _cut_up(text: str) -> list[str]:
        return re.findall(r"[\u4e00-\u9fff]{1,2}|\w+|\W", text)

    def _cut(self, text: str) -> str:
        start, end = sorted(self._rng.randint(0, len(text)) for _ in range(2))
        return self._rng.choice((text[start:end], text[:start] + text[end:]))

    def _doubled(self, text: str) -> str:
        start, end = sorted(self._rng.randint(0, len(text)) for _ in range(2))
        times = self._rng.choice((2, 2, 3, 5, 20)) if self._rng.random() < 0.98 else PASTED
        piece = text[start:end]
        return text[:end] + piece * min(times, PASTED // max(len(piece), 1)) + text[end:]

    def _with_time(self, text: str) -> str:
        return self._put_in(text, self._rng.choice(self._times))

    def _with_quantifier(self, text: str) -> str:
        return self._put_in(text, self._rng.choice(QUANTIFIERS))

    def _with_number(self, text: str) -> str:
        return self._put_in(text, self._rng.choice((*HUGE, str(self._rng.randint(0, 3000)))))

    def _with_noise(self, text: str) -> str:
        return self._put_in(text, self._rng.choice(NOISE) * self._rng.choice((1, 1, 1, 3, 50)))

    def _nested(self, text: str) -> str:
        open_, close = self._rng.choice(("()", "（）", "“”", "「」", "[]", '""', "**", "{}", "《》"))
        depth = self._rng.choice((1, 2, 5, 200))
        return open_ * depth + text + close * self._rng.choice((depth, 0))

    def _folded(self, text: str) -> str:
        return self._rng.choice((text.upper(), text.title(), text.translate(str.maketrans("ski'", "ſKı’")), text[::-1]))

    MUTATIONS: Sequence[Callable[[Sentences, str], str]] = (
        _spliced, _swapped, _cut, _doubled, _with_time, _with_time, _with_quantifier, _with_number, _with_noise, _nested, _folded,
    )  # fmt: skip


# ---- running


class TooSlow(Exception):
    """A reader took longer than ``LONGEST_S`` of CPU."""


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raises TooSlow in what runs longer; without a limit where the system has no such clock."""
    if not hasattr(signal, "ITIMER_VIRTUAL"):
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"longer than {seconds:g} s of CPU")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def fault(reader: Callable[[Sentence], None], sentence: Sentence) -> str:
    """What a reader raises over a sentence, "" for nothing: the error and the line that it comes from."""
    try:
        with _limited(LONGEST_S):
            reader(sentence)
    except Exception as error:  # noqa: BLE001 (any is a fault)
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno} {error}"
    return ""


def smallest(reader: Callable[[Sentence], None], sentence: Sentence, kind: str) -> Sentence:
    """A sentence with the same fault from which no piece can be taken."""
    size = len(sentence.text) // 2
    while size:
        for start in range(0, len(sentence.text), size):
            shorter = Sentence(sentence.text[:start] + sentence.text[start + size :], sentence.other, sentence.now)
            if fault(reader, shorter).split(" ")[0:3] == kind.split(" ")[0:3]:
                sentence = shorter
                break
        else:
            size //= 2
    return sentence


@dataclass
class Outcome:
    """``faults`` by kind, each with its first sentence; ``slowest`` is (CPU seconds, text) by reader."""

    count: int = 0
    faults: dict[str, Sentence] = field(default_factory=dict)
    slowest: dict[str, tuple[float, str]] = field(default_factory=dict)


def run(sentences: Iterator[Sentence], count: int) -> Outcome:
    outcome = Outcome()
    for sentence in sentences:
        if outcome.count == count:
            break
        outcome.count += 1
        for name, reader in READERS.items():
            begun = time.process_time()
            kind = fault(reader, sentence)
            taken = time.process_time() - begun
            if taken > outcome.slowest.get(name, (0.0, ""))[0]:
                outcome.slowest[name] = (taken, sentence.text)
            place = f"{name}: {kind.split(' ', 3)[:3]}"
            if kind and place not in outcome.faults:
                small = sentence if kind.startswith("TooSlow") else smallest(reader, sentence, kind)
                outcome.faults[place] = small
                print(f"{name}: {kind}\n    {small.text[:300]!r}\n    {small.other[:300]!r} {small.now}", flush=True)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    begun = time.process_time()
    outcome = run(iter(Sentences(arguments.seed)), arguments.count)
    print(f"{outcome.count} sentences, {len(outcome.faults)} faults, {time.process_time() - begun:.0f} s CPU")
    for name, (taken, text) in outcome.slowest.items():
        print(f"  slowest {name}: {taken:.3f} s over {len(text)} characters: {text[:60]!r}")
    return bool(outcome.faults)


if __name__ == "__main__":
    sys.exit(main())
