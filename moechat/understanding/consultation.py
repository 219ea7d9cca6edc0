"""What reflection asks of a chat model: questions, insights with their evidence, condensation and ratings (seed 001).

The prompts are the seed's (``prompts/<language>/reflect_*.txt``, ``rate_importance.txt``). A model answers in text; the
``parse_`` functions read it and leave out what they cannot use. This module knows no memory: a statement is a number and a
text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from moechat.ai.chat_model import ChatModel
from moechat.language import words
from moechat.model import Message
from moechat.rules.importance import read_rating
from moechat.settings.prompts import Prompts

QUESTIONS = 3
INSIGHTS = 5
ABOUT_PEOPLE = ("reflect_questions", "reflect_insights")
WIDEST_RANGE = 1000  # A wider one, as [1-999999999], cites nothing.

Statement = tuple[int, str]
Insight = tuple[str, list[int]]

_ROLES = re.compile(r"^---[ \t]*$", re.MULTILINE)  # This line of a prompt divides the system's part from the user's.
_MARKER = re.compile(r"\s*(?:[(（]?\d+\s*(?:[.)）、．:：](?!\d))|[-*+•·–—])\s*(?=\S)")
_GROUP = re.compile(r"[\[【［]([^\[\]【】［］]*)[\]】］]")
_CITED = re.compile(r"(?<!\d)(\d{1,9})(?:\s*[-–—~〜至到]\s*(\d{1,9}))?(?!\d)")
_CITING = re.compile(r"[(（]?\s*(?:evidence|证据|依据)?\s*[:：(（]\s*$", re.IGNORECASE)
_RATED = re.compile(r"\W*(\d{1,9})\s*[.)）、．:：]\s*(\S.*)")


@dataclass
class Cost:
    """What the questions to a model cost; tokens are estimates (``language.words.count_tokens``)."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)

    def __str__(self) -> str:
        return f"{self.calls} calls, about {self.tokens_in} tokens in and {self.tokens_out} out"


@dataclass
class Consultation:
    """Asks one model and counts what it costs. Every method raises ModelError as the model does.

    ``timeout_s`` is per call. ``people`` says whose memories these are; it comes before what is asked about them.
    """

    model: ChatModel
    prompts: Prompts
    timeout_s: float = 60.0
    people: str = ""
    cost: Cost = field(default_factory=Cost)

    def questions(self, statements: Sequence[Statement]) -> list[str]:
        """The three questions that these statements raise, fewer where the answer held fewer."""
        return parse_questions(self._ask("reflect_questions", recent_memory_prompt=numbered(statements)))

    def insights(self, statements: Sequence[Statement], question: str) -> str:
        """The insights that the statements give into a question, as text: one a line, with the numbers it rests on."""
        return self._ask("reflect_insights", relevant_memories=numbered(statements), question=question)

    def condensed(self, insights: str) -> str:
        """At most five insights, as text, that sum up more of them."""
        return self._ask("reflect_condense", insight_list=insights)

    def status(self, name: str, day: str, before: str, statements: Sequence[str]) -> str:
        """How somebody is on a day, as text, from what they remember and how they were ``before``."""
        lines = "\n".join(statements)
        return self._ask("revise_identity", char=name, day=day, currently=before, statements=lines)

    def rating(self, text: str) -> float | None:
        """How much something matters, .1 … 1; None where the answer holds no number."""
        return read_rating(self._ask("rate_importance", input_text=" ".join(text.split())))

    def ratings(self, texts: Sequence[str]) -> list[float | None]:
        """The same for several texts by one call."""
        if not texts:
            return []
        numbered_ratings = parse_ratings(self._ask("reflect_rate", insight_list=numbered(list(enumerate(texts, 1)))))
        return [numbered_ratings.get(number) for number in range(1, len(texts) + 1)]

    def _ask(self, name: str, **values: str) -> str:
        filled = self.prompts.fill(name, **values)
        *system, user = _ROLES.split(filled, maxsplit=1)
        about = [self.people] if self.people and name in ABOUT_PEOPLE else []
        messages = [Message("system", text.strip()) for text in (*about, *system)] + [Message("user", user.strip())]
        self.cost.calls += 1
        self.cost.tokens_in += sum(words.count_tokens(message.content) for message in messages)
        answer = self.model.complete(messages, timeout_s=self.timeout_s)
        self.cost.tokens_out += words.count_tokens(answer)
        return answer


def numbered(statements: Iterable[Statement]) -> str:
    """One statement a line after its number."""
    return "\n".join(f"{number}. {' '.join(text.split())}" for number, text in statements)


def parse_insights(text: str) -> list[Insight]:
    """(insight, numbers it cites) from a model's list (golden ``seed001_worked.json``, ``parse``, column ``sane``).

    One insight a line, after a number or a bullet. The last bracket group of the line is its evidence: ``[]`` or ``【】``,
    back-ticks allowed, ranges expanded, each number once. A line without evidence is left out.
    """
    insights: list[Insight] = []
    for line in text.splitlines():
        marker = _MARKER.match(line)
        groups = list(_GROUP.finditer(line, marker.end())) if marker else []
        if marker is None or not groups:
            continue
        evidence = cited(groups[-1][1])
        before = " ".join(line[marker.end() : groups[-1].start()].split())
        after = " ".join(line[groups[-1].end() :].split()).strip(".。;；,，)）`* ")
        insight = f"{_CITING.sub('', before)} {after}".strip()
        if evidence and insight:
            insights.append((insight, evidence))
    return insights


def cited(group: str) -> list[int]:
    """The numbers in a bracket group, in order, each once; ``3-5`` is 3, 4, 5."""
    numbers: dict[int, None] = {}
    for first, last in _CITED.findall(unicodedata.normalize("NFKC", group)):
        start, end = int(first), int(last or first)
        if 0 <= end - start <= WIDEST_RANGE:
            numbers.update(dict.fromkeys(range(start, end + 1)))
    return list(numbers)


def parse_questions(text: str) -> list[str]:
    """The first ``QUESTIONS`` questions of a model's answer, without their numbers.

    One question a line. If some lines are numbered, the others are left out; if some end with a question mark, too.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    marked = [line for line in lines if _MARKER.match(line)]
    asking = [line for line in marked or lines if line.rstrip('*_"”`) ').endswith(("?", "？"))]
    bare = (_MARKER.sub("", line, count=1).strip('*_"“”` ') for line in asking or marked or lines)
    return list(dict.fromkeys(line for line in bare if line))[:QUESTIONS]


def parse_ratings(text: str) -> dict[int, float]:
    """Number → rating (.1 … 1) from lines such as ``2. 7``."""
    ratings: dict[int, float] = {}
    for line in unicodedata.normalize("NFKC", text).splitlines():
        if (match := _RATED.match(line)) and (rating := read_rating(match[2])) is not None:
            ratings.setdefault(int(match[1]), rating)
    return ratings
