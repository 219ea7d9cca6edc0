"""What the page says and how it draws it, the turns that run behind it, and the server's borders; without a browser."""

from __future__ import annotations

import string
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from html.parser import HTMLParser
from pathlib import Path
from threading import Event

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from moechat.access.login import language_of
from moechat.ai.scripted import Line
from moechat.curation.talks import SaidPlace
from moechat.errors import MoeChatError
from moechat.house import House
from moechat.house.gallery import Portrait
from moechat.model import Exchange
from moechat.store.entries import Cast, Member
from moechat.turn import Shown
from moechat.web import drawing, exchange, markdown, running, serve, words
from moechat.web.clicks import Whereabouts
from moechat.web.exchange import Face
from moechat.web.page_server import POLICY
from moechat.web.talk_list import TalkEntry, TalkList
from moechat.web.turns import Turns
from moechat.web.words import Words
from moechat.when import Span
from tests.houses import Home, silent

ZONE = timezone(timedelta(hours=8))
ZH, EN = Words("zh"), Words("en")
PATIENCE_S = 60.0  # So long a busy machine may take; nothing waits for it otherwise.
FACE = Face(ZH, "青禾", greeting="来啦。")
TAGS = markdown.TAGS | {"article", "h2", "div", "span", "time", "details", "summary", "section", "button"}
EVIL = '<img src=x onerror="alert(1)"> [a](javascript:alert(1)) $\\latex$ {{user}} ${value} </div><script>'


class Reader(HTMLParser):
    """The tags, the attributes and the text of a drawing."""

    def __init__(self, drawn: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(drawn)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZONE)


def shown(user: str = "昨天我们吃了什么", char: str = "火锅。", **told: object) -> Shown:
    values: dict[str, object] = {"grounds": (), "error": "", "variants": 1, "chosen": 0} | told
    exchange = Exchange("e1", at("2025-05-21T15:00"), user, char, values.pop("status", "done"))  # type: ignore[arg-type]
    return Shown(exchange, **values)  # type: ignore[arg-type]


def ground(**told: object) -> dict[str, object]:
    base = {
        "layer": "diary", "recipe": "events", "id": "m", "time": "2025-05-20T19:30:00+08:00", "text": "我们吃了火锅",
    }  # fmt: skip
    return base | {"score": 0.61803, "words": ["火锅"], "features": {"dense": 0.5}, "span": "", "sources": []} | told


YESTERDAY = Span("昨天", at("2025-05-20T00:00"), at("2025-05-20T23:59:59"))


# ---- words


