"""Each form of talk of other programs, made to its public description: every message with its date and its speaker, 0 lost."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from moechat.compat import foreign_talk
from moechat.compat.past import Names, Past
from moechat.errors import DataError, MoeChatError
from moechat.house.arrivals import Coming, Wishes
from moechat.house.studio import Arrival
from tests.houses import ZONE, Home, moment

Said = tuple[datetime, str, str]  # when, who, what
START = moment("2023-12-09T21:58:00")
TALK: Sequence[Said] = [
    (START + timedelta(hours=7 * n, minutes=n), "Ann" if n % 2 == 0 else "Bea", f"第 {n} 句: it is {n}")
    for n in range(30)
]
WHO = Names("Ann", "Bea")


def _lines(make: Callable[[datetime, str, str], str], head: str = "") -> str:
    return head + "".join(make(*one) + "\n" for one in TALK)


def _half(at: datetime) -> str:
    return f"{at.hour % 12 or 12}:{at:%M}"


def _chatgpt() -> str:
    nodes: dict[str, Any] = {"root": {"id": "root", "parent": None, "message": None}}
    before = "root"
    for n, (at, who, text) in enumerate(TALK):
        role = "user" if who == "Ann" else "assistant"
        message = {"author": {"role": role}, "create_time": at.timestamp(), "content": {"parts": [text]}}
        nodes[f"n{n}"] = {"id": f"n{n}", "parent": before, "message": message}
        before = f"n{n}"
    return json.dumps([{"title": "Cats", "current_node": before, "mapping": nodes}])


def _open_webui() -> str:
    messages = {
        f"m{n}": {
            "id": f"m{n}", "parentId": f"m{n - 1}" if n else None, "role": "user" if who == "Ann" else "assistant",
            "content": text, "timestamp": int(at.timestamp()),
        }
        for n, (at, who, text) in enumerate(TALK)
    }  # fmt: skip
    return json.dumps([{"title": "Cats", "chat": {"history": {"currentId": "m29", "messages": messages}}}])


def _character_ai() -> str:
    turns = [
        {
            "create_time": at.isoformat(), "author": {"name": who, "is_human": who == "Ann"}, "primary_candidate_id": "c",
            "candidates": [{"candidate_id": "c", "raw_content": text}],
        }
        for at, who, text in TALK
    ]  # fmt: skip
    return json.dumps({"chats": [{"name": "Bea", "turns": turns[::-1]}]})


def _character_ai_old() -> str:
    rows = [
        {"created": at.isoformat(), "src": {"name": who, "is_human": who == "Ann"}, "text": text}
        for at, who, text in TALK
    ]
    return json.dumps({"histories": {"histories": [{"external_id": "x", "msgs": rows}]}})


def _mail() -> str:
    """What WeChat sends by mail: a line for each day."""
    lines, day = [], None
    for at, who, text in TALK:
        lines += [f"—————  {at:%Y-%m-%d}  —————", ""] if at.date() != day else []
        lines += [f"{who}  {at:%H:%M}", "", text, ""]
        day = at.date()
    return "\n".join(lines)


def _tavern(at: datetime, who: str, text: str) -> str:
    return json.dumps({"name": who, "is_user": who == "Ann", "send_date": at.isoformat(), "mes": text})


def _chinese(at: datetime) -> str:
    return f"{at.year}/{at.month}/{at.day} {'上午' if at.hour < 12 else '下午'}{_half(at)}"


WECHAT_TABLE = "localId,Type,IsSender,CreateTime,StrContent,StrTime,NickName\n"
WECHAT_PAGE = "<html><script>const chatMessages = [\n"
QQ = "消息记录（此消息记录为文本格式，不支持重新导入）\n\n=====\n消息分组:我的好友\n=====\n消息对象:Bea\n=====\n\n"
FORMS: dict[str, tuple[str, str]] = {
    "lines": ("lines", _lines(lambda at, who, text: json.dumps({"time": at.isoformat(), "who": who, "text": text}))),
    "table": ("csv", _lines(lambda at, who, text: f'{at:%Y-%m-%d %H:%M},{who},"{text}"', "time,who,text\n")),
    "sillytavern": ("sillytavern", _lines(_tavern, '{"user_name": "Ann", "character_name": "Bea"}\n')),
    "chatgpt": ("chatgpt", _chatgpt()),
    "open webui": ("open_webui", _open_webui()),
    "character.ai": ("character_ai", _character_ai()),
    "character.ai, before 2024": ("character_ai", _character_ai_old()),
    "whatsapp, day first": ("whatsapp", _lines(lambda at, who, text: f"{at:%d/%m/%Y}, {at:%H:%M} - {who}: {text}")),
    "whatsapp, month first": (
        "whatsapp", _lines(lambda at, who, text: f"{at:%m/%d/%y}, {_half(at)}\u202f{at:%p} - {who}: {text}",
                           "12/9/23, 9:50 PM - Messages and calls are end-to-end encrypted.\n"),
    ),
    "whatsapp, ios": ("whatsapp", _lines(lambda at, who, text: f"\u200e[{at:%d.%m.%y}, {at:%H:%M}:00] {who}: {text}")),
    "whatsapp, chinese": ("whatsapp", _lines(lambda at, who, text: f"{_chinese(at)} - {who}: {text}")),
    "wechat, copied": ("wechat", _lines(lambda at, who, text: f"{who} {at:%Y-%m-%d %H:%M}:00\n{text}\n")),
    "wechat, copied with the time below": ("wechat", _lines(lambda at, who, text: f"{who}\n{_chinese(at)}\n{text}\n")),
    "wechat, by mail": ("wechat", _mail()),
    "wechat, txt": ("wechat", _lines(lambda at, who, text: f"{at:%Y-%m-%d %H:%M}:00 {who}\n{text}\n")),
    "wechat, csv": (
        "csv",
        _lines(lambda at, who, text: f'1,1,{int(who == "Ann")},{at.timestamp():.0f},"{text}",{at:%Y-%m-%d %H:%M}:00,{who}',
               WECHAT_TABLE),
    ),
    "wechat, html": (
        "wechat_page",
        _lines(lambda at, who, text: f"{{ type:1, text: '{text}',is_send:{int(who == 'Ann')},avatar_path:'a',"
               f"timestamp:{at.timestamp():.0f},is_chatroom:0,displayname:'{who}'}},", WECHAT_PAGE) + "]</script></html>",
    ),
    "wechat, plain html": (
        "wechat_page",
        _lines(lambda at, who, text: f"<div><p>{who} {at:%Y-%m-%d %H:%M}:00</p><p>{text}</p></div>", "<html><body>"),
    ),
    "qq": ("qq", _lines(lambda at, who, text: f"{at:%Y-%m-%d %H:%M}:00 {who}(12345678)\n{text}\n", QQ)),
    "qq, twelve hours": ("qq", _lines(lambda at, who, text: f"{at:%Y-%m-%d} {_half(at)}:00 {at:%p} {who}\n{text}\n", QQ)),
    "plain text": ("text", _lines(lambda at, who, text: f"{at:%Y-%m-%d %H:%M} {who}: {text}")),
}  # fmt: skip
"""(how it is recognised, what it holds) by what it is."""


def read(folder: Path, text: str | bytes, names: Names = WHO, name: str = "talk.txt") -> Past:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return foreign_talk.read(path, ZONE, names)


def said(past: Past) -> list[Said]:
    """Every message, told from the exchanges: the reply has no time of its own."""
    return [(one.at.astimezone(ZONE), who, words) for one in past.exchanges
             for who, words in (("Ann", one.user), ("Bea", one.char)) if words]  # fmt: skip


def test_each_form_gives_every_message_with_its_date_and_speaker(tmp_path: Path) -> None:
    wanted = [(START_OF[n // 2], who, text) for n, (_, who, text) in enumerate(TALK)]
    wrong = {}
    for name, (kind, text) in FORMS.items():
        past = read(tmp_path, text)
        got = (past.kind, said(past), past.problems, past.unclear, past.me or "Ann")
        if got != (kind, wanted, [], None, "Ann"):
            wrong[name] = (past.kind, past.problems, past.unclear, dict(past.left_out), said(past)[:2], len(said(past)))
    assert wrong == {}


START_OF = [at for at, who, _ in TALK if who == "Ann"]


def test_each_form_has_a_sample_of_itself_and_a_name_in_both_languages(tmp_path: Path) -> None:
    words, page = (
        foreign_talk.form_words(),
        (Path(__file__).parents[2] / "docs" / "imports.md").read_text(encoding="utf-8"),
    )
    assert [*words] and set(words) == set(foreign_talk.FORMS)
    for kind, form in words.items():
        assert {"zh", "en", "how_zh", "how_en"} < set(form) and len(form["sample"].splitlines()) in (3, 4), kind
        assert foreign_talk.kind_of(form["sample"].encode()) == kind
        assert read(tmp_path, form["sample"]).talks, kind
        assert form["zh"] in page and form["en"] in page and form["sample"] in page, kind


def test_the_order_of_day_and_month_is_told_by_the_whole_file(tmp_path: Path) -> None:
    def dates(*days: str, clock: str = "10:00") -> list[str]:
        past = read(tmp_path, "".join(f"{day}/2023, {clock} - Ann: x{n}\n" for n, day in enumerate(days)))
        return [f"{one.at:%m-%d}" for talk in past.talks for one in talk.exchanges] or ["?"]

    one_message = "03-04"  # what one side says in a row is one message, which has the time of its first line
    assert dates("04/03", "13/03") == [one_message] and dates("03/04", "03/13") == [one_message]
    assert dates("04/03", "05/03", "01/04") == [one_message], "time runs on where the day comes first"
    assert dates("03/04", "03/05", "04/01") == [one_message], "and here the month does"
    assert dates("04/03") == [one_message] and dates("03/04", clock="10:00 AM") == [one_message]
    with pytest.raises(DataError, match=r"two orders \(lines 1 and 2\)"):
        dates("13/03", "03/14")


def test_what_is_no_text_in_wechat_is_named_for_what_it_is(tmp_path: Path) -> None:
    kinds = {
        "1": "好", "3": "[图片]", "34": "[语音]", "43": "[视频]", "47": "[表情]", "49": "[链接或文件]", "50": "[通话]",
        "42": "[42]",
    }  # fmt: skip
    rows = [
        f"{n},{kind},1,{1700000000 + n},好,2023-11-14 22:13:{n},Ann" for n, kind in enumerate([*kinds, "10000"], 20)
    ]
    sent = [
        f"{{ type:{kind}, text: '好',is_send:1,avatar_path:'a',timestamp:{1700000000 + n},is_chatroom:0,displayname:'Ann'}},"
        for n, kind in enumerate([*kinds, "10000"])
    ]
    for text in (WECHAT_TABLE + "\n".join(rows), WECHAT_PAGE + "\n".join(sent) + "]</script></html>"):
        past = read(tmp_path, text)
        assert [one.user for one in past.exchanges] == ["\n".join(kinds.values())]
        assert past.left_out.total() == 1, "the notice of the system"


def test_two_clocks_in_one_file_are_each_read_by_their_own(tmp_path: Path) -> None:
    text = (
        "3/13/23, 9:05 PM - Ann: 甲\n3/13/23, 21:07 - Bea: 乙\n3/14/23, 12:01 AM - Ann: 丙\n3/14/23, 0:02 - Bea: 丁\n"
    )
    got = [f"{one.at:%d %H:%M}" for one in read(tmp_path, text).exchanges]
    assert got == ["13 21:05", "14 00:01"]


def test_what_two_names_are_is_asked_with_a_guess(tmp_path: Path) -> None:
    text = "2024-05-01 12:00 Zoe: hi\n2024-05-01 12:01 Bob: hello\n2024-05-01 12:02 Bob: there\n"
    past = read(tmp_path, text)
    assert past.me == "Zoe" and "say which is you (--me NAME, perhaps Zoe)" in str(past.unclear)
    assert read(tmp_path, text, name="Chat with Zoe.txt").me == "Bob", "many are named after whom it was"
    clear = read(tmp_path, text, Names("Ann", "Bea", me="bob"))
    assert clear.unclear is None and [one.user for one in clear.exchanges] == ["", "hello\nthere"]
    assert (
        read(tmp_path, text, Names("Ann", "Zoe")).me == "Bob"
        and read(tmp_path, text, Names("Ann", "Zoe")).unclear is None
    )


def test_branches_of_an_export_are_kept_and_files_are_named(tmp_path: Path) -> None:
    def node(id_: str, parent: str | None, role: str, text: str, **more: Any) -> tuple[str, Any]:
        message = {"author": {"role": role}, "content": {"parts": [text]}, **more}
        return id_, {"id": id_, "parent": parent, "message": message}

    seen = {"metadata": {"attachments": [{"name": "cat.png"}]}}
    nodes = dict([
        node("a", None, "user", "Look", **seen), node("b", "a", "assistant", "A cat"), node("c", "a", "assistant", "A dog"),
        node("d", "b", "user", "No"), node("e", "c", "user", "Yes"), node("t", "e", "tool", "x"),
        node("f", "t", "assistant", "!"),
    ])  # fmt: skip
    past = read(tmp_path, json.dumps([{"title": "Pets", "create_time": 1.7e9, "current_node": "f", "mapping": nodes}]))
    (talk,) = past.talks
    told = [(one.user, one.char, follows) for one, follows in zip(talk.exchanges, talk.follows, strict=True)]
    pictured = "Look\n[cat.png]"
    assert told == [(pictured, "A cat", None), ("No", "", 0), (pictured, "A dog", None), ("Yes", "!", 2)]


def test_what_of_an_export_is_no_text_is_named_and_what_says_nothing_is_counted(tmp_path: Path) -> None:
    spoken = [{"content_type": "audio_transcription", "text": "hi"}, {"content_type": "image_asset_pointer"}, {}]
    parts = {"a": {"message": {"author": {"role": "user"}, "content": {"parts": spoken}, "create_time": 1.7e9}}}
    past = read(tmp_path, json.dumps([{"current_node": "a", "mapping": parts}, {"title": "no talk"}]))
    assert [one.user for one in past.exchanges] == ["hi\n[image]"] and +past.left_out == {"no talk": 1}
    node = {
        "role": "user",
        "content": [{"type": "text", "text": "see"}],
        "files": [{"name": "a.pdf"}, {"type": "image"}, {}],
    }
    empty = {"role": "assistant", "content": "  ", "parentId": "a"}
    history = {"currentId": "b", "messages": {"a": node | {"timestamp": "yesterday"}, "b": empty}}
    past = read(tmp_path, json.dumps({"title": "t", "created_at": 1_700_000_000_000, "chat": {"history": history}}))
    (one,) = past.exchanges
    assert one.user == "see\n[a.pdf]\n[image]\n[file]" and one.at.timestamp() == 1.7e9, "the talk's own time stands in"
    assert +past.left_out == {"tools, system, empty": 1}


def test_of_a_turn_all_candidates_are_read_and_the_chosen_one_goes_on(tmp_path: Path) -> None:
    def turn(at: str, name: str, *texts: str, **more: Any) -> dict[str, Any]:
        candidates = [{"candidate_id": text, "raw_content": text} for text in texts]
        return {
            "create_time": at,
            "author": {"name": name, "is_human": name == "Ann"},
            "candidates": candidates,
            **more,
        }

    turns = [
        turn("2024-05-01T12:02:00Z", "Ann", "Go on"),
        turn("2024-05-01T12:01:00Z", "Bea", "B", " ", "C", primary_candidate_id="B"),
        turn("2024-05-01T12:00:00Z", "Ann", "Hi"), turn("2024-05-01T12:03:00Z", "Bea", " "),
    ]  # fmt: skip
    past = read(tmp_path, json.dumps({"character_name": "Bea", "turns": turns}))
    (talk,) = past.talks
    told = [(one.user, one.char, follows) for one, follows in zip(talk.exchanges, talk.follows, strict=True)]
    assert (talk.title, told) == ("Bea", [("Hi", "C", None), ("Hi", "B", None), ("Go on", "", 1)])
    assert +past.left_out == {"tools, system, empty": 1}


def test_a_line_that_is_no_talk_is_told_with_its_number_and_the_others_come(tmp_path: Path) -> None:
    good = {"time": "2024-05-01T12:00:00", "who": "Ann", "text": "hi"}
    rows = [
        good,
        [1],
        good | {"time": "soon"},
        good | {"text": " "},
        {"who": "Ann", "text": "x"},
        good | {"time": "2024-05-01T12:01"},
    ]
    past = read(tmp_path, "\n".join([*map(json.dumps, rows), "{"]))
    assert [one.user for one in past.exchanges] == ["hi\nhi"]
    assert [problem.line for problem in past.problems] == [2, 3, 4, 5, 7]
    reasons = ("no JSON object", "time = 'soon'", "text is empty", "time is missing", "no JSON;")
    assert all(reason in str(problem) for reason, problem in zip(reasons, past.problems, strict=True))
    head = json.dumps({"user_name": "Ann", "character_name": "Bea"})
    line = {"name": "Ann", "is_user": True, "mes": "hi"}
    tavern = read(tmp_path, "\n".join([head, *(json.dumps(line | {"send_date": at}) for at in ("soon", True, 1.7e9))]))
    assert len(tavern.exchanges) == 1 and [problem.line for problem in tavern.problems] == [2, 3]
    assert "send_date = 'soon'" in str(tavern.problems[0])


BROKEN: Sequence[str | bytes] = [
    "[", '[{"mapping": ', '[{"mapping": {}, "parent": 1}', '{"turns": [{"is_human": true}', "{}", '{"time": 3}',
    '{"user_name": "a", "character_name": "b"}\n{"mes": ""}', '{"user_name": "a", "character_name": "b"}\n{"mes": 3',
    "time,who,text\nyesterday,user,hi", "time,who,text\n2024-01-01,user,", "time,who,text\n\"2024", "您好".encode("gb18030"),
    "<html><body>nothing</body></html>", b"\xff\xfe\x00\x00", "2024-13-45 12:00 Ann: hi", "2024-05-01 25:00 Ann: hi",
    "13/03/2023, 10:00 - Ann: a\n03/14/2023, 10:00 - Ann: b", '[{"chat": {"role": "content"',
    '{"chat": 1, "role": 2, "content": 3}',
    "2024-05-01 12:00 Ann: a\n0000-00-00 12:00 Bea: b", "Ann 2024-02-30 12:00\nhi",
    '{"time": "2024", "who": "user", "text": "\\ud800"',
]  # fmt: skip


def test_twenty_damaged_files_are_each_refused_in_words_and_write_nothing(tmp_path: Path) -> None:
    home = Home.build(tmp_path)
    before = sorted(path.name for path in home.folder.rglob("*.yaml"))
    assert len(BROKEN) >= 20
    with home.open() as house:
        for n, data in enumerate(BROKEN):
            path = tmp_path / f"broken{n}"
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
            with pytest.raises(MoeChatError) as refused:
                Coming(house, Arrival("talk", path), Wishes()).take()
            assert len(str(refused.value)) > 20 and "Traceback" not in str(refused.value), data
        assert not house.agent().store.tree.parents
    assert sorted(path.name for path in home.folder.rglob("*.yaml")) == before


def test_the_time_of_a_long_chat_grows_as_its_lines(tmp_path: Path) -> None:
    def seconds(lines: int) -> float:
        text = "".join(
            f"{(START + timedelta(minutes=n)):%d/%m/%Y, %H:%M} - {'Ann' if n % 9 else 'Bea'}: x {n}\n"
            for n in range(lines)
        )
        begun = time.process_time()
        past = read(tmp_path, text)
        assert past.speakers.total() == lines
        return time.process_time() - begun

    short, long = seconds(2000), seconds(16000)
    assert long < 8 * 3 * max(short, 0.02)


@pytest.mark.slow
def test_of_a_chat_of_200_000_lines_not_one_is_lost(tmp_path: Path) -> None:
    lines = 200_000
    text = "".join(
        f"{START + timedelta(minutes=7 * n):%d/%m/%Y, %H:%M} - {'Ann' if n % 2 == 0 else 'Bea'}: line {n}\n"
        for n in range(lines)
    )
    exchanges = [one for talk in read(tmp_path, text).talks for one in talk.exchanges]
    assert [part for one in exchanges for part in (one.user, one.char)] == [f"line {n}" for n in range(lines)]
    assert exchanges[-1].at == START + timedelta(minutes=7 * (lines - 2))
