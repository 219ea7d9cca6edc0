"""The context: what the chat model is shown of the talk."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moechat.language.words import count_tokens
from moechat.memory import context
from moechat.memory.context import Context
from moechat.model import Exchange, Message
from moechat.settings.config import Config
from tests.houses import Home, moment, told


def talk(*sides: tuple[str, str]) -> list[Exchange]:
    return [Exchange(str(i), moment("2025-05-20T15:00:00"), user, char) for i, (user, char) in enumerate(sides)]


# Golden `context` of seed 003.
THREE = talk(("u1", "a1"), ("u2", "a2"), ("u3", "a3"))


def test_the_golden_of_seed_003_keeps_the_newest_messages() -> None:
    kept = context.messages(context.newest(THREE, length=4))
    assert [m.content for m in kept] == ["u2", "a2", "u3", "a3"]
    assert context.newest(THREE, length=0) == THREE


def test_who_said_what_is_told_and_a_reply_that_never_came_leaves_no_message() -> None:
    assert context.messages(talk(("你好", ""), ("在吗", "在"))) == [
        Message("user", "你好"),
        Message("user", "在吗"),
        Message("assistant", "在"),
    ]


def test_one_that_is_under_way_counts_one_and_the_newest_is_always_kept() -> None:
    assert [e.user for e in context.newest(talk(("一", "答"), ("二", "")), length=3)] == ["一", "二"]
    assert [e.user for e in context.newest(talk(("一", "答"), ("很长" * 500, "答")), tokens=10)] == ["很长" * 500]


sides = st.lists(st.tuples(st.text("你好 ab", max_size=9), st.text("嗯ok", max_size=9)), max_size=12)


def size(exchanges: list[Exchange]) -> int:
    return sum(count_tokens(e.user) + count_tokens(e.char) for e in exchanges)


@given(sides, st.integers(1, 12))
def test_what_is_kept_is_the_longest_end_within_the_length(said: list[tuple[str, str]], length: int) -> None:
    exchanges = talk(*said)

    def fits(end: list[Exchange]) -> bool:
        return len(end) <= 1 or sum(2 if e.char else 1 for e in end) <= length

    longest = max((n for n in range(len(exchanges) + 1) if fits(exchanges[len(exchanges) - n :])), default=0)
    assert context.newest(exchanges, length=length) == exchanges[len(exchanges) - longest :]


@given(sides, st.integers(1, 40))
def test_what_is_kept_is_an_end_within_the_tokens_or_the_last_exchange(
    said: list[tuple[str, str]], tokens: int
) -> None:
    exchanges = talk(*said)
    kept = context.newest(exchanges, tokens=tokens)
    assert kept == exchanges[len(exchanges) - len(kept) :] and (len(kept) <= 1 or size(kept) <= tokens)
    assert kept or not exchanges
    if size(exchanges) <= tokens:
        assert kept == exchanges


def test_what_is_over_the_tokens_leaves_a_quarter_of_them_at_a_time() -> None:
    exchanges = talk(*((f"今天说到第{n}件事", "嗯，后来呢") for n in range(100, 300)))
    whole = size(exchanges[:40])
    starts = [context.newest(exchanges[:n], tokens=whole)[0].id for n in range(1, 201)]
    assert len(set(starts)) == 17  # 160 exchanges more, ten at a time
    assert size(context.newest(exchanges, tokens=whole)) > whole * 0.7


def test_the_path_has_the_words_that_stand_now(home: Home) -> None:
    store = home.store()
    a, b, c = (told(store, home.clock, text, settle=True) for text in ("一", "二", "三"))
    store.log.correct(a, user="壹")
    store.log.retract(b)
    assert [e.user for e in context.path(store)] == ["壹", "三"]
    store.log.cut(a)
    assert [e.id for e in context.path(store)] == [c]
    store.close()


def test_a_conversation_seen_from_its_start_begins_with_the_greeting(home: Home) -> None:
    store = home.store()
    ids = [told(store, home.clock, text, settle=True) for text in ("在吗", "天冷了")]
    kept = Context(store, Config)
    first, then = (store.exchanges.get(id_) for id_ in ids)
    assert [m.content for m in kept.talk([first, then], "你来啦")][:2] == ["你来啦", "在吗"]
    assert [m.content for m in kept.talk([then], "你来啦")][:1] == ["天冷了"]
    store.close()