def test_every_word_of_the_page_is_there_in_both_languages_with_the_same_blanks() -> None:
    def blanks(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    folder = Path(words.__file__).parent
    zh, en = (yaml.safe_load((folder / f"{one}.yaml").read_text(encoding="utf-8"))["words"] for one in ("zh", "en"))
    assert list(zh) == list(en)
    for name in zh:
        assert isinstance(zh[name], str) and zh[name].strip(), name
        assert isinstance(en[name], str) and en[name].strip(), name
        assert blanks(zh[name]) == blanks(en[name]), name


def test_the_browser_decides_the_language() -> None:
    cases = [
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("en-GB,en;q=0.9,zh;q=0.1", "en"), ("fr-FR,en;q=0.5", "en"), ("ja", "en"),
        (None, "zh"),
    ]  # fmt: skip
    assert [(accepted, language) for accepted, language in cases if language_of(accepted) != language] == []


def test_a_stretch_of_time_is_told_as_short_as_it_can_be() -> None:
    cases = [
        ("2025-05-20T00:00", "2025-05-20T23:59:59", "2025年5月20日 周二"),
        ("2025-05-20T18:00", "2025-05-20T23:59:59", "2025年5月20日 周二 18:00–23:59"),
        ("2025-05-12T00:00", "2025-05-18T23:59:59", "2025年5月12日–5月18日"),
        ("2025-02-01T00:00", "2025-02-28T23:59:59", "2025年2月"), ("2024-01-01T00:00", "2024-12-31T23:59:59", "2024年"),
        ("2025-05-20T18:00", "2025-05-21T05:59:59", "2025年5月20日 周二 18:00 – 2025年5月21日 周三 05:59"),
    ]  # fmt: skip
    assert [(start, end, words) for start, end, words in cases if ZH.stretch(at(start), at(end)) != words] == []


# ---- drawing


@given(
    st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r\0")),
    st.text(alphabet="<>&\"'`*_[]()${}\\a中 \n"),
)
def test_whatever_was_written_stays_text(anything: str, nasty: str) -> None:
    text = anything + nasty
    one = shown(
        text, text, error=text, status="failed", grounds=[ground(text=text, words=[text], recipe=text, span=text)]
    )
    face = Face(ZH, text, greeting=text)
    reader = Reader(exchange.exchange(one, face) + str(drawing.macros("talk", ZH).greeting(face)))
    assert reader.tags <= TAGS
    assert not {name for name in reader.attributes if name.startswith("on") or name == "src"}
    assert text in reader.text  # the message, to the letter


def test_names_and_problems_stay_text_too() -> None:
    place = Whereabouts(EVIL, EVIL, EVIL)
    evil = Portrait(EVIL, EVIL, "zh", EVIL, EVIL)
    draw, parts = drawing.macros("talk", ZH), drawing.macros("parts", ZH)
    drawn = draw.characters([evil], EVIL) + draw.notice(EVIL) + parts.problems([EVIL]) + parts.avatar(EVIL)
    drawn += draw.header(EVIL, place, EVIL, True, EVIL)
    drawn += draw.talks(TalkList([TalkEntry(place, EVIL, True, True)], 1), place)
    drawn += draw.one_talk(place, EVIL, True)
    drawn += draw.found(
        [], place, [(SaidPlace(EVIL, EVIL, EVIL, datetime(2025, 5, 20), "user", EVIL, False), place)], 1
    )
    reader = Reader(f"{drawn}")
    assert reader.tags <= {
        "nav", "form", "label", "input", "button", "span", "details", "summary", "ul", "li", "p", "header", "h1", "div", "time",
        "small", "img",
    }  # fmt: skip
    assert reader.text.count(EVIL) == 12
    company = Reader(f"{draw.company(place, Cast((Member(EVIL, EVIL),), (EVIL,)), [evil])}")
    assert company.tags <= {"section", "div", "strong", "button", "p", "form", "input"}
    assert company.text.count(EVIL) == 7


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*笑了。*你好 **“真的”**吗 `x<1`", "<p><em>笑了。</em>你好 <strong>“真的”</strong>吗 <code>x&lt;1</code></p>"),
        ("一\n二\n\n三", "<p>一<br>\n二</p>\n<p>三</p>"),
        ("# 大\n> 引", "<h3>大</h3><blockquote>\n<p>引</p>\n</blockquote>"),
        ("```py\na *b* <c>\n```", '<pre data-language="py"><code>a *b* &lt;c&gt;\n</code></pre>'),
        ("[a](javascript:x) ![b](data:x) <b>", "<p>[a](javascript:x) ![b](data:x) &lt;b&gt;</p>"),
        ("$\\latex$ {{user}} * 2 * 3", "<p>$\\latex$ {{user}} * 2 * 3</p>"),
    ],
)
def test_a_reply_is_markdown_and_inert(text: str, html: str) -> None:
    assert markdown.html(text).strip() == html


def test_a_link_says_where_it_leads_and_no_image_is_loaded() -> None:
    drawn = markdown.html("[这里](https://example.com/a?b=1&c) ![图](https://example.com/i.png)")
    assert (
        'href="https://example.com/a?b=1&amp;c" target="_blank" rel="noopener noreferrer">这里</a> <small>(example.com)</small>'
        in drawn
    )
    assert "<img" not in drawn


def test_what_stands_behind_hundreds_of_brackets_is_shown_as_it_is() -> None:
    link = "[这里](https://example.com/a)"
    assert markdown.html("[" * 200 + link).count("<a ") == 1
    drawn = markdown.html("[" * 300 + f"{link} <b>")
    assert "<a " not in drawn and f"{link} &lt;b&gt;" in Reader(drawn).text.replace("<", "&lt;").replace(">", "&gt;")


