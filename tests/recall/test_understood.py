"""What a model wrote of an exchange finds it, where its own words have none of the question."""

from __future__ import annotations

from pathlib import Path
from threading import Event as Signal

import pytest

from moechat.agent import Agent
from moechat.ai.embedding import BuiltinEmbedder
from moechat.model import Author, Event, Understanding
from tests.houses import Home, imported, silent

WENT = "下午那个会又是那套，她当着所有人的面拍桌子，说我交得晚，还说我不用心。"
LETTER = "she slid it under my door at 6am, two pages, mostly about the dog"
PAST = (
    "食堂的豆腐太咸", "楼下又在修路", "想换个窗帘", "lunch was bland", "bought new socks", "the cat sheds everywhere",
)  # fmt: skip


def read(agent: Agent, by: Author) -> None:
    """The two exchanges in the words of a reader of theirs."""
    texts = {WENT: "经理在会上骂了用户，因为报表迟了", LETTER: "The user's sister wrote the user an apology"}
    rows = agent.store.exchanges.rows(agent.layers.diary.index.rows().tolist())
    sources = {row.exchange.user: row.exchange.id for row in rows}
    events = tuple(Event(text, (sources[words],), importance=0.3) for words, text in texts.items())
    agent.store.findings.merge(list(sources.values()), Understanding(events=events, by=by), [], {})
    agent.layers.sync()
    agent.layers.embed(Signal())


def finds(agent: Agent, question: str, words: str) -> bool:
    return any(words in hit.text for hit in agent.recall(question).hits)


@pytest.mark.parametrize("by", ["model", "rules"])
def test_an_exchange_is_found_by_what_a_model_wrote_of_it_and_never_by_what_the_rules_did(
    tmp_path: Path, by: Author
) -> None:
    home = Home.build(tmp_path, recall={"deadline_ms": 20_000, "what_matters": False})
    with home.connected(model=silent(), embedder=BuiltinEmbedder()) as house:
        agent = house.agent()
        said = [f"{PAST[n % 6]}，第{n}回" for n in range(80)]
        said[20], said[50] = WENT, LETTER
        days = [f"2025-0{1 + n // 28}-{1 + n % 28:02}T20:00:00" for n in range(80)]
        imported(agent.store, *zip(days, said, ["嗯。"] * 80, strict=True))
        agent.settle_indexes()
        asked = (("那次经理骂我说了什么？", "拍桌子"), ("did my sister ever apologise?", "under my door"))
        assert not any(finds(agent, *one) for one in asked)
        read(agent, by)
        assert [finds(agent, *one) for one in asked] == [by == "model"] * 2
        assert not finds(agent, "外面下雨了", "拍桌子")
