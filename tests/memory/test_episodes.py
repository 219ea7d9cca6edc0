"""The episodes of one owner in memory: which may be recalled at a moment, and what the arrays say of them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event as Signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.ai.embedding import HashEmbedder
from moechat.clock import SetClock
from moechat.index.dense import Dense
from moechat.memory.episodes import Episodes, EpisodeView
from moechat.model import Episode, Event
from moechat.store.files import FileStore
from tests.houses import START, ZONE, Home, day_files, edit, moment
from tests.owners import NOW, Owner

# ---- what may be recalled


def test_a_view_tells_when_how_important_and_of_which_kind(owner: Owner) -> None:
    first, a = owner.tell("吃了火锅", importance=0.3)
    second, b = owner.tell("丢了钥匙", importance=0.8)
    c = owner.reflect("总在赶时间", [a, b], [first, second], None)
    view = owner.view()
    assert view.ids == [a, b, c]
    begun = moment(START).timestamp()
    assert view.since.tolist() == [begun, begun + 60, begun + 120]
    assert view.importance.tolist() == [0.3, 0.8, 0.5]
    assert view.reflection.tolist() == [False, False, True]
    assert view.citing([first]).tolist() == [True, False, True]


def test_plans_are_what_is_to_come_or_has_begun(owner: Owner) -> None:
    day = (moment("2025-06-20T00:00:00"), moment("2025-06-20T23:59:59"))
    for status in ("planned", "open", "done", "cancelled", ""):
        owner.tell(f"事{status}", status=status, happened=day)
    found = [episode.event.status for episode in owner.view().plans(NOW, NOW + timedelta(days=30))]
    assert found == ["planned", "open"]
    assert owner.view().plans(NOW, NOW + timedelta(days=1)) == []


def test_what_happened_in_a_time_is_found_the_earliest_first_but_nothing_that_is_far_wider(owner: Owner) -> None:
    days = {
        "一周": ("2025-05-12", "2025-05-19"),
        "昨天": ("2025-05-19", "2025-05-19"),
        "那年": ("2025-01-01", "2025-12-31"),
    }
    for text, ends in days.items():
        owner.tell(text, happened=(moment(f"{ends[0]}T00:00:00"), moment(f"{ends[1]}T23:59:59")))
    owner.tell("不知哪天")

    def during(first: str, last: str) -> list[str]:
        return [e.event.text for e in owner.view().during(moment(f"{first}T00:00:00"), moment(f"{last}T23:59:59"))]

    assert during("2025-05-19", "2025-05-19") == ["昨天"]
    assert during("2025-05-12", "2025-05-19") == ["一周", "昨天"]
    assert during("2025-01-01", "2025-12-31") == ["那年", "一周", "昨天"]
    assert during("2025-05-20", "2025-05-21") == []


def test_a_branch_hides_what_was_told_on_another(owner: Owner) -> None:
    root, _ = owner.tell("一起的")
    left, _ = owner.tell("左边的")
    owner.store.log.select(root)
    right, _ = owner.tell("右边的")
    assert owner.texts() == ["一起的", "右边的"]
    owner.store.log.select(left)
    assert owner.texts() == ["一起的", "左边的"]
    owner.store.log.select(right)
    assert owner.texts() == ["一起的", "右边的"]


def test_an_episode_needs_every_exchange_that_it_rests_on(owner: Owner) -> None:
    root = owner.say("一")
    left = owner.say("二")
    owner.understand(Event("一和二", (root, left)))
    owner.store.log.select(root)
    owner.say("三")
    assert owner.texts() == []
    owner.store.log.select(left)
    assert owner.texts() == ["一和二"]


def test_a_retracted_exchange_takes_its_episodes_along(owner: Owner) -> None:
    exchange, _ = owner.tell("吃了火锅")
    owner.tell("丢了钥匙")
    owner.store.log.retract(exchange)
    assert owner.texts() == ["丢了钥匙"]


def test_an_archived_episode_or_exchange_is_hidden_until_it_is_restored(owner: Owner) -> None:
    exchange, first = owner.tell("吃了火锅")
    _, second = owner.tell("丢了钥匙")
    owner.mark("archive", second)
    assert owner.texts() == ["吃了火锅"]
    owner.mark("archive", exchange)
    assert owner.texts() == []
    assert owner.view().citing([exchange]).tolist() == []
    owner.mark("restore", exchange, second)
    assert owner.view().ids == [first, second]


def test_a_reflection_is_seen_until_it_expires_whatever_way_the_clock_goes(owner: Owner) -> None:
    exchange, event = owner.tell("吃了火锅")
    owner.reflect("爱吃辣", [event], [exchange], NOW)
    before, after = ["吃了火锅", "爱吃辣"], ["吃了火锅"]
    assert owner.texts(NOW - timedelta(seconds=1)) == before
    assert owner.texts(NOW) == after, "from that moment on"
    assert owner.texts(NOW + timedelta(days=300)) == after
    assert owner.texts(NOW - timedelta(days=1)) == before


def test_what_was_deleted_by_hand_is_hidden_and_comes_back_with_its_record(owner: Owner) -> None:
    owner.tell("吃了火锅")
    exchange, _ = owner.tell("丢了钥匙")
    (path,) = day_files(owner.home.folder)
    whole = path.read_bytes()
    start = whole.index(exchange.encode())
    path.write_bytes(whole[:start])
    owner.store.follow()
    assert owner.texts() == ["吃了火锅"]
    path.write_bytes(whole)
    owner.store.follow()
    assert owner.texts() == ["吃了火锅", "丢了钥匙"]


def test_a_notes_file_edited_by_hand_is_followed(owner: Owner) -> None:
    owner.tell("吃了火锅", keywords=("火锅",))
    (path,) = (owner.home.folder / "memorys").glob("*.notes.yaml")
    edit(path, "text: 吃了火锅", "text: 吃了鸳鸯火锅")
    owner.store.follow()
    assert owner.texts() == ["吃了鸳鸯火锅"]
    assert owner.view().by_keyword(["火锅"]) == {0: ["火锅"]}


def test_a_corrected_exchange_loses_its_episodes_until_it_is_understood_anew(owner: Owner) -> None:
    exchange, _ = owner.tell("住在杭州")
    owner.store.log.correct(exchange, user="住在苏州")
    assert owner.texts() == []
    owner.understand(Event("住在苏州", (exchange,)))
    assert owner.texts() == ["住在苏州"]


def test_a_model_refines_what_the_rules_found(owner: Owner) -> None:
    exchange = owner.say("昨天吃了火锅")
    (old,) = owner.understand(Event("用户吃了火锅", (exchange,)), by="rules")
    better = Event("用户和室友吃了火锅", (exchange,), keywords=("室友",))
    owner.understand(better, replaces={better: old})
    assert owner.texts() == ["用户和室友吃了火锅"]
    assert owner.view().by_keyword(["室友"]) == {0: ["室友"]}


def test_an_idle_event_is_none(owner: Owner) -> None:
    exchange = owner.say("嗯")
    owner.understand(Event("床闲着", (exchange,), "床", "is", "idle"), Event("用户在", (exchange,)))
    assert owner.texts() == ["用户在"]


def test_what_the_author_wrote_stands_beside_and_follows_its_generation(home: Home) -> None:
    store = home.store()
    written = [
        1,
        [Episode("o1", moment("2025-01-01T00:00:00"), Event("画廊开张", (), keywords=("画廊",)), by="author")],
    ]
    episodes = Episodes(store, Dense(store.folder / ".index", None), lambda: (written[0], written[1]))  # type: ignore[arg-type, return-value]
    episodes.sync()
    view = episodes.view(NOW)
    assert (view.ids, view.by_keyword(["画廊"])) == (["o1"], {0: ["画廊"]})
    assert view.episodes([0])[0].by == "author"
    assert [one.id for one in view.during(moment("2025-01-01T00:00:00"), moment("2025-01-01T09:00:00"))] == ["o1"]
    written[:] = [2, []]
    episodes.sync()
    assert len(episodes.view(NOW)) == 0
    store.close()


def test_by_id_an_episode_is_found_whether_or_not_it_may_be_recalled(owner: Owner) -> None:
    _, event = owner.tell("吃了火锅")
    owner.mark("archive", event)
    owner.episodes.sync()
    assert owner.episodes.get([event, "nobody"])[event].event.text == "吃了火锅"
    assert list(owner.episodes.get(["nobody"])) == []


# ---- keywords


def test_keywords_subject_and_object_meet_words_with_their_case_folded(owner: Owner) -> None:
    owner.tell("在柏林买了咖啡", subject="Ana", object="Kaffee", keywords=("Berlin", "STRASSE"))
    owner.tell("别的")
    view = owner.view()
    for word in ("ana", "KAFFEE", "berlin", "straße"):
        assert view.by_keyword([word]) == {0: [word]}, word
    assert view.by_keyword(["别", "ber"]) == {}
    assert view.by_keyword(["ana", "berlin"]) == {0: ["ana", "berlin"]}


def test_a_hidden_episode_meets_no_word(owner: Owner) -> None:
    _, event = owner.tell("吃了火锅", keywords=("火锅",))
    owner.tell("又吃了火锅", keywords=("火锅",))
    owner.mark("archive", event)
    assert owner.view().by_keyword(["火锅"]) == {0: ["火锅"]}
    assert owner.texts() == ["又吃了火锅"]


# ---- use


def test_a_use_counts_from_birth_on(owner: Owner) -> None:
    _, event = owner.tell("吃了火锅")
    owner.tell("丢了钥匙")
    assert owner.view().accessed.tolist() == owner.view().since.tolist()
    with owner.store.writing():
        owner.store.state.touch([event], NOW)
    assert owner.view().accessed.tolist() == [NOW.timestamp(), owner.view().since[1]]
    _, _, later = owner.another()
    later.sync()
    assert later.view(NOW).accessed[0] == NOW.timestamp()


def test_strength_carried_to_another_record_brings_its_last_use(owner: Owner) -> None:
    exchange, old = owner.tell("吃了火锅")
    with owner.store.writing():
        owner.store.state.touch([old], NOW)
    better = Event("和室友吃了火锅", (exchange,))
    owner.understand(better, replaces={better: old})
    assert owner.view().accessed.tolist() == [NOW.timestamp()]


def answered(owner: Owner, *used: str) -> None:
    """A turn whose prompt held these; it settles."""
    id_ = owner.store.log.begin("在吗", owner.home.clock.now())
    owner.store.log.finish(id_, "在。", "done", hits=[{"id": one} for one in used])
    owner.store.log.settle()


def test_using_an_exchange_uses_the_events_that_tell_of_it(owner: Owner) -> None:
    exchange = owner.say("昨天吃了火锅，丢了钥匙")
    other = owner.say("找到了")
    a, b, both = owner.understand(
        Event("吃了火锅", (exchange,)), Event("丢了钥匙", (exchange,)), Event("丢了钥匙又找到了", (exchange, other))
    )
    alone, _ = owner.tell("下雨了")
    thought = owner.reflect("粗心", [a, b], [exchange], None)
    answered(owner, exchange)
    state = owner.store.state
    assert [state.recalls(id_) for id_ in (exchange, a, b, both, thought, alone)] == [1, 1, 1, 1, 0, 0]
    used = owner.home.clock.now().timestamp()
    view = owner.view()
    assert {id_ for id_, at in zip(view.ids, view.accessed, strict=True) if at == used} >= {a, b, both}


def test_a_memory_that_was_found_twice_is_used_once_an_answer(owner: Owner) -> None:
    exchange, event = owner.tell("吃了火锅")
    answered(owner, exchange, event)
    answered(owner, event)
    assert owner.store.state.recalls(event) == 2
    assert owner.store.state.recalls(exchange) == 1


# ---- other processes, and what is made anew


def test_another_process_sees_what_this_one_understands_and_hides(owner: Owner) -> None:
    store, dense, episodes = owner.another()
    _, first = owner.tell("吃了火锅")
    _, second = owner.tell("丢了钥匙")
    owner.mark("archive", first)
    store.follow()
    episodes.sync()
    assert episodes.view(NOW).ids == [second]
    dense.close()
    store.close()


def test_a_cache_made_anew_changes_nothing_and_old_views_still_tell(owner: Owner) -> None:
    for number in range(3):
        owner.tell(f"第{number}件事", keywords=(f"词{number}",))
    before, view = owner.texts(), owner.view()
    changes = owner.episodes.changes
    owner.store.cache.delete()  # as another process, or a hand, does
    owner.store.follow(all_files=True)
    owner.tell("第三件事")
    assert owner.texts() == [*before, "第三件事"]
    assert owner.view().by_keyword(["词1"]) == {1: ["词1"]}
    assert owner.episodes.changes > changes
    assert view.ids == owner.view().ids[:3], "a recall that runs meanwhile ends with what it saw"
    assert view.episodes([0, 1]) == [], "... and leaves out what it can no longer read"


def test_what_was_replaced_since_the_view_was_made_is_left_out_of_it(owner: Owner) -> None:
    exchange = owner.say("一")
    owner.understand(Event("甲", (exchange,)), by="rules")
    owner.tell("二")
    view = owner.view()
    owner.understand(Event("乙", (exchange,)), by="rules")
    assert [(place, episode.event.text) for place, episode in view.each([1, 0])] == [(1, "二")]


# ---- vectors


def test_vectors_are_made_in_the_background_the_newest_first(owner: Owner) -> None:
    for text in ("吃了火锅", "丢了钥匙", "养了猫"):
        owner.tell(text)
    (space,) = owner.dense.spaces
    query = HashEmbedder(32).embed(["养了猫"])[0]
    assert owner.view().relevance(query).tolist() == [0, 0, 0]
    assert owner.episodes.vectors.missing(space) == 3
    assert owner.episodes.vectors.embed_missing(Signal(), 1) == 1
    scores = owner.view().relevance(query)
    assert scores[:2].tolist() == [0, 0] and scores[2] == pytest.approx(1)
    assert owner.episodes.vectors.embed_missing(Signal()) == 2
    assert (owner.episodes.vectors.missing(space), owner.episodes.vectors.embed_missing(Signal())) == (0, 0)


def test_a_stopped_worker_embeds_nothing_more(owner: Owner) -> None:
    owner.tell("吃了火锅")
    owner.episodes.sync()
    stop = Signal()
    stop.set()
    assert owner.episodes.vectors.embed_missing(stop) == 0


def test_relevance_is_the_cosine_and_never_below_zero(owner: Owner) -> None:
    texts = ["吃了火锅", "丢了钥匙", "I lost my keys in Berlin", "养了一只叫雪球的猫"]
    for text in texts:
        owner.tell(text)
    owner.episodes.sync()
    owner.episodes.vectors.embed_missing(Signal())
    query = HashEmbedder(32).embed(["丢了钥匙的那天"])[0]
    expected = np.maximum(HashEmbedder(32).embed(texts) @ query, 0)
    assert owner.view().relevance(query) == pytest.approx(expected, abs=1e-6)
    assert owner.view().relevance(None).tolist() == [0, 0, 0, 0]


def test_without_an_embedding_model_nothing_is_relevant_and_nothing_fails(tmp_path: Path) -> None:
    owner = Owner(Home.build(tmp_path), None)
    owner.tell("吃了火锅", keywords=("火锅",))
    view = owner.view()
    assert (view.relevance(np.ones(32)).tolist(), view.by_keyword(["火锅"])) == ([0], {0: ["火锅"]})
    assert owner.episodes.vectors.embed_missing(Signal()) == 0
    owner.close()


def test_the_old_model_answers_until_the_new_ones_vectors_are_made(owner: Owner) -> None:
    owner.tell("吃了火锅")
    owner.episodes.sync()
    owner.episodes.vectors.embed_missing(Signal())
    owner.close()
    store = owner.home.store()
    new = HashEmbedder(16)
    dense = Dense(store.folder / ".index", new, load=lambda _: HashEmbedder(32))
    episodes = Episodes(store, dense)
    episodes.sync()
    old_query, new_query = HashEmbedder(32).embed(["吃了火锅"])[0], new.embed(["吃了火锅"])[0]
    assert episodes.view(NOW).relevance(old_query).tolist() == pytest.approx([1])
    changing = dense.changing()
    assert changing is not None and episodes.vectors.missing(changing) == 1
    assert episodes.vectors.embed_missing(Signal()) == 1
    assert episodes.view(NOW).relevance(old_query).tolist() == pytest.approx([1])
    dense.switch()
    assert episodes.view(NOW).relevance(new_query).tolist() == pytest.approx([1])
    dense.close()
    store.close()


# ---- rebuilt equals grown, and both equal plain Python

WORDS = ("猫", "狗", "Tea")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say")),
        st.tuples(
            st.just("event"), st.lists(st.integers(0, 9), min_size=1, max_size=3), st.sampled_from(WORDS), st.integers(0, 10)
        ),
        st.tuples(st.just("reflect"), st.integers(0, 9), st.integers(0, 600)),
        st.tuples(st.sampled_from(["retract", "correct", "select"]), st.integers(0, 9)),
        st.tuples(st.sampled_from(["archive", "restore", "touch"]), st.integers(0, 9)),
        st.tuples(st.just("sync")),
    ),
    max_size=25,
)  # fmt: skip


class Walk:
    """Random steps on an owner."""

    def __init__(self, owner: Owner) -> None:
        self.owner, self.said, self.made = owner, list[str](), list[str]()

    def step(self, what: str, *given: object) -> None:
        store, clock = self.owner.store, self.owner.home.clock
        clock.advance(minutes=1)
        number = given[0] if given and isinstance(given[0], int) else 0
        if what == "say":
            self.said.append(self.owner.say(f"第{len(self.said)}句"))
        elif what == "sync":
            self.owner.view(clock.now())
        elif not self.said:
            return
        elif what == "event":
            numbers, word, importance = given
            sources = tuple(dict.fromkeys(self.said[n % len(self.said)] for n in numbers))  # type: ignore[attr-defined]
            if store.tree.retracted.isdisjoint(sources):
                event = Event(f"事{len(self.made)}", sources, importance=importance / 10, keywords=(word,))  # type: ignore[operator]
                self.made += self.owner.understand(event)
        elif what == "reflect":
            event = self.chosen(number)
            known = self.owner.store.findings.rows_of([event])
            if known:
                sources = next(e for e in all_episodes(store) if e.id == event).event.sources
                expires = clock.now() + timedelta(minutes=given[1])  # type: ignore[arg-type]
                self.made.append(self.owner.reflect(f"想{len(self.made)}", [event], sources, expires))
        elif what in ("archive", "restore"):
            self.owner.mark(what, self.chosen(number))
        elif what == "touch":
            with store.writing():
                store.state.touch([self.chosen(number)], clock.now())
        else:
            exchange = self.said[number % len(self.said)]
            if what == "retract":
                store.log.retract(exchange)
            elif what == "select":
                store.log.select(exchange)
            elif exchange not in store.tree.retracted:
                store.log.correct(exchange, user=f"改{len(self.made)}")

    def chosen(self, number: int) -> str:
        """An episode, or before there is one an exchange."""
        known = self.made or self.said
        return known[number % len(known)]


def all_episodes(store: FileStore) -> list[Episode]:
    return [episode for _, _, episode in store.findings.changed(-1) if episode is not None]


def plainly(store: FileStore, now: datetime) -> dict[str, tuple[float, float, float, bool, tuple[str, ...]]]:
    """What may be recalled, by id: told, accessed, importance, is a reflection, keywords; in the order of telling."""
    hidden = store.hidden()
    seen = {}
    for episode in sorted(all_episodes(store), key=lambda one: one.at):
        if episode.id in hidden or any(source in hidden for source in episode.event.sources):
            continue
        if episode.expires is not None and episode.expires <= now:
            continue
        used = store.state.recalled(episode.id)
        accessed = max(episode.at, used) if used else episode.at
        seen[episode.id] = (
            episode.at.timestamp(), accessed.timestamp(), episode.event.importance, episode.kind == "reflection",
            episode.event.keywords,
        )  # fmt: skip
    return seen


def arrays(view: EpisodeView) -> Mapping[str, tuple[float, float, float, bool, tuple[str, ...]]]:
    met = view.by_keyword([word.swapcase() for word in WORDS])
    keywords = [tuple(word.swapcase() for word in met.get(place, ())) for place in range(len(view))]
    columns = (view.since, view.accessed, view.importance, view.reflection)
    return dict(zip(view.ids, zip(*(column.tolist() for column in columns), keywords, strict=True), strict=True))


@given(STEPS)
@settings(max_examples=50)
def test_what_grew_and_what_is_made_anew_equal_plain_python(steps: list[tuple]) -> None:
    with TemporaryDirectory() as folder:
        owner = Owner(Home.build(Path(folder)), None)
        walk = Walk(owner)
        for step in steps:
            walk.step(*step)
        now = owner.home.clock.now()
        expected = plainly(owner.store, now)
        grown = owner.view(now)
        assert arrays(grown) == expected
        assert grown.since.tolist() == sorted(grown.since.tolist())
        owner.close()
        shutil.rmtree(owner.home.folder / ".index")
        anew = FileStore(owner.home.folder, clock=SetClock(now), zone=ZONE)
        episodes = Episodes(anew, Dense(anew.folder / ".index", None))
        episodes.sync()
        assert arrays(episodes.view(now)) == expected
        anew.close()


# ---- events that replace others


def test_an_event_that_another_replaced_is_recalled_by_nobody_until_that_one_is_hidden(owner: Owner) -> None:
    _, old = owner.tell("周六去爬山", happened=(NOW, NOW), keywords=("爬山",))
    exchange, new = owner.tell("改到周日去爬山")
    (episode,) = owner.store.findings.by_ids([new]).values()
    owner.store.findings.put([replace(episode, supersedes=(old,))])
    findings, search = owner.store.findings, owner.store.search
    assert owner.texts() == ["改到周日去爬山"]
    assert owner.view().by_keyword(["爬山"]) == {}
    assert (findings.superseded(owner.store.hidden()), search.listed(["event"])) == (frozenset({old}), [new])
    assert old in findings.by_ids([old]), "it stays in the file"
    owner.store.log.retract(exchange)
    assert owner.texts() == ["周六去爬山"]
    assert search.listed(["event"]) == [old]