@given(st.text(alphabet="*_`#>-|[]()!<>&\\\n a1。中:/", max_size=200))
def test_whatever_is_written_gives_known_tags_alone(text: str) -> None:
    reader = Reader(markdown.html(text))
    assert reader.tags <= markdown.TAGS
    assert reader.attributes <= {"href", "target", "rel", "data-language", "start"}


def test_the_time_understood_stands_under_the_message_and_in_the_reason() -> None:
    drawn = exchange.exchange(shown(grounds=[ground(recipe="by_time", span="昨天")]), FACE, [YESTERDAY])
    assert "昨天 → 2025年5月20日 周二" in drawn
    assert "你问的是 昨天 → 2025年5月20日 周二" in drawn


def test_a_quiet_line_says_what_came_to_mind_and_each_memory_has_a_sentence() -> None:
    grounds = [
        ground(),
        ground(layer="core", recipe="profile", text="讨厌香菜", words=[]),
        ground(layer="lore", recipe="lore", text="半舟是茶馆", time="", words=[]),
        ground(dropped="in_context", text="刚说过的"),
    ]
    drawn = exchange.memories(grounds, ZH)
    text = Reader(drawn).text
    assert text.startswith("想起了 5月20日，还有关于你的 1 件事，还有1 条设定")
    kinds = [text.index(kind) for kind in ("对话中", "日记", "事实", "世界书")]
    assert kinds == sorted(kinds)
    assert "2025年5月20日 19:30 · 你也提到了「火锅」" in text
    assert "2025年5月20日 19:30 得知 · 这是知道的关于你的事" in text
    assert "刚才还在聊它" in text
    assert drawn.count("得分") == drawn.count('<span class="tinker"> ·')  # scores are for tinkerers
    assert exchange.line(grounds, EN) == "Recalled 20 May and one thing about you and one entry of the world book"
    assert "you mentioned “火锅”" in Reader(exchange.memories(grounds, EN)).text
    assert "Nothing of the past belonged here" in Reader(exchange.memories([], EN)).text


def test_an_event_and_a_reflection_say_what_they_are_and_lead_to_the_memory() -> None:
    event = ground(id="m", kind="event", text="吃了火锅", sources=["e1"])
    reflection = ground(id="r", kind="reflection", recipe="stream", text="阿明爱吃辣", sources=["e1", "e2"])
    talk = ground(id="e1", sources=["e1"])
    drawn = exchange.memories([event, reflection, talk], ZH)
    text = Reader(drawn).text
    assert "事件吃了火锅" in text
    assert "感悟阿明爱吃辣" in text
    assert "来自 2 段对话" in text
    assert text.count("来自 1 段对话") == 1  # an exchange does not come from itself
    assert 'data-memory="r"' in drawn
    assert "from 2 exchanges" in Reader(exchange.memories([reflection], EN)).text


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"status": "failed", "error": "连接中途断开"}, "没有说完 · 连接中途断开"),
        ({"status": "stopped", "char": "说到"}, "已停止"),
        ({"status": "streaming", "char": ""}, "还没有得到回答"),
        ({"variants": 3, "chosen": 2}, "‹3/3›"),
    ],
)
def test_what_became_of_a_reply_is_said_under_it(told: dict[str, object], words: str) -> None:
    assert words in Reader(exchange.exchange(shown(**told), FACE)).text  # type: ignore[arg-type]


def test_a_failed_reply_offers_to_try_again() -> None:
    assert "再试一次" in exchange.exchange(shown(status="failed", char="", error="连接中途断开"), FACE)
    assert "换个回答" in exchange.exchange(shown(), FACE)


def test_without_a_model_the_page_says_so() -> None:
    assert "未连接模型" in drawing.macros("talk", ZH).header("青禾", Whereabouts(), "", False, "")
    assert "Connected to tiny" in drawing.macros("talk", EN).header("青禾", Whereabouts(), "", True, "tiny")


# ---- turns


@pytest.fixture
def turns() -> Iterator[Turns]:
    kept = Turns()
    yield kept
    kept.close()


