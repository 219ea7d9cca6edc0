"""What is known and later told as over, by the rules alone: it stands no longer, and the prompt says that it is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from moechat.model import Exchange, Fact, FactDraft, Understanding
from moechat.understanding.closing import ending

AT = datetime(2026, 5, 3, 20, tzinfo=UTC)
KNOWN = {
    name: Fact(name, AT - timedelta(days=30), draft)
    for name, draft in {
        "home": FactDraft("用户住在青石里", ("h",), keyword="住址", target="青石里", single=True),
        "work": FactDraft("用户在远山书店工作", ("w",), keyword="工作单位", target="远山书店", single=True),
        "tea": FactDraft("用户喜欢茉莉茶", ("t",), keyword="喜好", target="茉莉茶"),
        "pet": FactDraft("用户养了一只仓鼠", ("c",), "relation", keyword="宠物", target="仓鼠"),
        "tongue": FactDraft("用户会说法语", ("f",), keyword="语言", target="法语"),
        "nuts": FactDraft("用户对核桃过敏", ("n",), keyword="过敏", target="核桃"),
        "gym": FactDraft("The user likes bouldering", ("g",), keyword="likes", target="bouldering"),
        "job": FactDraft("The user is a postman", ("j",), keyword="job", target="postman", single=True),
        "dad": FactDraft(
            "The user's dad lives in Tenby", ("d",), entity="dad", keyword="home", target="Tenby", single=True
        ),
    }.items()
}


def over(text: str) -> set[str]:
    """Which of what is known a message ends."""
    understanding = ending(Understanding(by="rules"), Exchange("x", AT, text, ""), (), KNOWN.values())
    assert all(draft.kind == "ruling" and draft in understanding.facts for draft in understanding.replaces)
    return {id_ for ids in understanding.replaces.values() for id_ in ids}


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("现在不住青石里了，松涛湾这边安静", {"home"}),
        ("青石里的房子退了 人到松涛湾了", {"home"}),
        ("从远山书店出来了，歇两天", {"work"}),
        ("茉莉茶喝腻了，改喝咖啡", {"tea"}),
        ("法语先不学了，改学西班牙语", {"tongue"}),
        ("我家仓鼠昨晚没了", {"pet"}),
        ("given up bouldering, my wrists were done", {"gym"}),
        ("dad's moved out of tenby", {"dad"}),
        ("法语实在啃不下来，这学期换西班牙语", {"tongue"}),
        ("bouldering was too much for my wrists, so it's swimming now", {"gym"}),
        # what ends nothing
        ("青石里今天停水", set()),
        ("远山书店又进了批新书", set()),
        ("茉莉茶续命中", set()),
        ("仓鼠胖了两克", set()),
        ("法语作业写到半夜", set()),
        ("bouldering again tomorrow even if it kills me", set()),
        ("要是从远山书店辞职呢", set()),
        ("核桃不过敏了就好了", set()),
        ("我妈不住青石里了", set()),
        ("bouldering tonight, who's in", set()),
    ],
)
def test_what_is_told_as_over_ends_what_it_names(text: str, ended: set[str]) -> None:
    assert over(text) == ended


def test_what_its_owner_wrote_is_ended_by_its_owner_alone() -> None:
    written = Fact("home", AT - timedelta(days=30), KNOWN["home"].draft, by="owner")
    understanding = ending(Understanding(by="rules"), Exchange("x", AT, "现在不住青石里了", ""), (), [written])
    assert not understanding.replaces


def test_that_it_is_not_so_is_not_kept_beside_that_it_is_over() -> None:
    denial = FactDraft("用户不住在青石里", ("x",), keyword="住址", target="青石里", polarity=-1, single=True)
    read = Understanding(facts=(denial,), by="rules")
    understanding = ending(read, Exchange("x", AT, "现在不住青石里了", ""), (), KNOWN.values())
    assert [fact.kind for fact in understanding.facts] == ["ruling"]
