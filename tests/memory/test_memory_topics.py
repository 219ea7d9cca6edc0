"""The topics and days of one owner's episodes, over a real store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from threading import Event as Signal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moechat.ai.scripted import ScriptedModel
from moechat.cue import Cue
from moechat.errors import ModelError, NotFound
from moechat.index.dense import Dense
from moechat.memory.episodes import Episodes
from moechat.memory.topics import Topics
from moechat.model import ActivationProfile, Episode, Event
from moechat.recall.episodic import TopicHelper
from moechat.settings.prompts import Prompts
from moechat.settings.schema import TopicSettings
from tests.houses import Home, imported, moment

NOW = moment("2025-05-21T15:00:00")


class Shelf:
    """A store with its episodes and topics, opened again as often as a test likes."""

    def __init__(self, home: Home, official: Sequence[Episode] = ()) -> None:
        self.home, self.official = home, official
        self.store = home.store()
        self.open()

    def open(self) -> None:
        self.dense = Dense(self.home.folder / ".index", self.home.embedder)
        author = lambda: (1, self.official)  # noqa: E731
        self.episodes = Episodes(self.store, self.dense, author)
        self.topics = Topics(self.store, self.episodes, self.dense)
        self.sync()

    def sync(self) -> None:
        self.store.follow(all_files=True)
        self.episodes.sync()
        self.topics.sync()

    def put(self, id_: str, topic: str, text: str = "", *, at: str = "2025-05-20T12:00:00", **more: object) -> str:
        """An episode, and the exchange that it rests on."""
        when = moment(at)
        source = when.strftime("%Y%m%d-%H%M%S")
        if not self.store.exchanges.by_ids([source]):
            imported(self.store, (at, f"说了{id_}", "好"))
        event = Event(text or f"用户提到{id_}", (source,), topic=topic, **more)  # type: ignore[arg-type]
        self.store.findings.put([Episode(id_, when, event)])
        self.sync()
        return source

    def recall(self, text: str, limit: int = 5) -> list[str]:
        return [found.id for found in self.topics.recall(self.cue(text), NOW, limit)]

    def cue(self, text: str, *, dense: bool = False) -> Cue:
        return Cue(text, NOW, embed=self.dense.query if dense else None)

    def state(self) -> tuple:
        overview = self.topics.overview(NOW)
        return overview, self.topics.tree_text(10_000)

    def close(self) -> None:
        self.dense.close()
        self.store.close()


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf(Home.build(tmp_path, now="2025-05-21T15:00:00"))
    yield shelf
    shelf.close()


def test_a_message_that_names_a_topic_recalls_its_slices(shelf: Shelf) -> None:
    shelf.put("a", "饮食->火锅", at="2025-05-01T12:00:00")
    shelf.put("b", "饮食->火锅", at="2025-05-20T12:00:00")
    shelf.put("c", "工作->加班", at="2025-05-20T13:00:00")
    assert shelf.recall("想吃火锅了") == ["b", "a"]
    assert shelf.recall("最近总是加班") == ["c"]
    assert shelf.recall("嗯嗯") == []


def test_scores_and_features_are_those_of_the_seed(shelf: Shelf) -> None:
    shelf.put("a", "饮食->火锅", at="2025-05-21T14:00:00")
    [found] = shelf.topics.recall(shelf.cue("想吃火锅了"), NOW)
    assert found.score == pytest.approx(1.746)
    assert found.features["source"] == 1.0 and found.features["cue"] == 1.0
    assert sum(value for name, value in found.features.items() if name != "cue") == pytest.approx(found.score)
    assert "火锅" in found.words


def test_the_parent_and_related_topics_come_along(shelf: Shelf) -> None:
    shelf.put("a", "饮食->火锅", related=("朋友->阿杰",), at="2025-05-20T12:00:00")
    shelf.put("b", "饮食", at="2025-05-20T13:00:00")
    shelf.put("c", "朋友->阿杰", at="2025-05-20T14:00:00")
    assert shelf.recall("我们聊过火锅吗") == ["a", "c", "b"]


def test_a_word_of_the_table_leads_to_a_topic_that_is_named_otherwise(shelf: Shelf) -> None:
    shelf.put("a", "宠物->猫")
    assert shelf.recall("猫粮又涨价了") == ["a"]


def test_the_words_of_a_slice_lead_to_its_topic(shelf: Shelf) -> None:
    shelf.put("a", "生活->小区", object="老王", keywords=("老王",), at="2025-05-02T12:00:00")
    shelf.put("b", "生活->小区", at="2025-05-03T12:00:00")
    assert shelf.recall("老王怎么样了") == ["b", "a"]


def test_meaning_leads_to_a_topic_once_its_name_has_a_vector(shelf: Shelf) -> None:
    shelf.put("a", "观星->望远镜")
    shelf.put("b", "观星->流星雨", at="2025-05-20T14:00:00")
    [space] = shelf.dense.spaces
    assert shelf.topics.vectors.missing(space) == 3
    assert shelf.topics.vectors.embed_missing(Signal(), limit=1) == 1
    assert shelf.topics.vectors.embed_missing(Signal()) == 2
    assert shelf.topics.vectors.missing(space) == 0
    shelf.episodes.vectors.embed_missing(Signal())
    led = shelf.topics.led(shelf.cue("观星 望远镜", dense=True), NOW)
    assert led[0].path == "观星->望远镜"


def test_a_day_that_is_asked_for_gives_all_its_slices_those_of_the_topic_first(shelf: Shelf) -> None:
    shelf.put("a", "饮食->火锅", at="2025-05-20T12:00:00")
    shelf.put("b", "", at="2025-05-20T18:00:00")
    shelf.put("c", "饮食->火锅", at="2025-05-21T12:00:00")
    shelf.put("d", "工作", at="2025-05-19T12:00:00")
    assert shelf.recall("昨天发生了什么？") == ["b", "a"]
    assert shelf.recall("我昨天去吃火锅了吗？") == ["a", "b", "c"]


def test_what_is_archived_is_not_recalled_and_takes_no_place(shelf: Shelf) -> None:
    for day in range(1, 9):
        shelf.put(f"e{day}", "饮食->火锅", at=f"2025-05-0{day}T12:00:00")
    with shelf.store.writing():
        shelf.store.state.write([{"op": "archive", "ids": ["e8", "e7"]}])
    shelf.sync()
    assert shelf.recall("火锅", limit=3) == ["e6", "e5", "e4"]
    assert shelf.topics.overview(NOW)["topics"][0]["total"] == 6


def test_an_episode_that_goes_leaves_its_topic_and_its_day(shelf: Shelf) -> None:
    shelf.put("a", "饮食->火锅")
    shelf.put("b", "饮食->奶茶")
    shelf.store.findings.take_out(["a"])
    shelf.sync()
    assert shelf.topics.tree_text(100).splitlines() == ["饮食->奶茶"]
    assert [e.id for e in shelf.topics.slices(date(2025, 5, 20), NOW)] == ["b"]
    assert shelf.topics.slices("饮食->火锅", NOW) == []


def test_the_overview_is_a_tree_with_sizes_and_a_calendar(shelf: Shelf) -> None:
    shelf.put("a", "饮食->火锅", at="2025-05-19T12:00:00")
    shelf.put("b", "饮食->火锅", at="2025-05-20T12:00:00")
    shelf.put("c", "饮食", at="2025-05-20T23:59:00")
    shelf.put("d", "", at="2025-05-20T08:00:00")
    overview = shelf.topics.overview(NOW)
    [food] = overview["topics"]
    assert (food["name"], food["count"], food["total"], food["newest"]) == ("饮食", 1, 3, "2025-05-20T23:59:00+08:00")
    [hotpot] = food["children"]
    assert (hotpot["path"], hotpot["total"], hotpot["newest"]) == ("饮食->火锅", 2, "2025-05-20T12:00:00+08:00")
    assert overview["days"] == {"2025-05-19": 1, "2025-05-20": 3}
    assert overview["untold"] == 1


def test_slices_of_a_topic_or_a_day_newest_first(shelf: Shelf) -> None:
    shelf.put("a", "饮食", at="2025-05-18T12:00:00")
    shelf.put("b", "饮食->火锅", at="2025-05-19T12:00:00")
    assert [e.id for e in shelf.topics.slices("饮食", NOW)] == ["b", "a"]
    assert [e.id for e in shelf.topics.slices("饮食", NOW, below=False)] == ["a"]
    assert [e.id for e in shelf.topics.slices(date(2025, 5, 19), NOW)] == ["b"]
    assert shelf.topics.slices("没有", NOW) == []
    assert shelf.topics.slices(date(2020, 1, 1), NOW) == []


def test_likeness_orders_within_a_topic(shelf: Shelf) -> None:
    shelf.put("a", "饮食->火锅", "用户和阿杰吃了鸳鸯火锅", at="2025-01-01T12:00:00")
    for day in range(1, 8):
        shelf.put(f"e{day}", "饮食->火锅", f"第{day}次", at=f"2025-05-0{day}T12:00:00")
    shelf.episodes.vectors.embed_missing(Signal())
    cue = shelf.cue("和阿杰吃了鸳鸯火锅", dense=True)
    near = shelf.topics.recall(cue, NOW)
    assert near[0].id == "a" and near[0].features["cosine"] > 0.5


# ---- a model, if one is asked


def test_cues_of_a_model_take_the_place_of_ours(shelf: Shelf, root: Path) -> None:
    prompts = Prompts([root / "prompts"], "zh")
    shelf.put("a", "饮食->火锅")
    shelf.put("b", "工作", at="2025-05-19T12:00:00")
    model = ScriptedModel(answers=['{"topics": ["饮食→火锅→毛肚"], "dates": ["2025-05-19"]}', "什么"])
    cue = shelf.cue("随便说说")
    helper, tree = TopicHelper(model, prompts, TopicSettings(cues_by_model=True)), shelf.topics.tree_text(1000)
    given = helper.cues(tree, cue)
    assert given and [found.id for found in shelf.topics.recall(cue, NOW, model_cues=given)] == ["b", "a"]
    assert helper.cues(tree, cue) is None


def test_what_does_not_help_is_dropped_by_one_call_that_may_fail(shelf: Shelf, root: Path) -> None:
    prompts = Prompts([root / "prompts"], "zh")
    for day in range(1, 4):
        shelf.put(f"e{day}", "饮食->火锅", at=f"2025-05-0{day}T12:00:00")
    cue = shelf.cue("火锅")
    found = shelf.topics.recall(cue, NOW)
    model = ScriptedModel(answers=['{"helpful": [3, 1]}', ModelError("timeout", "late")])
    helper = TopicHelper(model, prompts, TopicSettings(evaluator=True))
    episodes = shelf.episodes.get([one.id for one in found])
    assert helper.helpful(found, episodes, cue) == [found[0], found[2]]
    assert helper.helpful(found, episodes, cue) == found
    assert helper.helpful([], episodes, cue) == []


# ---- the owner's order


def test_a_renamed_topic_keeps_its_name_after_a_restart_and_for_what_is_told_later(shelf: Shelf) -> None:
    shelf.put("a", "饮食->火锅", related=("朋友",))
    shelf.put("b", "朋友", related=("饮食->火锅",))
    assert shelf.topics.rename("饮食", "美食") == "美食"
    assert shelf.topics.rename("美食->火锅", "涮锅") == "美食->涮锅"
    shelf.put("c", "饮食->火锅", at="2025-05-20T14:00:00")
    assert {e.id for e in shelf.topics.slices("美食->涮锅", NOW)} == {"a", "c"}
    before = shelf.state()
    shelf.open()
    assert shelf.state() == before
    assert shelf.recall("说说涮锅")[0] == "c"
    assert shelf.topics.named("涮锅") == ["美食->涮锅"]


def test_topics_are_merged_into_one_that_is_there(shelf: Shelf) -> None:
    shelf.put("a", "吃饭->火锅")
    shelf.put("b", "饮食->火锅")
    assert shelf.topics.merge("吃饭", "饮食") == "饮食"
    assert {e.id for e in shelf.topics.slices("饮食->火锅", NOW)} == {"a", "b"}
    with pytest.raises(NotFound, match="没有"):
        shelf.topics.merge("饮食", "没有")
    with pytest.raises(NotFound):
        shelf.topics.move("吃饭", "饮食")
    with pytest.raises(ValueError, match="below"):
        shelf.topics.move("饮食", "饮食->大类")


def test_a_move_that_a_hand_wrote_wrong_is_passed_over(shelf: Shelf) -> None:
    shelf.put("a", "饮食")
    with shelf.store.writing():
        shelf.store.state.rename_topic("饮食", "饮食->饮食")
        shelf.store.state.rename_topic("", "x")
        shelf.store.state.rename_topic("没有", "别处")
    shelf.sync()
    assert shelf.topics.tree_text(100) == "饮食"


# ---- the tree for a prompt


def test_the_tree_text_is_bounded_and_keeps_what_is_used(shelf: Shelf) -> None:
    for i in range(12):
        shelf.put(f"x{i}", f"旧事->第{i}件", at=f"2025-04-{i + 1:02}T12:00:00")
    for i in range(5):
        shelf.put(f"y{i}", "饮食->火锅", at=f"2025-05-{i + 1:02}T12:00:00")
    text = shelf.topics.tree_text(20)
    assert "饮食->火锅" in text.splitlines()
    assert len(text.splitlines()) < 6
    assert shelf.topics.tree_text(0) == ""
    assert len(shelf.topics.tree_text(1000).splitlines()) == 13


def test_names_can_be_made_ready_before_the_first_message(shelf: Shelf) -> None:
    shelf.topics.ready()
    shelf.put("a", "饮食->火锅")
    shelf.topics.ready()
    assert shelf.recall("火锅") == ["a"]


def test_a_word_that_a_great_many_names_have_tells_none_of_them(shelf: Shelf) -> None:
    for i in range(120):
        shelf.topics.table.record(i, f"旅途->旅途 {chr(0x5100 + i)}{chr(0x5400 + i)}", 0.0)
    assert [led.path for led in shelf.topics.led(shelf.cue("说说旅途"), NOW)] == ["旅途"]


# ---- made anew


def test_the_file_of_an_earlier_version_goes(shelf: Shelf) -> None:
    file = shelf.home.folder / ".index" / "topics.npz"
    file.write_bytes(b"topics that somebody may want forgotten")
    shelf.open()
    assert not file.exists()


def test_the_authors_slices_belong_to_the_tree(tmp_path: Path) -> None:
    official = Episode("o1", moment("2025-01-01T12:00:00"), Event("角色开了一家茶馆", (), topic="往事->茶馆"))
    shelf = Shelf(Home.build(tmp_path, now="2025-05-21T15:00:00"), [official])
    shelf.put("a", "往事->茶馆")
    assert shelf.recall("茶馆") == ["a", "o1"]
    shelf.official = ()
    shelf.open()
    assert shelf.recall("茶馆") == ["a"]
    shelf.close()


PATHS = st.lists(st.sampled_from("吃喝玩"), min_size=1, max_size=2).map("->".join)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 5), PATHS, PATHS),
        st.tuples(st.just("drop"), st.integers(0, 5)),
        st.tuples(st.just("move"), PATHS, PATHS),
    ),
    max_size=8,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_rebuilt_equals_incremental(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple]) -> None:
    shelf = Shelf(Home.build(tmp_path_factory.mktemp("shelf"), now="2025-05-21T15:00:00"))
    for op, *values in steps:
        if op == "put":
            number, path, related = values
            at = (moment("2025-05-01T12:00:00") + timedelta(days=number)).replace(tzinfo=None).isoformat()
            profile = ActivationProfile(number / 10)
            shelf.put(f"e{number}", path, f"用户{path}{number}", at=at, related=(related,), profile=profile)
        elif op == "drop":
            shelf.store.findings.take_out([f"e{values[0]}"])
            shelf.sync()
        elif any(path.startswith(values[0]) for path in shelf.topics.tree_text(1000).splitlines()):
            try:
                shelf.topics.move(*values)
            except (NotFound, ValueError):
                continue
    overview = shelf.topics.overview(NOW)
    recalled = [shelf.recall(text) for text in ("吃", "喝", "玩")]
    shelf.open()
    assert (shelf.topics.overview(NOW), [shelf.recall(text) for text in ("吃", "喝", "玩")]) == (overview, recalled)
    shelf.close()
