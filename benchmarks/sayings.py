"""What is heard without a model, over sets of cases: danger and receipts, kinds of saying, facts, events, what may be eaten, and
what has changed.

    python -m benchmarks.sayings FILE.jsonl ...      (--show prints what went wrong)

A line of a file is an object; which set it is of, its keys say. ``text``, ``kind`` and ``danger``: whether the user's own
danger is heard, and no receipt given. ``say`` and ``class``: the kind of saying. ``say`` and ``facts`` or ``events``: what
is kept.
``said``, ``cannot``, ``ask``, ``touches`` and ``reason``: what is answered when somebody asks whether they may eat something.
``said``, ``now``, ``before`` and ``ask``: what the prompt holds when somebody asks for what has changed; it was said days apart.
"""

# ruff: noqa: T201  (a script that prints)

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from moechat.ai.chat_model import ChatRequest
from moechat.ai.offline import lines
from moechat.ai.offline.model import OfflineModel
from moechat.bench.years import Overheard, furnish, lines_of
from moechat.clock import SetClock
from moechat.house import House
from moechat.language.words import is_stop_word
from moechat.model import Event, Exchange, FactDraft
from moechat.reading.saying import DANGER, saying
from moechat.rules.message import read
from moechat.rules.reading import understand
from moechat.settings.character import Character
from moechat.when.names import chinese_number, has_han

CHARACTERS = {"zh": Character(Path("青禾"), "青禾", "用户", "zh"), "en": Character(Path("Wren"), "Wren", "User", "en")}
CLASSES = {
    "self": "self", "plan": "self", "day": "self", "other": "other", "record": "asks_record", "advice": "asks_advice",
    "greeting": "greets", "goodnight": "greets", "figure": "jokes", "joke": "jokes", "role": "plays", "glad": "glad",
    "hurt": "hurt", "quarrel": "quarrels", "danger": "danger", "danger_other": "danger", "limit": "limit",
    "takeback": "takes_back",
}  # fmt: skip
REFUSALS = [line for language in CHARACTERS for line in lines.says([], language)["eat_not"]]
DAYS_APART = timedelta(days=4)
CHINESE_AGE = re.compile("([零一二两三四五六七八九十百]+)(?:岁|周岁)?")
PLAIN = ("plain", "fact", "plan")  # A receipt is right for these alone.


def is_receipt(reply: str, language: str) -> bool:
    """Whether a reply says that it will remember, or says back what was told."""
    heads = (line.partition("{")[0] for line in lines.says([], language)["noted"])
    return any(head in reply for head in heads)


def heard(row: Mapping[str, Any]) -> tuple[bool, bool, str]:
    """(the user's own danger was heard, a receipt was given, the reply) of one saying."""
    language = "zh" if has_han(row["text"]) else "en"
    reply = "".join(OfflineModel().stream(ChatRequest([], CHARACTERS[language], row["text"])))
    return saying(row["text"]).kind == DANGER, is_receipt(reply, language), reply


def told(row: Mapping[str, Any], says: Sequence[str], ask: str = "") -> tuple[list[FactDraft], list[Event], str]:
    """The facts and events that the rules keep of messages, and the reply to ``ask`` after them."""
    at = datetime.fromisoformat(row.get("at", "2026-05-04T20:00")).replace(tzinfo=UTC)
    talk = [Exchange(f"e{i}", at + timedelta(minutes=i), text, "") for i, text in enumerate(says)]
    found = [understand(e, before=says[:i], after=says[i + 1] if i + 1 < len(says) else "") for i, e in enumerate(talk)]
    request = ChatRequest([], CHARACTERS[row["lang"]], ask, talk[-1].at + timedelta(minutes=1), context=talk)
    reply = "".join(OfflineModel().stream(request)) if ask else ""
    events = [event for one in found for event in one.events if event not in one.doubtful]
    return [f for one in found for f in one.facts], events, reply


def holds(text: str, value: str) -> bool:
    """Whether a text has one of the telling words of a value, two characters of it that stand together, or the age that it is."""
    text, value = text.casefold(), value.casefold()
    number = CHINESE_AGE.fullmatch(value)
    if number and str(round(chinese_number(number[1]) or 0)) in re.findall(r"\d+", text):
        return True
    if has_han(value):
        return any(value[at : at + 2] in text for at in range(max(1, len(value) - 1)))
    return any(word[:4] in text for word in re.findall(r"\w+", value) if not is_stop_word(word))


def classes(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool, str]]:
    """(what is counted, whether it is right, what to show) for sayings with their class."""
    for row in rows:
        kind = read(row["say"], row.get("before", ())).kind
        yield f"{row['lang']} {row['class']}", CLASSES.get(kind, "none") == row["class"], f"{kind}: {row['say']}"