def test_a_second_message_is_refused_while_the_first_is_answered(tmp_path: Path, turns: Turns) -> None:
    held = Line("慢", hold=Event(), then="慢说完")
    with Home.build(tmp_path).open(silent([held, "第二句"])) as house:
        agent = house.agent()
        first = turns.talk(agent.conversation, "你好")
        assert first is not None
        assert turns.talk(agent.conversation, "你好") is None
        assert turns.again(agent.conversation) is None
        assert turns.current(agent.conversation) is first
        assert held.hold is not None
        held.hold.set()
        assert first.over.wait(PATIENCE_S)
        assert first.reply == "慢慢说完"
        second = turns.talk(agent.conversation, "再说")
        assert second is not None
        assert second.over.wait(PATIENCE_S)
        assert [one.exchange.char for one in agent.recent(5)] == ["慢慢说完", "第二句"]


def test_a_reply_stopped_at_once_is_stored_as_stopped(tmp_path: Path, turns: Turns) -> None:
    with Home.build(tmp_path).open(silent([Line("", hold=Event(), then="不会说到")])) as house:
        turn = turns.talk(house.agent().conversation, "你好")
        assert turn is not None
        turn.stop(PATIENCE_S)
        assert turn.over.is_set()
        assert [one.exchange.status for one in house.agent().recent(1)] == ["stopped"]


def test_closing_ends_what_is_under_way_and_what_was_shown_is_kept(tmp_path: Path, turns: Turns) -> None:
    with Home.build(tmp_path).open(silent([Line("说到这里", hold=Event())])) as house:
        turn = turns.talk(house.agent().conversation, "你好")
        assert turn is not None
        while not turn.reply and not turn.over.wait(0.01):
            pass
        turns.close()
        assert turn.over.is_set()
        assert house.agent().recent(1)[0].exchange.status == "stopped"


def test_a_turn_that_cannot_be_had_says_why(house: House, turns: Turns) -> None:
    turn = turns.talk(house.agent().conversation, " ")
    assert turn is not None
    assert turn.over.wait(PATIENCE_S)
    assert "empty" in turn.error


# ---- the server


def status_of(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


def test_the_server_gives_no_files_and_no_key_and_forbids_requests_elsewhere(home: Home, house: House) -> None:
    house.keys.keep("http://127.0.0.1:9/v1", "sk-secret")
    with running(house) as url:
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            assert answer.headers["content-security-policy"] == POLICY
            page = answer.read().decode()
        with urllib.request.urlopen(f"{url}/config", timeout=PATIENCE_S) as answer:
            assert "sk-secret" not in answer.read().decode() + page
        for name in (f"file={home.config}", f"file={home.data}", "upload", "proxy=http://127.0.0.1:9/", "call/x"):
            assert status_of(f"{url}/gradio_api/{name}") == 404
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=PATIENCE_S)


def test_a_port_that_is_taken_is_named_with_what_to_do(house: House) -> None:
    with running(house) as url:
        port = int(url.rsplit(":", 1)[1])
        with pytest.raises(MoeChatError, match=rf"127\.0\.0\.1:{port}.*--port"):
            serve(house, port=port)


def test_the_program_says_where_the_page_is_and_ends_quietly(root: Path, tmp_path: Path) -> None:
    home = Home.build(tmp_path, embedding={"provider": "hash"})
    command = [sys.executable, "app.py", "--data", str(home.data), "--config", str(home.config), "--port", "0"]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        url = program.stdout.readline().split()[1]
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as page:
            assert page.status == 200
        program.terminate()
        _, errors = program.communicate(timeout=PATIENCE_S)
    assert (program.returncode, errors) == (0, "")


def test_gradio_is_not_imported_before_a_page_is_built() -> None:
    code = "import sys, moechat.web; sys.exit('gradio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_ground_that_is_no_longer_there_says_so_in_the_language_of_the_page() -> None:
    gone = ground(id="", text="", time="", recipe="", score=0.0, words=[], gone=True)
    drawn = exchange.memories([gone], ZH)
    assert "这条记忆已经不在了" in Reader(drawn).text
    assert "data-memory" not in drawn and "得分" not in drawn
    assert "This memory is no longer there" in Reader(exchange.memories([gone], EN)).text
