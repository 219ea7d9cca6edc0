"""The diary's search: who said it, what was said around it, when, by words and by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.index.hybrid import Doc, HybridIndex
from moechat.index.ranking import search
from moechat.index.traits import BARE, asked_words, asking, of, side_meant, without_names
from moechat.index.vector_rows import text_key
from moechat.index.vectors import VectorTable

HOUR, DAY = 3600.0, 86_400.0
DIM = 16


def vector_of(text: str) -> np.ndarray:
    """A stand-in for meaning: a direction by the first word, so that 「猫」 and "cat …" can be made alike at will."""
    direction = np.random.default_rng(sum(map(ord, text.split(" ")[0]))).normal(size=DIM).astype(np.float32)
    return direction / np.linalg.norm(direction)


def talk(*lines: str, start: float = 0.0, first: int = 0) -> list[Doc]:
    """Lines "Name: text", half a minute apart."""
    return [
        Doc(first + i, start + 30.0 * i, *map(str.strip, line.split(":", 1)))  # type: ignore[arg-type]
        for i, line in enumerate(lines)
    ]


def indexed(docs: Sequence[Doc], folder: Path | None = None, *, vectors: bool = False) -> HybridIndex:
    table = VectorTable(None, DIM) if vectors else None
    index = HybridIndex(folder, table)
    index.add(docs)
    if table is not None:
        numbers = np.array([doc.doc for doc in docs])
        table.put(numbers, [text_key(doc.text) for doc in docs], np.stack([vector_of(doc.text) for doc in docs]))
    return index


SMALL_TALK = talk(*(f"{'Ann' if i % 2 else 'Bob'}: nothing much here number {i}" for i in range(20)))


def first(index: HybridIndex, question: str, **options: object) -> int:
    return int(search(index, question, None, **options).docs[0])  # type: ignore[arg-type]


def test_a_two_character_word_is_found():
    docs = talk("我: 今天天气不错", "她: 是呀，出去走走吧", "我: 我从来不吃香菜", "她: 记住了")
    assert first(indexed(docs), "香菜") == 2


def test_a_latin_name_inside_chinese_is_found():
    docs = talk("我: 今天天气不错", "她: 是呀", "我: 昨天和Caroline去了画展", "她: 好玩吗")
    assert first(indexed(docs), "Caroline是谁？") == 2


def test_the_one_who_is_named_is_preferred():
    docs = SMALL_TALK + talk("Ann: I love pottery", "Bob: I love pottery", start=DAY, first=20)
    assert first(indexed(docs), "What does Ann love?") == 20
    assert first(indexed(docs), "What does Bob love?") == 21


def test_the_answer_that_follows_a_question_comes_with_it():
    docs = SMALL_TALK + talk(
        "Ann: Where did you adopt your parrot?", "Bob: At the shelter near the harbour.", start=DAY, first=20
    )
    assert set(search(indexed(docs), "Where was the parrot adopted?", None, k=2).docs) == {20, 21}


def test_a_reply_that_tells_nothing_stands_below_what_was_promised():
    asked = ("我: 你答应过我什么？", "她: 这我倒想不起来了。")
    docs = talk("我: 我好想去看海", "她: 好呀，我答应你，下个月陪你去看海。")
    docs += [*talk(*asked, start=DAY, first=2), *talk(*asked, start=2 * DAY, first=4)]
    assert first(indexed(docs), "你答应过我什么？") == 1


def test_who_tells_goes_on_with_the_last_talks_and_who_asks_does_not():
    docs = talk("Ann: The knee exercises are going well", "Bob: Good.")
    docs += talk("Ann: The knee exercises are hard", "Bob: Rest a little.", start=90 * DAY, first=2)
    index = indexed(docs)
    told = "I did the knee exercises. They go well. Now the next exercises."
    assert first(index, told) == 2
    assert first(index, "Are the knee exercises going well?") == 0


def test_what_was_told_stands_above_questions_like_it_that_were_asked_before() -> None:
    docs = talk("我: 表姐推荐的那本《晚来信》看完了，比谍战剧强", "她: 嗯，然后呢")
    for number, name in enumerate(("室友", "楠楠", "邻居", "教练", "老周", "堂哥") * 3, 1):
        lines = (f"我: 跟谍战剧有关、{name}提过的那本书是哪本", "她: 你说过，刚看完一集谍战剧")
        docs += talk(*lines, start=number * DAY, first=2 * number)
    index = indexed(docs)
    assert first(index, "跟谍战剧有关、表姐提过的那本书是哪本") == 0
    assert first(index, "你说过刚看完一集什么剧") % 2 == 1, "her own words answer what is asked about them"


@pytest.mark.parametrize(
    ("text", "is_bare"),
    [
        ("小姨干嘛的来着", True), ("堂哥家在哪个小区", True), ("你还记得我住哪吗", True), ("what's my cat called", True),
        ("did i tell you about the move", True), ("我在图书馆看到一本小说，叫《百年孤独》，你听说过吗？", False),
        ("写简历呢，我现在的公司叫啥来着", False), ("没什么特别的", False), ("几个朋友来了家里", False), ("what a day", False),
        ("when i was small we had a dog", False), ("", False),
        ("did i say my old boss works as a firefighter", False), ("我跟你说过吗，我老板以前是消防员", False),
        ("have i told you where i live", True), ("我跟你说过我的星座吗", True),
    ],
)  # fmt: skip
def test_a_bare_question_is_heard_without_its_mark_and_tells_nothing_beside(text: str, is_bare: bool) -> None:
    assert bool(of(text) & BARE) == is_bare


def test_a_question_seldom_holds_the_answer():
    docs = [*SMALL_TALK, *talk("Ann: Do you have a parrot?", start=DAY, first=20)]
    docs += talk("Bob: We have a parrot.", start=3 * DAY, first=21)
    assert first(indexed(docs), "Who has a parrot?") == 21


def test_pronouns_mean_a_side() -> None:
    cases = [
        ("你给我推荐了什么书？", 1), ("我喜欢什么音乐？", 0), ("我跟你说过什么？", 0),
        ("上次跟你说的那本书叫什么？", 0), ("上次给我推荐的书叫什么？", 1), ("你还记得我上周说的事吗？", 0),
        ("你什么时候去露营的？", 1), ("What did I share with you?", 0), ("Do you remember what my cat is called?", 0),
        ("When did you paint it?", 1), ("Did you tell me a joke?", 1), ("What is my job?", 0), ("香菜好吃吗", None),
        ("我们去过哪里", None),
    ]  # fmt: skip
    assert [(question, side) for question, side in cases if side_meant(question) != side] == []


def test_who_is_asked_about_by_a_pronoun_is_preferred():
    docs = talk("我: 我喜欢爵士乐") + talk("她: 我喜欢爵士乐", start=DAY, first=3)
    assert first(indexed(docs), "我喜欢什么音乐，爵士乐吗？") == 0
    assert first(indexed(docs), "你喜欢什么音乐，爵士乐吗？") == 3


def test_a_speaker_called_by_a_pronoun_is_not_named_by_it():
    assert without_names("我喜欢你推荐的书", ["我", "你"]) == "我喜欢你推荐的书"
    docs = talk("我: 我喜欢这本书") + talk("AI: 我喜欢这本书", start=DAY, first=3)
    assert first(indexed(docs), "你推荐给我的书") == 3


def test_a_hinted_time_prefers_but_does_not_force():
    docs = [*talk("Ann: a parrot"), *talk("Ann: a parrot", start=5 * DAY, first=2)]
    docs += talk("Ann: rain all day", start=5 * DAY + 2 * HOUR, first=4)
    index = indexed([*docs, *(Doc(d.doc + 10, d.time + 90 * DAY, d.speaker, d.text) for d in SMALL_TALK)])
    assert search(index, "parrot", None, hints=[(0.0, DAY)]).docs[:2].tolist() == [0, 2]
    assert search(index, "parrot", None, hints=[(5 * DAY, 6 * DAY)]).docs[:2].tolist() == [2, 0]


def test_a_pasted_page_is_searched_by_its_rarest_words():
    docs = [*SMALL_TALK, *talk("Ann: a parrot", start=DAY, first=20)]
    page = "nothing much here number " * 20_000 + " ".join(map(str, range(100, 20_000))) + " parrot"
    assert first(indexed(docs), page) == 20


def test_words_that_say_nothing_are_not_searched_by():
    assert asked_words("What did the parrot do?") == ["parrot"]
    assert asked_words("What did you do?") != []


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("We moved to Lisbon on Tuesday and the parrot hates the flat. What's next?", "What does the parrot hate?"),
        ("我们周二搬去了里斯本，鹦鹉不喜欢新家。接下来呢？", "鹦鹉不喜欢什么？"),
    ],
)
def test_what_is_told_counts_before_a_last_sentence_that_asks(told: str, asked: str):
    assert asking(told) < 0.5 < asking(asked) == 1.0
    assert first(indexed(talk(*["Ann: " + asked] * 2, "Ann: " + told)), asked) == 2


def test_neighbours_count_within_a_talk_only():
    near = talk("Ann: my parrot is called Coco", "Bob: and it speaks", first=20, start=DAY)
    far = talk("Ann: my parrot is called Coco", first=20, start=DAY) + talk(
        "Bob: and it speaks", first=21, start=3 * DAY
    )
    together = search(indexed(SMALL_TALK + near), "parrot", None)
    apart = search(indexed(SMALL_TALK + far), "parrot", None)
    assert together.scores[together.docs == 21] > apart.scores[apart.docs == 21]


def test_the_order_of_time_not_of_numbers_makes_neighbours():
    docs = [
        Doc(4, 0.0, "Ann", "Where is the parrot?"),
        Doc(0, 30.0, "Bob", "In its cage."),
        Doc(2, 5 * DAY, "Ann", "Hello again."),
    ]
    ranked = search(indexed(docs), "parrot", None)
    assert ranked.docs.tolist().index(0) < ranked.docs.tolist().index(2)


def test_what_was_told_in_the_asked_time_comes_first():
    docs = talk("Ann: a parrot parrot") + talk("Ann: rain all day", start=5 * DAY, first=1)
    ranked = search(indexed(docs), "parrot", None, spans=[(5 * DAY, 6 * DAY)])
    assert ranked.docs.tolist() == [1, 0]
    assert ranked.features["inside"].tolist() == [1, 0]


def test_what_happened_in_the_asked_time_comes_first():
    docs = [Doc(0, 0.0, "Ann", "parrot"), Doc(1, 9 * DAY, "Ann", "rain", happened=(5 * DAY, 5 * DAY + HOUR))]
    assert first(indexed(docs), "parrot", spans=[(5 * DAY, 6 * DAY)]) == 1


def test_a_vague_time_told_answers_no_single_day():
    docs = [Doc(0, 50 * DAY, "Ann", "parrot"), Doc(1, 60 * DAY, "Ann", "rain", happened=(0.0, 59 * DAY))]
    assert first(indexed(docs), "parrot", spans=[(5 * DAY, 6 * DAY)]) == 0


def test_when_asks_for_a_time():
    docs = (
        SMALL_TALK
        + talk("Ann: I went to the beach", start=DAY, first=20)
        + talk("Ann: I went to the beach last week", start=3 * DAY, first=22)
    )
    assert first(indexed(docs), "When did Ann go to the beach?") == 22


def test_a_short_talk_makes_way_for_another_after_its_best():
    plan = [
        "Ann: the marathon plan has four weeks",
        "Bob: the marathon plan is strict",
        "Ann: then the marathon plan it is",
    ]
    later = talk("Ann: the marathon plan took all of my weekend", "Bob: poor you", start=DAY, first=3)
    index = indexed([*talk(*plan), *later])
    ranked = search(index, "marathon plan", None)
    assert ranked.docs.tolist().index(3) == 1
    lost = dict(zip(ranked.docs.tolist(), ranked.features["repeats"].tolist(), strict=True))
    assert sorted(lost[doc] for doc in range(3)) == [-2.0, -1.0, 0.0]
    assert lost[3] == 0.0


def test_in_a_long_talk_what_is_said_again_keeps_its_place():
    lines = [f"Ann: number {i} of many things" for i in range(60)]
    lines[10:12] = ["Ann: the marathon plan has four weeks", "Bob: the marathon plan is strict"]
    index = indexed([*talk(*lines), *talk("Ann: my marathon shoes hurt", start=DAY, first=60)])
    assert sorted(search(index, "marathon plan", None).docs[:2].tolist()) == [10, 11]


def test_hidden_documents_are_neither_found_nor_looked_at():
    docs = SMALL_TALK + talk("Ann: my parrot", "Bob: it speaks", start=DAY, first=20)
    index = indexed(docs)
    hidden = search(index, "parrot", None, hidden={20})
    assert 20 not in hidden.docs
    assert not hidden.features["window"].any()


def test_removed_documents_are_gone_and_may_come_back_changed():
    index = indexed(talk("Ann: a parrot", "Bob: rain"))
    index.remove([0, 77])
    assert index.documents().tolist() == [1]
    assert search(index, "parrot", None).docs.tolist() == [1]
    index.add([Doc(1, 0.0, "Bob", "a parrot now")])
    assert search(index, "parrot", None).reasons(0)[2] == ["parrot"]


def test_meaning_finds_what_no_word_does():
    docs = [*SMALL_TALK, Doc(30, DAY, "Ann", "猫 在睡觉")]
    index = indexed(docs, vectors=True)
    ranked = search(index, "feline", vector_of("猫"))
    assert ranked.docs[0] == 30
    assert ranked.features["cosine"][0] == pytest.approx(1, abs=1e-5)


def test_a_document_without_a_vector_yet_is_found_by_its_words():
    docs = talk("Ann: a parrot", "Bob: rain", "Ann: sun")
    index = indexed(docs, vectors=True)
    index.add([Doc(9, DAY, "Bob", "the volcano erupted")])
    ranked = search(index, "volcano", vector_of("volcano"))
    assert ranked.docs[0] == 9
    assert np.isnan(ranked.features["cosine"][0])


def test_of_two_vectors_neither_lies_far() -> None:
    """Where a telling and its reply are all there is, a vector takes nothing from what the words of either are worth."""
    docs = talk("Ann: the volcano erupted", "Bob: rain", "Ann: sun")
    two, three = (search(indexed(docs[:n], vectors=True), "volcano", vector_of("rain")).features for n in (2, 3))
    assert not two["dense"].any()
    assert not two["around"].any()
    assert not np.isnan(two["cosine"]).any()
    assert three["dense"].min() < 0 < three["dense"].max()


def test_the_parts_of_a_score_add_up_to_it():
    ranked = search(indexed(SMALL_TALK, vectors=True), "When was number 7?", vector_of("nothing"))
    parts = [values for name, values in ranked.features.items() if name not in ("inside", "literal", "cosine")]
    assert ranked.scores == pytest.approx(np.sum(parts, axis=0))


def test_names_are_taken_out_of_what_is_embedded():
    assert without_names("What does Ann's dog eat?", ["Ann", "An"]) == "What does they's dog eat?"
    assert without_names("Caroline喜欢什么？", ["Caroline"]) == "喜欢什么？"
    assert without_names("Annual report", ["Ann"]) == "Annual report"
    assert without_names("Ann?", ["Ann"]) == "Ann?"


def test_nothing_there_nothing_found():
    index = HybridIndex(None, None)
    assert len(search(index, "anything", None)) == 0
    assert search(index, "", None).docs.tolist() == []
    assert len(search(indexed(SMALL_TALK), "number", None, k=0)) == 0


def test_an_index_opened_again_answers_alike(tmp_path: Path):
    docs = [*SMALL_TALK, Doc(40, DAY, "Cem", "a parrot", happened=(0.0, HOUR))]
    index = indexed(docs, tmp_path)
    index.flush()
    again = HybridIndex(tmp_path, None)
    assert again.documents().tolist() == index.documents().tolist()
    for question in ("parrot", "What did Cem say?", "number 3"):
        one, other = search(index, question, None), search(again, question, None)
        assert one.docs.tolist() == other.docs.tolist()
        assert one.scores == pytest.approx(other.scores)


@pytest.mark.parametrize("name", ["columns.npz", "words/manifest.json"])
@pytest.mark.parametrize("damage", ["junk", "cut", "gone"])
def test_a_damaged_index_opens_empty(tmp_path: Path, name: str, damage: str):
    indexed(SMALL_TALK, tmp_path).flush()
    path = tmp_path / name
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(b"\x00junk" if damage == "junk" else path.read_bytes()[: path.stat().st_size // 2])
    index = HybridIndex(tmp_path, None)
    assert index.lexical.count == len(index.documents()) == 0
    index.add(SMALL_TALK)
    index.flush()
    assert HybridIndex(tmp_path, None).lexical.count == len(SMALL_TALK)


def test_after_a_crash_between_its_files_an_index_keeps_what_both_hold(tmp_path: Path):
    index = indexed(SMALL_TALK, tmp_path)
    index.flush()
    index.remove([3])
    index.add([Doc(50, DAY, "Cem", "a parrot")])
    index.lexical.flush()  # and here the process dies
    again = HybridIndex(tmp_path, None)
    assert again.documents().tolist() == [doc.doc for doc in SMALL_TALK if doc.doc != 3]
    assert again.lexical.documents().tolist() == again.documents().tolist()
    again.add([Doc(50, DAY, "Cem", "a parrot")])
    assert first(again, "What did Cem say of parrots?") == 50


VOCABULARY = ["parrot", "beach", "rain", "香菜", "猫", "when", "volcano", "dog?", "yesterday"]
lines = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 8), st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=4)),
    min_size=1,
    max_size=25,
)


@settings(max_examples=50)
@given(lines, st.lists(st.integers(0, 24), max_size=6), st.sampled_from(VOCABULARY))
def test_one_by_one_with_removals_equals_built_at_once(lines: list, removed: list[int], asked: str):
    docs = [Doc(i, hours * HOUR * 0.7, "ABC"[who], " ".join(said)) for i, (who, hours, said) in enumerate(lines)]
    index = HybridIndex(None, None)
    for doc in docs:
        index.add([doc])
        search(index, asked, None)
    index.remove(removed)
    whole = indexed([doc for doc in docs if doc.doc not in removed])
    one, other = search(index, asked, None), search(whole, asked, None)
    assert one.docs.tolist() == other.docs.tolist()
    assert one.scores == pytest.approx(other.scores, abs=1e-5)


def test_candidates_of_a_large_index_are_those_of_the_full_computation():
    random = np.random.default_rng(3)
    said = [" ".join(f"word{w}" for w in random.zipf(1.3, 8) % 500) for _ in range(3000)]
    docs = [
        Doc(i, i * 30.0 + (i // 40) * DAY, "AB"[i % 2], f"{random.integers(60)} {text}") for i, text in enumerate(said)
    ]
    index = indexed(docs, vectors=True)
    for question in (
        "word7 word12 word30?",
        "word3 word499 word77 word5?",
        "word200?",
    ):  # Who tells looks at the last talks.
        one, other = (search(index, question, vector_of("7 x"), k=10, full_below=most) for most in (10_000, 100))
        assert len(set(one.docs) & set(other.docs)) >= 9
        shared = dict(zip(one.docs, one.scores, strict=True))
        for doc, score in zip(other.docs, other.scores, strict=True):
            assert score == pytest.approx(shared.get(doc, score), rel=1e-6)


def test_what_says_no_more_than_the_message_is_no_memory_for_it() -> None:
    index = indexed(talk("Ann: 好嘞", "Bob: 那就说定了", "Ann: 好嘞，明天去书店"))
    assert set(search(index, "好嘞", None).docs.tolist()) == {1, 2}
    assert set(search(index, "好嘞，明天去书店吧", None).docs.tolist()) == {1}


def test_a_statement_answers_a_question_in_its_own_words_and_an_asked_question_does_not() -> None:
    index = indexed(talk("Ann: the cat is on the roof", "Ann: is the cat on the roof?"))
    assert search(index, "is the cat on the roof?", None).docs.tolist() == [0]
