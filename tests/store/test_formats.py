"""The records of the owner's files: each part comes back, what is usual is left out, what cannot be read is named."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from moechat.errors import DataError
from moechat.model import ActivationProfile, Attachment, Episode, Event, Exchange, Fact, FactDraft
from moechat.store import formats, records
from moechat.store.finding_files import notes_entry, notes_from
from moechat.store.finding_records import ExchangeNote, Noted
from tests.houses import ZONE, moment

AT = moment("2025-05-20T15:03:12")
FILE = Path("2025-05-20.yaml")


def read(data: bytes) -> formats.Where:
    [record] = records.parse(data, FILE.name).records
    return formats.Where(record, FILE, ZONE)


def lean(data: bytes) -> dict[str, Any]:
    """The record as another program reads it, without its key."""
    [value] = yaml.load(data, yaml.BaseLoader).values()  # noqa: S506 - text only
    return value


def by_hand(text: str) -> formats.Where:
    return read(text.encode())


# ---- exchanges


def test_an_exchange_comes_back_with_all_its_parts() -> None:
    picture = Attachment("image", "海.png", "ab12", "一张海的照片")
    whole = Exchange("20250520-150312", AT, "看这张", "真好看", "stopped", "旅行", "阿明", (picture,))
    assert formats.exchange_from(read(formats.exchange_entry(whole))) == (whole, "")


def test_a_record_says_only_what_is_not_usual() -> None:
    usual = Exchange("20250520-150312", AT, "早", "早呀")
    row: dict[str, Any] = {"time": AT.isoformat(), "msg": {"user": "早", "char": "早呀"}}
    assert lean(formats.exchange_entry(usual)) == row
    odd = replace(
        usual, status="failed", talk="旅行", speaker="小林", attachments=(Attachment("image", "a.png", "", ""),)
    )
    more = {"status": "failed", "talk": "旅行", "speaker": "小林", "attachments": [{"kind": "image", "name": "a.png"}]}
    assert lean(formats.exchange_entry(odd)) == row | more
    fact = Fact("f1", AT, FactDraft("用户怕高", ()), (), "model")
    value = {"text": "用户怕高", "time": AT.isoformat(), "kind": "attribute", "entity": "user", "by": "model"}
    assert lean(formats.fact_entry(fact)) == value
    one, thought = episode(Event("用户搬了家", ("a",))), episode(kind="reflection", evidence=("e1",), depth=1)
    notes = lean(notes_entry(Noted("a", ExchangeNote("搬家", (), "rules"), (thought, one))))
    assert [one["text"] for one in notes.pop("reflections")] == [EVENT.text]
    event = {
        "id": one.id,
        "text": "用户搬了家",
        "told": AT.isoformat(),
        "importance": "0.5",
        "sources": ["a"],
        "by": "model",
    }
    assert notes == {"text_tag": "搬家", "by": "rules", "events": [event]}


def test_an_exchange_that_a_hand_added_needs_no_more_than_its_words() -> None:
    exchange, tag = formats.exchange_from(by_hand("x1:\n  msg:\n    user: 早\n"))
    assert exchange == Exchange("x1", moment("2025-05-20T12:00:00"), "早", "") and tag == ""
    exchange, tag = formats.exchange_from(by_hand("x1:\n  text_tag: 问好\n  status: 好\n  msg: {char: 早}\n"))
    assert (exchange.user, exchange.char, exchange.status, tag) == ("", "早", "done", "问好")


def test_a_time_without_an_offset_is_in_the_owners_zone_and_one_with_it_is_turned_into_it() -> None:
    for time in ("2025-05-20T15:03:12", " 2025-05-20T07:03:12+00:00 "):
        exchange, _ = formats.exchange_from(by_hand(f"x1:\n  time: '{time}'\n  msg: {{user: 早}}\n"))
        assert (exchange.at, exchange.at.tzinfo) == (AT, ZONE)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x1:\n  text: 早\n", "record 'x1' has no `msg`"),
        ("x1: 早\n", "record 'x1' has no `msg`"),
        ("x1:\n  msg: [a]\n", "record 'x1': `msg` needs `user:` and `char:`"),
        ("x1:\n  time: 昨天\n  msg: {user: 早}\n", "record 'x1': time '昨天' is not a time; write it as 2025-"),
    ],
)
def test_an_exchange_that_cannot_be_read_is_named_with_its_file_and_line(text: str, problem: str) -> None:
    record = by_hand(f"# a remark\n{text}")
    with pytest.raises(DataError) as refused:
        formats.exchange_from(record)
    assert problem in str(refused.value) and FILE.name in str(refused.value) and refused.value.line == 2


def test_what_is_no_attachment_is_left_out() -> None:
    assert formats.attachments_from([{"kind": "image", "name": None}, "x", 3]) == (Attachment("image", "", "", ""),)
    assert formats.attachments_from(None) == formats.attachments_from(7) == ()


def test_a_hand_edit_shows_in_the_hash_and_a_new_time_does_not() -> None:
    one = Exchange("a", AT, "早", "早呀")
    assert formats.text_hash(one) == formats.text_hash(replace(one, at=AT + timedelta(days=1), talk="x"))
    changed = [replace(one, user="早啊"), replace(one, char="早"), replace(one, user="早早", char="呀")]
    changed.append(replace(one, attachments=(Attachment("image", "a.png", "", "海"),)))
    assert len({formats.text_hash(other) for other in [one, *changed]}) == 5


def test_moechats_own_record_is_read_with_its_time_and_both_sides() -> None:
    words = "    时间：2025-05-20 15:03:12\n    {{user}}：早\n    又一行\n    {{char}}：早呀\n"
    record = by_hand(f"1747724592.5:\n  text_tag: 问好\n  msg: |\n{words}")
    assert formats.is_moechat(record.record)
    exchange, tag = formats.exchange_from(record)
    assert (exchange.user, exchange.char, tag) == ("早\n又一行", "早呀", "问好")
    assert exchange.at == AT + timedelta(seconds=0.5)


def test_moechats_record_with_another_key_or_other_words_is_read_as_far_as_it_goes() -> None:
    whole = "时间：2025-05-20T08:00:00\n    {{user}}：早\n    {{char}}：早呀"
    for words, at, sides in ((whole, "08:00", ("早", "早呀")), ("只有一句", "12:00", ("只有一句", ""))):
        exchange, _ = formats.exchange_from(by_hand(f"x1:\n  msg: |\n    {words}\n"))
        assert (exchange.at, exchange.user.strip(), exchange.char.strip()) == (moment(f"2025-05-20T{at}:00"), *sides)


# ---- notes, events and reflections

EVENT = Event(
    "用户和小林放了风筝", ("a", "b"), "用户", "放", "风筝", 0.8, ("风筝", "码头"), "码头", "生活->风筝",
    (moment("2025-05-18T00:00:00"), moment("2025-05-18T23:59:59")), "用户喜欢户外", "傍晚", ("朋友->小林",),
    ActivationProfile(0.1, 0.2, 0.3), "planned", "day",
)  # fmt: skip


def episode(event: Event = EVENT, **more: Any) -> Episode:
    return Episode(formats.derived_id(event.text, event.sources), AT, event, **more)


@pytest.mark.parametrize(
    "one",
    [
        episode(),
        episode(Event("用户搬了家", ("a",)), by="rules", confirmed=False),
        episode(replace(EVENT, mark="care", emotion="开心"), confirmed=True, supersedes=("e1", "e2")),
        episode(kind="reflection", evidence=("e1", "e2"), depth=2, expires=AT + timedelta(days=9)),
        episode(replace(EVENT, status="cancelled", precision="month", happened=None)),
    ],
    ids=["event", "by rules", "marked", "reflection", "cancelled"],
)
def test_an_episode_comes_back_with_all_its_parts(one: Episode) -> None:
    noted = Noted("a", ExchangeNote("放风筝", ("风筝",), "model"), (one,))
    assert notes_from(read(notes_entry(noted))) == noted


def test_an_event_that_a_hand_wrote_needs_no_more_than_its_words_and_what_is_odd_in_it_is_as_usual() -> None:
    odd = "importance: 7", "depth: x", "status: 也许", "mark: [x]", "precision: week"
    event = "\n    ".join(("- text: 用户搬了家", *odd))
    record = by_hand(f"a:\n  text_tag: 搬家\n  keywords: 家\n  events:\n  {event}\n")
    noted = notes_from(record)
    [one] = noted.episodes
    assert (noted.key, noted.note) == ("a", ExchangeNote("搬家", ("家",), "owner"))
    noon, usual = moment("2025-05-20T12:00:00"), Event("用户搬了家", ("a",), importance=1.0)
    assert one == Episode(formats.derived_id("用户搬了家", ("a",)), noon, usual, "event", "owner")


def test_an_event_whose_words_a_hand_changed_is_the_owners() -> None:
    data = notes_entry(Noted("a", ExchangeNote(by="model"), (episode(),))).decode().replace("放了风筝", "放了花灯")
    [one] = notes_from(by_hand(data)).episodes
    assert (one.id, one.by, one.event.text) == (episode().id, "owner", "用户和小林放了花灯")


@pytest.mark.parametrize(("written", "expected"), [("-3", 0.0), ("1.7", 1.0), ("0.25", 0.25), ("much", 0.5), ("", 0.5)])
def test_an_importance_is_a_share_or_the_usual_one(written: str, expected: float) -> None:
    record = by_hand(f"a:\n  events:\n  - text: x\n    importance: '{written}'\n")
    assert notes_from(record).episodes[0].event.importance == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 搬家\n", "notes of 'a' need `text_tag:`"),
        ("a:\n  events:\n  - place: 码头\n", "an event of 'a' has no `text`"),
        ("a:\n  events:\n  - 用户搬了家\n", "an event of 'a' has no `text`"),
        ("a:\n  events:\n  - text: x\n    told: 昨天\n", "time '昨天' is not a time"),
    ],
)
def test_notes_that_cannot_be_read_are_named(text: str, problem: str) -> None:
    with pytest.raises(DataError) as refused:
        notes_from(by_hand(f"# a remark\n{text}"))
    assert problem in str(refused.value) and refused.value.line == 2


# ---- facts

DRAFT = FactDraft("小林欠用户一顿饭", ("a", "b"), "relation", "小林", "欠", "一顿饭", -1, True, True)


def test_a_fact_comes_back_with_all_its_parts() -> None:
    cases = [
        Fact(formats.derived_id(DRAFT.text, DRAFT.sources), AT, replace(DRAFT, mark="care"), ("f1",), "model", True, True),
        Fact(formats.derived_id("用户怕高", ("a",)), None, FactDraft("用户怕高", ("a",)), (), "rules", confirmed=False),
        Fact(formats.derived_id("雨里的站台", ()), AT, FactDraft("雨里的站台", (), "picture"), (), "owner"),
        Fact(formats.derived_id("别提他", ("a",)), AT, FactDraft("别提他", ("a",), "boundary", target="阿成"), (), "model"),
    ]  # fmt: skip
    assert [one for one in cases if formats.fact_from(read(formats.fact_entry(one))) != one] == []


def test_a_fact_that_a_hand_wrote_may_be_its_words_alone_and_is_the_owners() -> None:
    assert formats.fact_from(by_hand("f1: ' 用户怕高 '\n")) == Fact("f1", None, FactDraft("用户怕高", ()), (), "owner")
    read_back = formats.fact_from(by_hand("f1:\n  text: 用户怕高\n  kind: 随便\n  by: model\n  polarity: 好\n"))
    assert (read_back.draft.kind, read_back.by, read_back.draft.polarity) == ("attribute", "owner", 1)


@pytest.mark.parametrize("text", ["f1: ''\n", "f1:\n  kind: relation\n", "f1:\n  text: ' '\n"])
def test_a_fact_without_words_is_named(text: str) -> None:
    with pytest.raises(DataError, match="fact 'f1' has no `text`") as refused:
        formats.fact_from(by_hand(f"# a remark\n{text}"))
    assert refused.value.line == 2


def test_of_a_file_whatever_can_be_read_is_and_the_rest_is_told() -> None:
    parsed = records.parse("f1: 用户怕高\nf2: ''\nf3: [\nf4: 用户爱画画\n".encode(), FILE.name)
    facts, problems = formats.each(parsed, FILE, ZONE, formats.fact_from)
    assert [fact.text for fact in facts] == ["用户怕高", "用户爱画画"]
    assert len(problems) == 2


def test_an_id_follows_from_the_words_and_the_first_source() -> None:
    assert formats.derived_id("x", ("a", "b")) == formats.derived_id("x", ("a",)) != formats.derived_id("x", ("b",))
    assert formats.derived_id("x", ()) == formats.derived_id("x", ("",)) != formats.derived_id("y", ())