def facts(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool, str]]:
    for row in rows:
        found, _, _ = told(row, row["say"])
        expected = list(row["facts"])
        for fact in found:
            own = (fact.entity == "user") if fact.kind == "attribute" else None
            fits = [
                e
                for e in expected
                if (holds(f"{fact.text} {fact.target}", e["value"]) and own in (None, e["whose"] == "user"))
                or (own is None and holds(fact.text, e["whose"]))  # It names whom the set knows something of.
            ]
            yield f"{row['lang']} precision", bool(fits), f"{fact.text} ← {row['say']}"
        for one in expected:
            fits = [fact for fact in found if holds(f"{fact.text} {fact.target}", one["value"])]
            yield f"{row['lang']} recall", bool(fits), f"{one} ← {row['say']}"


def events(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool, str]]:
    for row in rows:
        _, found, _ = told(row, [row["say"]])
        for event in found:
            user = event.subject in ("user", "用户")
            day = event.happened[0].date().isoformat() if event.happened else None
            fits = [
                e for e in row["events"]
                if holds(event.text, e["what"])
                and user == (e["who"] == "user")
                and (day is None or day == (e["when"] or day)[:10])
            ]  # fmt: skip
            yield f"{row['lang']} precision", bool(fits), f"{event.text} ({event.subject}) ← {row['say']}"
        for one in row["events"]:
            yield f"{row['lang']} recall", any(holds(e.text, one["what"]) for e in found), f"{one} ← {row['say']}"


def eating(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool, str]]:
    for row in rows:
        *_, reply = told(row, row["said"], row["ask"])
        reasoned = any(word.casefold() in reply.casefold() for word in row["reason"])
        refused = any(head and head in reply for line in REFUSALS for head in [line.partition("{")[0]])
        shown = f"{row['said']} {row['ask']} → {reply}"
        if row["touches"]:
            yield f"{row['lang']} touched, answered with the reason", reasoned and refused, shown
        else:
            yield f"{row['lang']} not touched, not refused", not refused, shown


def changes(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool, str]]:
    """Whether the prompt holds what is so now, and whether what is known as so holds what was so before."""
    for row in rows:
        clock, model, who = SetClock(datetime(2026, 3, 2, 20, tzinfo=UTC)), Overheard(), CHARACTERS[row["lang"]]
        with tempfile.TemporaryDirectory() as folder:
            config = furnish(Path(folder), who.name, who.user_name, row["lang"])
            with House(Path(folder) / "data", config, clock=clock, model=model, tick_s=3600) as house:
                agent = house.agent(who.name)
                for text in (*row["said"], row["ask"]):
                    list(agent.talk(text))
                    clock.at += DAYS_APART
                    agent.jobs.tick()
                    agent.settle_indexes()
                known = [one for one in agent.layers.core.current() if not one.draft.until and one.draft.polarity > 0]
        prompt = "\n".join(line for _, line in lines_of(model.request))
        facts = [one.text.casefold() for one in known if one.confirmed is not False]
        before, now = ([word.casefold() for word in row[key]] for key in ("before", "now"))
        stale = [
            text for text in facts if any(word in text for word in before) and not any(word in text for word in now)
        ]
        shown = f"{row['said']} {row['ask']}: {now} | {stale}"
        if now:
            yield f"{row['lang']} now held", all(word in prompt for word in now), shown
            yield f"{row['lang']} now held as a fact", all(any(word in text for text in facts) for word in now), shown
        yield f"{row['lang']} before not as present", not stale, shown


def sayings(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool, str]]:
    """Danger and receipts, of both formats."""
    for row in rows:
        text = row.get("text", row.get("say"))
        is_heard, receipt, reply = heard({"text": text})
        must = row.get("danger", row.get("heard"))
        shown = f"{saying(text).kind}: {text} → {reply}"
        yield f"{'danger' if must else 'none'} {row['kind']}", is_heard == must, shown
        if row["kind"] not in PLAIN:
            yield "no receipt", not receipt, shown


MEASURES = {
    "class": classes,
    "facts": facts,
    "events": events,
    "cannot": eating,
    "before": changes,
    "kind": sayings,
}  # by a key of their rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    for file in options.files:
        rows = list(map(json.loads, file.read_text("utf-8").splitlines()))
        counts: dict[str, list[bool]] = defaultdict(list)
        print(file.name)
        for name, is_right, shown in next(measure for key, measure in MEASURES.items() if key in rows[0])(rows):
            counts[name].append(is_right)
            if options.show and not is_right:
                print(f"  {name}: {shown}")
        for name, rights in sorted(counts.items()):
            print(f"  {name:40}{sum(rights):4} of {len(rights):4}  {sum(rights) / len(rights):.3f}")


if __name__ == "__main__":
    main()
