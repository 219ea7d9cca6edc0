"""The world book: found by meaning and by name, following the files that people edit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from moechat.ai.embedding import BuiltinEmbedder
from moechat.errors import DataError, EmbeddingError
from moechat.memory.world_book import WorldBook
from moechat.model import Hit, Thresholds


class OneHot:
    """An embedder that gives every keyword a direction of its own, in the order in which it meets them."""

    def __init__(self, dim: int = 8) -> None:
        self.dim, self.fails, self.fingerprint, self.thresholds = dim, False, "one-hot", Thresholds(0.5, 0.5, 0.5)
        self.texts: list[str] = []
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str], kind: str = "passage") -> np.ndarray:
        assert kind == "passage"
        if self.fails:
            raise EmbeddingError("the model is away")
        named = [text.partition("：")[0].partition("、")[0] for text in texts]
        self.texts += texts
        self.seen += named
        return np.eye(self.dim, dtype=np.float32)[[self.seen.index(keyword) for keyword in named]]

    def towards(self, **scores: float) -> np.ndarray:
        """A clause vector with these scores against the keywords."""
        vector = np.zeros(self.dim, np.float32)
        for keyword, score in scores.items():
            vector[self.seen.index(keyword)] = score
        return vector


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data_base"
    made.mkdir()
    return made


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def keywords(book: WorldBook) -> list[str]:
    return [entry.keyword for entry in book.entries]


def search(
    book: WorldBook,
    clauses: Sequence[str],
    vectors: np.ndarray | None,
    *,
    scan_depth: int = 4,
    threshold: float = 0.5,
    text: str | None = None,
) -> list[Hit]:
    """What a message brings, by the entries' own rules and by the meaning of its clauses."""
    judgements = book.judged("\n".join(clauses) if text is None else text)
    near = book.near(judgements, vectors, scan_depth=scan_depth, threshold=threshold)
    return [*(hit.whole() for hit, _ in book.fired(judgements)), *near]


def found(book: WorldBook, *clauses: str) -> list[str]:
    return [hit.id.partition("#")[2] for hit in search(book, clauses, None)]


def test_each_clause_takes_its_nearest_and_the_union_comes_best_first(folder: Path) -> None:
    """golden seed003_worked.json, world_book: A, C, B."""
    write(folder, "a.yaml", "A: first\nB: second\nC: third\n")
    embed = OneHot()
    book = WorldBook(folder, embed)
    clauses = np.stack([embed.towards(A=0.9, B=0.6, C=0.55), embed.towards(A=0.7, B=0.2, C=0.8)])
    hits = search(book, ["x", "y"], clauses, scan_depth=2, threshold=0.5)
    assert [hit.id for hit in hits] == ["a.yaml#A", "a.yaml#C", "a.yaml#B"]
    assert [round(hit.score, 6) for hit in hits] == [0.9, 0.8, 0.6]
    assert {(hit.layer, hit.recipe) for hit in hits} == {("lore", "lore")}


def test_what_an_entry_says_is_searched_and_not_its_keyword_alone(folder: Path) -> None:
    write(folder, "a.yaml", "渡口: {text: 在河的东岸, keys: [老码头]}\n")
    embed = OneHot()
    WorldBook(folder, embed)
    assert embed.texts == ["渡口、老码头：在河的东岸"]


def test_a_score_that_meets_the_threshold_counts(folder: Path) -> None:
    write(folder, "a.yaml", "A: first\nB: second\n")
    embed = OneHot()
    book = WorldBook(folder, embed)
    hits = search(book, ["x"], embed.towards(A=0.38, B=0.3799)[None], threshold=0.38)
    assert [hit.text for hit in hits] == ["A: first"]


def test_a_name_in_the_text_is_a_hit_with_its_words(folder: Path) -> None:
    write(folder, "a.yaml", "渡口: {text: 在河的东岸, keys: [老码头, The Landing]}\n山: 很远\n")
    book = WorldBook(folder)
    [hit] = search(book, ["我们去老码头吧", "the landing at dusk"], None)
    assert (hit.score, hit.words, hit.text) == (1.0, ("老码头", "The Landing"), "渡口：在河的东岸")
    assert search(book, ["晚安"], None) == []


def test_a_name_in_letters_is_a_word_and_not_a_part_of_one(folder: Path) -> None:
    write(folder, "a.yaml", "no: refusal\nArt: a friend\n12:30: noon bell\n2025-05-20: the fair\n")
    book = WorldBook(folder)
    assert keywords(book) == ["no", "Art", "12:30", "2025-05-20"]
    assert found(book, "I know, we party at 112:300") == []
    assert found(book, "No, art今天来, 12:30 on 2025-05-20") == ["no", "Art", "12:30", "2025-05-20"]


