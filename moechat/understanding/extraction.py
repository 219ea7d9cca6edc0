"""Understanding by a model: one call for a batch of exchanges yields what every layer needs.

The model sees the exchanges, with the user's lines marked apart from the character's, and by number the findings that stand and
that they may touch. It never sees what was recalled. ``drafts`` says what becomes of its answer. Of two tries the better is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from moechat.ai.chat_model import ChatModel
from moechat.ai.failure import Failure
from moechat.model import (
    Episode,
    Exchange,
    Fact,
    Message,
    RefusedItem,
    Understanding,
)
from moechat.settings.prompts import TEMPLATES, Prompts
from moechat.understanding import answer
from moechat.understanding.drafts import CheckedAnswer
from moechat.when.names import WEEKDAYS, tongue_of

TRIES = 2
PROBLEM_CHARS = 300
_LABELS = {"zh": ("用户", "角色"), "en": ("user", "character")}
_PLAN = {"zh": {"planned": "计划", "open": "还没完"}, "en": {"planned": "plan", "open": "not over"}}
Around = Callable[[Exchange], tuple[Sequence[str], str]]


class NoAnswer(Failure):
    """Nothing of two answers can be used, though there was something to say. ``refused`` is what they said instead.

    ``is_empty``: the last one kept to the form, and noted nothing that stands.
    """

    def __init__(self, model: str, problem: str, refused: Sequence[RefusedItem], *, is_empty: bool) -> None:
        super().__init__("unformed", "en", model=model, detail=problem)
        self.refused, self.is_empty = refused, is_empty


def understand(
    model: ChatModel,
    exchanges: Sequence[Exchange],
    *,
    standing: Sequence[Fact | Episode] = (),
    names: tuple[str, str],
    now: datetime,
    prompts: Prompts,
    topics: str = "",
    timeout_s: float = 15,
    record: tuple[int, int] = (0, 0),
    around: Around = lambda _: ((), ""),
) -> Understanding:
    """What the exchanges say, by one call of the model.

    A second call follows if the first answer cannot be used as it is; its prompt says what was wrong. ``standing`` are the
    findings that the exchanges may touch; the model may end, replace or unsay each. ``names`` are the user's and the character's.
    ``topics`` is the topic tree as text. ``timeout_s`` is per call. ``record``: so many of the model's findings bore a true quote
    until now, of so many. ``around`` gives the user's messages before an exchange, oldest first, and the one behind it. Raises
    ModelError as the model does, and NoAnswer after two answers of which nothing can be used.
    """
    if not exchanges:
        return Understanding()
    tongue = "en" if prompts.language == "en" else "zh"
    values = {
        "user": names[0],
        "char": names[1],
        "now": _moment(now, tongue),
        "before": "\n".join(f"({n}) {line(finding)}" for n, finding in enumerate(standing, 1)),
        "topics": topics.strip(),
        "exchanges": shown(exchanges, tongue),
    }
    best: Understanding | None = None
    problem, refused, is_empty = "", tuple[RefusedItem, ...](), False
    for _ in range(TRIES):
        prompt = prompts.fill("extraction", **values, problem=problem)
        text = model.complete([Message("user", prompt)], schema=answer.schema(), timeout_s=timeout_s)
        unreadable = list[answer.Unreadable]()
        try:
            extracted = answer.read(text, leaving_out=unreadable)
        except ValueError as error:
            problem, is_empty = str(error)[:PROBLEM_CHARS], False
            continue
        without_talk = prompts.fill("extraction", **values | {"before": "-", "exchanges": "-", "problem": ""})
        checked = CheckedAnswer(exchanges, names, standing, without_talk, record, around).understanding(
            extracted, unreadable
        )
        is_answer = _size(checked) > 0 or checked.trusted or not _is_found_in(exchanges, standing)
        if is_answer and not unreadable:
            return checked
        if is_answer and (best is None or _size(checked) > _size(best)):
            best = checked
        refused, is_empty = checked.refused, not unreadable
        problem = "; ".join(f"{kind}: {text}" for kind, text in unreadable)[:PROBLEM_CHARS] or "nothing was noted"
    if best is None:
        raise NoAnswer(model.name, problem, refused, is_empty=is_empty)
    return best


def instructions(prompts: Prompts) -> str:
    """The prompt without anything of a talk."""
    return prompts.fill("extraction", **dict.fromkeys(TEMPLATES["extraction"], ""))


def _size(understanding: Understanding) -> int:
    return len(understanding.facts) + len(understanding.events) + len(understanding.kept)


def _is_found_in(exchanges: Sequence[Exchange], standing: Sequence[Fact | Episode]) -> bool:
    """Whether any of the findings is of these exchanges alone."""
    ids = {exchange.id for exchange in exchanges}
    return any(finding.sources and ids.issuperset(finding.sources) for finding in standing)


def line(finding: Fact | Episode) -> str:
    """A finding as the model sees it; a plan with its days."""
    text = " ".join(finding.text.split())
    if isinstance(finding, Fact) or not finding.event.is_ahead:
        return text
    days = sorted({f"{moment:%Y-%m-%d}" for moment in finding.event.happened or ()})
    label = _PLAN[tongue_of(text)][finding.event.status]
    return f"{text} [{' '.join([label, '/'.join(days)]).strip()}]"


def shown(exchanges: Sequence[Exchange], language: str) -> str:
    """The exchanges as the model sees them: numbered from 1, dated, every line marked with whose it is."""
    user, char = _LABELS[language]
    blocks = []
    for number, exchange in enumerate(exchanges, 1):
        head = f"[{number}] {_moment(exchange.at, language)}"
        blocks.append("\n".join([head, *_marked(user, exchange.sent), *_marked(char, exchange.char)]))
    return "\n\n".join(blocks)


def _moment(at: datetime, language: str) -> str:
    return f"{at:%Y-%m-%d %H:%M} {WEEKDAYS[language][at.weekday()]}"


def _marked(whose: str, text: str) -> Iterator[str]:
    """Every line is marked, so that no line of a message passes for another's."""
    return (f"{whose}> {line}" for line in text.strip().splitlines() if line.strip())
