"""What a remark is about, and what a question wants, by nearness to examples."""

from __future__ import annotations

from moechat.reading import examples


def test_what_is_near_to_everyday_talk_alone_is_about_nothing_and_wants_no_fact() -> None:
    for text in ("好的", "嗯嗯", "ok see you tomorrow", "今天下雨了", "the bus was late"):
        assert examples.about(text) == "" and examples.wanted(text) == ("", 0.0), text
    assert examples.about("我中午吃了面") == "food"
