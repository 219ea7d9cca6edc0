"""What every room shares: records, the clock, paths of topics, and errors with their words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from moechat import errors
from moechat.clock import SetClock, SystemClock, clock_at, local, moment_at, moment_of
from moechat.errors import ConfigError, DataError, DiskError, FieldError, MoeChatError, shown, together
from moechat.model import (
    LONG_AGO,
    ActivationProfile,
    Attachment,
    Dropped,
    Episode,
    Event,
    Exchange,
    Fact,
    FactDraft,
    Hit,
    LateHit,
    Lore,
    Recollection,
    official_kind,
)  # fmt: skip
from moechat.topic_path import MAX_SEGMENT_CHARS, MAX_SEGMENTS, is_within, moved, parent_of, topic_path

ZONE = ZoneInfo("Asia/Shanghai")
NOON = datetime(2025, 5, 20, 12, tzinfo=ZONE)


# ---- records


def test_of_an_exchange_both_sides_are_searched_as_they_are_remembered() -> None:
    bare = Exchange("e", NOON, "看", "好看")
    assert (bare.sent, bare.heard, bare.status, bare.talk, bare.speaker) == ("看", "好看", "done", "", "")
    seen = (Attachment("image", line="[一张猫的照片]"), Attachment("file"), Attachment("file", line="[账单]"))
    assert Exchange("e", NOON, "看", "", attachments=seen).sent == "看\n[一张猫的照片]\n[账单]"
    assert Exchange("e", NOON, "", "", attachments=seen[:1]).sent == "[一张猫的照片]"
    assert [Exchange("e", NOON, "", "好", status).heard for status in ("failed", "stopped", "streaming")] == [
        "",
        "好",
        "好",
    ]
    assert [Exchange("e", NOON, "", "", speaker=name).another("Ann") for name in ("", "ann", "Bea")] == ["", "", "Bea"]
    assert bare == Exchange("e", NOON, "看", "好看", stamp="another"), "where it lies makes it no other exchange"


def test_a_record_of_which_nothing_more_is_known_says_nothing_more() -> None:
    event, draft = Event("t", ("e",)), FactDraft("t", ("e",))
    episode, fact = Episode("i", None, event), Fact("i", None, draft)
    assert (event.importance, event.status, event.precision, event.is_ahead) == (0.5, "done", "unknown", False)
    assert event.profile == ActivationProfile(0.55, 0.35, 0.5)
    assert (draft.kind, draft.entity, draft.polarity, draft.single, draft.generic) == (
        "attribute",
        "user",
        1,
        False,
        False,
    )
    assert (episode.kind, episode.by, episode.depth, episode.confirmed) == ("event", "model", 0, None)
    assert (fact.by, fact.consolidated, fact.confirmed) == ("model", False, None)
    assert [official_kind(one) for one in (episode, fact, Lore("l", "k", "t", "f"))] == ["event", "fact", "lore"]
    for one in (episode, fact):
        assert (one.text, one.sources, one.since, one.supersedes) == ("t", ("e",), LONG_AGO, ())
    assert Fact("i", NOON, draft).since == Episode("i", NOON, event).since == NOON
    assert [Event("t", (), status=status).is_ahead for status in ("planned", "open", "cancelled")] == [
        True,
        True,
        False,
    ]  # type: ignore[arg-type]


def test_a_hit_is_known_by_its_layer_id_and_side_and_costs_nothing_before_it_is_counted() -> None:
    hit = Hit("diary", "events", "i", "t", 0.5)
    assert hit.key == ("diary", "i", "") and hit.tokens == 0 and hit.is_exchange and hit.whole() is hit
    assert not Hit("diary", "events", "i", "t", 0.5, episode="event").is_exchange
    assert not Hit("core", "profile", "i", "t", 0.5).is_exchange
    late = LateHit(
        ("diary", "i", "user"), lambda number, changes: Hit("diary", "events", "i", f"{number} {changes}", 0.5), 3
    )
    assert (late.id, late.whole().text) == ("i", "3 {}") and repr(late) == repr(late.whole())
    assert Dropped(late, "limit").hit == late.whole()


def test_a_recollection_is_silent_where_nothing_of_the_past_belongs_here() -> None:
    hit = Hit("diary", "events", "i", "t", 0.5)
    assert Recollection().is_silent and not Recollection().withheld(hit)
    assert Recollection(dropped=[Dropped(hit, "limit")], notices=["late"]).is_silent
    for spoken in (
        Recollection(hits=[hit]), Recollection(plans=[hit]), Recollection(empty_spans=[object()]),  # type: ignore[list-item]
        Recollection(dropped=[Dropped(hit, "limit"), Dropped(hit, "in_context")]),
    ):  # fmt: skip
        assert not spoken.is_silent


# ---- the clock


def test_a_clock_is_held_where_it_is_put_or_tells_the_machines_time() -> None:
    held = clock_at("2025-05-20T15:00", ZONE)
    assert isinstance(held, SetClock) and held.now() == datetime(2025, 5, 20, 15, tzinfo=ZONE)
    assert held.advance(hours=1) == held.now() == datetime(2025, 5, 20, 16, tzinfo=ZONE)
    for clock in (clock_at(None, ZONE), SystemClock(None)):
        assert abs(clock.now() - datetime.now(UTC)) < timedelta(minutes=1)
    assert clock_at(None, ZONE).now().tzinfo is ZONE and SystemClock().now().tzinfo is not None
    with pytest.raises(ConfigError, match="--now = 'soon': write a time as 2025-05-21T15:00"):
        clock_at("soon", ZONE)


def test_a_moment_is_in_its_zone_and_within_the_calendar() -> None:
    assert moment_of(" 2025-05-20T12:00 ", ZONE) == NOON == moment_of("2025-05-20T04:00Z", ZONE)
    assert moment_of("2025-05-20T04:00+00:00", ZONE).tzinfo is ZONE and moment_of("2025-05-20", None).tzinfo is not None
    assert moment_at(0, ZONE) == LONG_AGO == datetime(1970, 1, 1, tzinfo=UTC) and moment_at(0, ZONE).hour == 8
    assert local(datetime(2025, 5, 20, 12), ZONE) == NOON and local(NOON, UTC).hour == 4
    assert moment_of("0002-01-01", ZONE).year == 2 and moment_of("9998-12-31", ZONE).year == 9998
    for text in ("0001-06-01", "9999-06-01", "soon", ""):
        with pytest.raises(ValueError, match=r"out of range|isoformat"):
            moment_of(text, ZONE)
    for seconds in (1e20, -1e20, float("inf"), 253_402_300_000.0):
        with pytest.raises(ValueError, match="out of range"):
            moment_at(seconds, ZONE)


# ---- topics


def test_a_topic_path_is_the_same_however_its_arrows_are_written() -> None:
    cases = [
        ("旅行->杭州->西湖", "旅行→杭州→西湖", "旅行 > 杭州 >> 西湖", "旅行－＞杭州--->西湖"),
        ("旅行->杭州->西湖", "->旅行-> ->杭州=>西湖->", " 旅行⇒杭州 ➔ 西湖 "),
        ("a b->c/d", "a \t b -> c/d", "a b–>c/d", "a b - → c/d="), ("", "->", " > ", "—"),
    ]  # fmt: skip
    assert [text for path, *texts in cases for text in texts if topic_path(text) != path] == []
    assert topic_path("x" * 99) == "x" * MAX_SEGMENT_CHARS
    assert topic_path("->".join("abcdefghijklmnop")) == "->".join("abcdefghijklmnop"[:MAX_SEGMENTS])


def test_a_path_lies_within_those_above_it_and_moves_with_them() -> None:
    assert (parent_of("a->b->c"), parent_of("a")) == ("a->b", "")
    assert is_within("a->b", "a") and is_within("a", "a") and not is_within("ab", "a") and not is_within("a", "a->b")
    assert moved("a->b->c", [("a->b", "x"), ("x->c", "y->z")]) == "y->z" and moved("ab->c", [("a", "x")]) == "ab->c"


# ---- errors


def test_an_error_names_place_value_and_remedy_in_short() -> None:
    cases = [
        (ConfigError("c.yaml", "web.port", "x", "expects a number"), "c.yaml: web.port = 'x': expects a number"),
        (ConfigError("c.yaml", "web.port", None, "is gone"), "c.yaml: web.port: is gone"),
        (DataError(Path("d.yaml"), "no list", line=3), "d.yaml, line 3: no list"),
        (DataError("d.yaml", "no list"), "d.yaml: no list"),
        (FieldError("importance", 7, "expects a share"), "importance = 7: expects a share"),
        (FieldError("text", None, "is empty"), "text: is empty"),
    ]  # fmt: skip
    assert [words for error, words in cases if str(error) != words] == []
    assert FieldError("a", 1, "b", "lore").kind == "lore" and FieldError("a", 1, "b").kind is None
    long = str(MoeChatError("x" * 5000))
    assert len(long) == errors.MESSAGE_CHARS and long.endswith("x…") and str(MoeChatError("x" * 2000)) == "x" * 2000
    first = together([DataError("a", "1"), DataError("a", "2"), DataError("a", "3")])
    assert [one.reason for one in first.parts] == ["1", "2", "3"] and MoeChatError("x").others == ()  # type: ignore[attr-defined]


def test_a_value_is_shown_in_short_whatever_it_is() -> None:
    assert shown("x" * 60) == repr("x" * 60) and shown("x" * 61) == repr("x" * 59 + "…")
    assert shown([1, 2, 3, 4]) == "[1, 2, 3, ...]" and shown((1, 2, 3, 4)) == "(1, 2, 3, ...)"
    assert shown({"a": 1, "b": 2, "c": 3, "d": 4}).count(":") == 3 and shown([[[1]]]) == "[[[...]]]"
    assert shown(10**50) == "1" + "0" * 50 and shown(10**100) == "a number of 100 digits"
    assert shown(10**10_000).startswith("a number of ") and len(shown(["x" * 999] * 9)) < 1000


def test_each_error_has_its_status_its_exit_and_its_note() -> None:
    made = {
        MoeChatError("x"): (409, ""), errors.PathError("x"): (422, "name_bad"), errors.NotFound("x"): (404, "gone"),
        FieldError("a", 1, "x"): (422, ""), errors.Withheld(): (409, ""), DataError("a", "x"): (409, ""),
    }  # fmt: skip
    assert [
        repr(error) for error, row in made.items() if (error.status, error.note) != row or error.exit_code != 1
    ] == []
    assert DiskError("away", "db", "gone").status == 503 and DiskError("full", "f", "no space").status == 409
    full = DiskError("full", "f.yaml", "no space")
    assert str(full) == full.words("en") != full.words("zh") and full.words("zh").startswith("f.yaml: ")