def test_a_name_that_a_clause_break_would_split_is_found_in_the_whole_text(folder: Path) -> None:
    write(folder, "a.yaml", "Mr. Hale: the keeper\n")
    book = WorldBook(folder)
    assert search(book, ["Where is Mr", "Hale"], None) == []
    assert len(search(book, ["Where is Mr", "Hale"], None, text="Where is Mr. Hale?")) == 1


def test_what_is_named_stands_before_what_is_near(folder: Path) -> None:
    write(folder, "a.yaml", "A: {text: one, constant: true}\nB: two\nC: three\n")
    embed = OneHot()
    book = WorldBook(folder, embed)
    hits = search(book, ["tell me of C"], embed.towards(B=0.9, C=0.6)[None])
    assert [(hit.text, dict(hit.features)) for hit in hits] == [
        ("A: one", {"constant": 1.0}),
        ("C: three", {"literal": 1.0}),
        ("B: two", {"relevance": pytest.approx(0.9)}),
    ]


def test_a_constant_entry_is_always_there_and_a_disabled_one_never(folder: Path) -> None:
    write(folder, "a.yaml", "A: {text: one, constant: yes}\nB: {text: two, enabled: no}\n")
    assert found(WorldBook(folder), "B?") == ["A"]


def test_a_description_that_names_its_subject_is_left_as_it_is(folder: Path) -> None:
    write(folder, "a.yaml", "渡口: 渡口在东岸\n")
    assert search(WorldBook(folder), ["渡口"], None)[0].text == "渡口在东岸"


def test_nothing_to_search_for_finds_nothing(folder: Path) -> None:
    write(folder, "a.yaml", "A: one\n")
    book = WorldBook(folder, OneHot())
    assert search(book, [], np.zeros((0, 8), np.float32)) == []
    assert search(book, [""], np.zeros((1, 8), np.float32), threshold=-1) == []
    assert search(WorldBook(folder / "nowhere", OneHot()), ["A"], np.ones((1, 8), np.float32)) == []


def test_edits_show_at_the_next_refresh_and_only_new_ones_are_embedded(folder: Path) -> None:
    first, second = write(folder, "a.yaml", "A: one\nB: two\n"), write(folder, "b.yml", "C: three\n")
    embed = OneHot()
    book = WorldBook(folder, embed)
    assert (keywords(book), embed.seen) == (["A", "B", "C"], ["A", "B", "C"])
    assert not book.refresh()
    write(folder, "a.yaml", "A: one and more\nD: four\n")
    assert book.refresh()
    assert (keywords(book), embed.texts[3:]) == (["A", "D", "C"], ["A：one and more", "D：four"])
    second.unlink()
    assert book.refresh()
    assert search(book, ["C"], embed.towards(C=1, D=0.7)[None])[0].text == "D: four"
    first.unlink()
    assert book.refresh()
    assert search(book, ["A"], embed.towards(A=1)[None]) == []


def test_a_broken_file_is_named_keeps_its_last_entries_and_stops_no_other(folder: Path) -> None:
    write(folder, "a.yaml", "A: one\n")
    book = WorldBook(folder)
    broken = write(folder, "a.yaml", "A: changed\nB: [1\n")
    write(folder, "b.yaml", "C: three\n")
    assert book.refresh()
    assert [entry.text for entry in book.entries] == ["one", "three"]
    [problem] = book.problems
    assert isinstance(problem, DataError)
    assert (problem.file, problem.line) == (str(broken), 3)
    assert not book.refresh()
    write(folder, "a.yaml", "A: mended\n")
    assert book.refresh()
    assert ([entry.text for entry in book.entries], book.problems) == (["mended", "three"], ())


def test_a_file_broken_from_the_start_gives_nothing_but_its_problem(folder: Path) -> None:
    write(folder, "a.yaml", "- a list\n")
    write(folder, "b.yaml", "")
    book = WorldBook(folder)
    assert (book.entries, len(book.problems)) == ((), 1)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("B:", "description"),
        ("B: [x]", "description"),
        ("B: {text: x, key: [y]}", "did you mean keys?"),
        ("B: {text: x, keys: [[y]]}", "keys expects"),
        ("B: {text: x, constant: maybe}", "true or false"),
    ],
)
def test_a_faulty_entry_costs_itself_alone(folder: Path, entry: str, said: str) -> None:
    write(folder, "a.yaml", f"A: one\n{entry}\nC: three\n")
    book = WorldBook(folder)
    assert keywords(book) == ["A", "C"]
    [problem] = book.problems
    assert said in str(problem)
    assert "line 2" in str(problem)


