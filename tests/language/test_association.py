"""Word association: base words, both strategies by the numbers of seed 004, tables that people edit, merged sources."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.language.association import (
    LEVELS,
    Association,
    Strategy,
    Table,
    base_words,
    expand,
    merged,
    shipped,
)  # fmt: skip

# The worked example of seed 004 (golden seed004_worked.json: lexicon, expand).
LEXICON = {
    "红色": "革命7 红旗7 喜庆7 灯笼6 玫瑰6 火焰6 警示6 鲜血5 交通灯5 太阳5 颜色5 色彩5",
    "圣诞节": "礼物7 圣诞树7 喜庆6 红色6 灯笼4 雪4 太阳1",
    "画画": "颜色8 色彩7 画笔7 太阳2 雪1",
}
THREE = ["红色", "圣诞节", "画画"]
WORKED: list[tuple[list[str], int, Strategy, list[int], str]] = [
    (["红色"], 12, "first", [0], LEXICON["红色"]),
    (["红色"], 12, "second", [0], LEXICON["红色"]),
    (["红色", "圣诞节"], 6, "first", [0], "革命7 礼物7 红旗7 圣诞树7 喜庆7 灯笼6"),
    (THREE, 8, "first", [0], "革命7 礼物7 颜色8 红旗7 圣诞树7 色彩7 喜庆7 画笔7"),
    (THREE, 8, "second", [0], "颜色10 喜庆9 太阳9 色彩9 灯笼8 革命7 红旗7 礼物7"),
    (
        THREE, 100, "second", [1],
        "颜色10 喜庆9 色彩9 灯笼8 革命7 红旗7 太阳7 礼物7 圣诞树7 画笔7 玫瑰6 火焰6 警示6 红色6 鲜血5 交通灯5 雪4",
    ),
    (
        THREE, 100, "second", [0],
        "颜色10 喜庆9 太阳9 色彩9 灯笼8 革命7 红旗7 礼物7 圣诞树7 画笔7 玫瑰6 火焰6 警示6 红色6 雪6 鲜血5 交通灯5",
    ),
    (["没有"], 5, "second", [0], ""),
]  # fmt: skip


def told(line: str) -> list[Association]:
    """``颜色10 喜庆9`` as associations."""
    return [
        (part.rstrip("0123456789"), int(part.lstrip("".join(set(part) - set("0123456789"))))) for part in line.split()
    ]


class Lexicon:
    def __init__(self, entries: dict[str, str]) -> None:
        self.entries = entries

    def associations(self, word: str) -> Sequence[Association]:
        return told(self.entries.get(word, ""))


@pytest.mark.parametrize(("base", "count", "strategy", "filtered", "wanted"), WORKED)
def test_the_worked_example_of_the_seed_comes_out_exactly(
    base: list[str], count: int, strategy: Strategy, filtered: list[int], wanted: str
) -> None:
    found = expand(base, [Lexicon(LEXICON)], count=count, strategy=strategy, filter_values=filtered)
    assert found == told(wanted)


def test_a_word_that_is_given_already_uses_up_the_turn() -> None:
    source = Lexicon({"甲": "一9 二8", "乙": "一9 三7 四6"})
    assert expand(["甲", "乙"], [source]) == told("一9 二8 三7 四6")


def test_the_same_base_word_twice_counts_once() -> None:
    assert expand(["画画", "画画"], [Lexicon(LEXICON)], strategy="second") == told(LEXICON["画画"])


def test_several_sources_are_one_at_their_best_levels() -> None:
    assert merged("失恋", [Lexicon({"失恋": "难过9 火锅3"}), Lexicon({"失恋": "火锅10 啤酒4"})]) == told(
        "火锅10 难过9 啤酒4"
    )


_LEVEL = st.integers(1, LEVELS)
_TABLES = st.dictionaries(
    st.sampled_from("甲乙丙丁"), st.dictionaries(st.sampled_from("一二三四五六"), _LEVEL), max_size=4
)


@given(_TABLES, st.integers(0, 8), st.sampled_from(["first", "second"]), st.lists(_LEVEL, max_size=3))
def test_an_expansion_holds_no_word_twice_no_filtered_level_and_never_too_many(
    tables: dict[str, dict[str, int]], count: int, strategy: Strategy, filtered: list[int]
) -> None:
    source = Lexicon({word: " ".join(f"{a}{n}" for a, n in found.items()) for word, found in tables.items()})
    found = expand("甲乙丙丁", [source], count=count, strategy=strategy, filter_values=filtered)
    possible = {a for table in tables.values() for a, level in table.items() if level not in filtered}
    assert len(found) == len({word for word, _ in found}) == min(count, len(possible))
    assert {word for word, _ in found} <= possible


def test_base_words_leave_out_stop_words_and_both_names() -> None:
    segments, base = base_words("沈砚，朵朵的室友失恋了，我们陪她吃了一晚上火锅", names=["朵朵", "沈砚"])
    assert {"室友", "失恋", "火锅"} <= set(base)
    assert not {"朵朵", "沈砚", "我们", "的", "了", "她"} & set(base)
    assert "我们" in segments and len(base) <= 10


def test_a_name_is_not_looked_for_inside_other_words() -> None:
    assert "ann" not in base_words("Ann makes an announcement", names=["Ann"])[1]
    assert "announcement" in base_words("Ann makes an announcement", names=["Ann"])[1]
    assert "禾苗" in base_words("禾苗长高了", names=["禾"])[1]


def test_a_name_is_left_out_however_it_is_written() -> None:
    assert base_words("ann and MARA watered the seedlings", names=["Ann", "Mara"])[1] == ["watered", "seedlings"]


def test_a_word_that_the_segmenter_cuts_is_whole_where_it_is_known() -> None:
    assert "拿铁" not in base_words("要不要喝杯拿铁")[1]
    assert base_words("要不要喝杯拿铁", vocabulary={"拿铁"})[1][0] == "拿铁"
    assert "铁" not in base_words("要不要喝杯拿铁", vocabulary={"拿铁"})[1]
    assert base_words("a cup of green tea", vocabulary={"green tea"})[1][0] == "green tea"
    assert "海边" not in base_words("住在上海边上", vocabulary={"海边"})[1]


@pytest.mark.parametrize("sentence", ["", "   ", "的了吗", "!?。", "\0", "😀"])
def test_a_sentence_without_content_has_no_base_words(sentence: str) -> None:
    assert expand(base_words(sentence)[1], [shipped()]) == []


# ---- tables


def table(folder: Path, text: str) -> Table:
    path = folder / "associations.tsv"
    path.write_text(text, encoding="utf-8")
    return Table(path)


def test_a_table_is_read_with_the_best_association_first(tmp_path: Path) -> None:
    source = table(tmp_path, "# ours\n\n失恋\t火锅\t6\n失恋\t难过\t９\nRoommate\tdorm\t8\n")
    assert source.associations("失恋") == [("难过", 9), ("火锅", 6)]
    assert source.associations("roommates") == [("dorm", 8)]
    assert source.associations("失") == ()
    assert source.associations("大学失恋")[0] == ("失恋", 12)
    assert source.problems == ()


def test_an_unknown_word_is_found_by_an_end_of_two_characters_and_by_none_of_one(tmp_path: Path) -> None:
    source = table(tmp_path, "海鲜\t虾\t5\n鲜\t新\t5\n")
    assert source.associations("吃海鲜") == [("海鲜", 12), ("虾", 5)]
    assert source.associations("好鲜") == ()


def test_a_broken_line_is_named_and_the_others_serve(tmp_path: Path) -> None:
    source = table(
        tmp_path, "失恋\t火锅\t6\n失恋 难过 9\n失恋\t啤酒\t13\n失恋\t\t3\n生日\t蛋糕\t11\n失恋\t雨\t" + "9" * 5000
    )
    assert source.associations("生日") == [("蛋糕", 11)]
    assert [problem.line for problem in source.problems] == [2, 3, 4, 6]
    assert len(str(source.problems[3])) < 500
    assert "associations.tsv, line 3" in str(source.problems[1]) and "1 to 12" in str(source.problems[1])


def test_an_edited_table_is_read_again_and_a_deleted_one_is_empty(tmp_path: Path) -> None:
    source = table(tmp_path, "失恋\t火锅\t6\n")
    assert source.associations("失恋") == [("火锅", 6)]
    table(tmp_path, "失恋\t啤酒\t7\n失恋\t难过\t9\n")
    assert source.associations("失恋") == [("难过", 9), ("啤酒", 7)]
    (tmp_path / "associations.tsv").unlink()
    assert source.associations("失恋") == ()


def test_a_table_that_is_not_text_is_reported_and_what_was_read_serves_on(tmp_path: Path) -> None:
    source = table(tmp_path, "失恋\t火锅\t6\n")
    assert source.associations("失恋")
    source.path.write_bytes(b"\xff\xfe\x00\x00broken")
    assert source.associations("失恋") == [("火锅", 6)]
    assert "UTF-8" in str(source.problems[0])


def test_the_shipped_table_has_no_fault_and_speaks_both_languages() -> None:
    assert ("蛋糕", 11) in shipped().associations("生日")
    assert ("cake", 11) in shipped().associations("birthday")
    assert shipped().problems == ()


def test_the_shipped_table_is_read_from_both_ends() -> None:
    assert "拿铁" in dict(shipped().associations("咖啡"))
    assert dict(shipped().associations("拿铁"))["咖啡"] == dict(shipped().associations("咖啡"))["拿铁"] - 2