def test_a_book_beside_the_card_that_embeds_it_counts_once_and_this_is_told(folder: Path) -> None:
    entry = {
        "keys": ["Lumen"], "content": "Lumen is a lighthouse.", "enabled": True, "extensions": {}, "insertion_order": 1,
    }  # fmt: skip
    card = {"spec": "chara_card_v2", "data": {"name": "Wren", "character_book": {"extensions": {}, "entries": [entry]}}}
    world = {"uid": 0, "key": ["Lumen"], "content": "Lumen is a lighthouse.", "comment": "light", "order": 1}
    other = {"uid": 1, "key": ["Lumen"], "content": "Lumen was built in 1889.", "comment": "", "order": 2}
    (folder.parent / "card.json").write_text(json.dumps(card))
    write(folder, "harbour.json", json.dumps({"entries": {"0": world, "1": other}}))
    book = WorldBook(folder)
    texts = ["Lumen is a lighthouse.", "Lumen was built in 1889."]
    assert sorted(entry.text for entry in book.entries) == texts
    assert sorted(hit.text for hit in search(book, ["tell me about Lumen"], None)) == texts
    assert [str(problem).split(": ")[-1] for problem in book.problems] == [
        "1 of its entries stand in another file of this character too; once is enough"
    ]


def test_old_caches_and_folders_beside_the_files_are_never_read(folder: Path) -> None:
    (folder / "tmp").mkdir()
    for name in ("tmp/a.yaml", "a.pkl", ".a.yaml", "a.yaml.bak"):
        write(folder, name, "A: one\n")
    assert WorldBook(folder).entries == ()


def test_objects_in_a_file_are_text(folder: Path) -> None:
    write(folder, "a.yaml", "A: !!python/object/apply:os.getcwd []\nB: !!python/name:os.system x\n")
    assert [entry.text for entry in WorldBook(folder).entries] == ["x"]


def test_names_serve_while_the_embedding_is_away(folder: Path) -> None:
    write(folder, "a.yaml", "A: one\n")
    embed = OneHot()
    embed.fails = True
    book = WorldBook(folder, embed)
    assert found(book, "A") == ["A"]
    assert "away" in str(book.problems[0])
    embed.fails = False
    book.refresh()
    assert book.problems == ()
    assert search(book, ["?"], embed.towards(A=0.9)[None])[0].text == "A: one"


@pytest.mark.parametrize("name", ["青禾", "Wren"])
def test_the_sample_world_books_are_whole(root: Path, name: str) -> None:
    book = WorldBook(root / "data" / "agents" / name / "data_base")
    assert book.problems == ()
    assert len(book.entries) >= 30
    assert len({entry.file for entry in book.entries}) >= 2
    assert len(set(keywords(book))) == len(book.entries)
    assert any(entry.keys for entry in book.entries)


ASKED_IN_OTHER_WORDS = [
    ("青禾", "晚上放灯的节日是什么时候", "河灯节"),
    ("青禾", "有什么好喝的酒吗", "青梅酒"),
    ("青禾", "下雨的时候有优惠吗", "雨天半价"),
    ("青禾", "谁教你补破掉的旧书", "修书"),
    ("青禾", "有卖二手书的地方吗", "蠹鱼堂"),
    ("青禾", "想喝当地的绿茶", "云脚茶"),
    ("Wren", "What is the name of your old collie?", "Button"),
    ("Wren", "Where do people go for scones?", "The Kettle and Anchor"),
    ("Wren", "Is there anything to read on the island, books perhaps?", "Peat Library"),
    ("Wren", "Who commands the yellow ship?", "Captain Osei"),
    ("Wren", "What do you do on the longest night of the year?", "Lantern Row"),
]


def test_the_samples_are_found_in_other_words_and_leave_alone_what_is_not_theirs(root: Path) -> None:
    embedder = BuiltinEmbedder()
    books = {name: WorldBook(root / "data/agents" / name / "data_base", embedder) for name in ("青禾", "Wren")}

    def ask(name: str, text: str) -> list[str]:
        hits = search(books[name], [text], embedder.embed([text], "query"), threshold=0.2)
        return [hit.id.partition("#")[2] for hit in hits]

    assert [asked for asked in ASKED_IN_OTHER_WORDS if asked[2] not in ask(*asked[:2])] == []
    for name, remark in [("青禾", "今天好累"), ("青禾", "昨天我们吃了什么"), ("Wren", "I hate coriander")]:
        assert ask(name, remark) == []
