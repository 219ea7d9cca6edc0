"""Messages that are made up to be asked: two of a haystack's own questions at once, and those that nothing in it belongs to,
questions of other lives, the same with its own names put in, and small talk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from moechat import when
from moechat.bench.dataset import Haystack, Question

MAX_FOREIGN_QUESTIONS = 40  # Per haystack: questions of others in the same language.
MOST_PAIRS = 30
_SINGLE = re.compile(r"[^.!?。！？\n]{1,200}[?？]")
SMALL_TALK = {
    "zh": """
        晚安
        早上好呀
        我回来了
        在干嘛呢
        给我讲个笑话
        今天好累啊
        哈哈哈哈笑死我了
        你真可爱
        唱首歌给我听吧
        抱抱我
        我们来玩成语接龙吧
        今天天气真不错
        你会下棋吗
        帮我想个晚饭吃什么
        好无聊，陪我聊聊天
        一加一等于几
        外面下雨了
        你觉得人为什么要睡觉
        先去洗澡了，等会儿聊
        嗯嗯，知道啦
        你是谁呀
        月亮离地球有多远
        给我加加油
        写一首关于春天的小诗
        谢谢你一直陪着我
        我先去开会了
        周末愉快
        刚刚打了个喷嚏
        你喜欢白天还是晚上
        帮我把这句话翻译成英文：好久不见
    """,
    "en": """
        Good night
        good morning!
        I'm back
        What are you up to?
        Tell me a joke
        I'm so tired today
        hahaha that's hilarious
        You're so sweet
        Sing me a song
        Give me a hug
        Let's play twenty questions
        Lovely weather today, isn't it?
        Can you play chess?
        What should I have for dinner tonight?
        I'm bored, talk to me
        What is seven times eight?
        It's raining outside
        Why do people need sleep, do you think?
        Going to take a shower, back in a bit
        Okay, got it
        Who are you?
        How far away is the moon?
        Wish me luck
        Write me a short poem about spring
        Thanks for always being there
        I have to run to a meeting now
        Have a nice weekend
        I just sneezed
        Do you prefer mornings or evenings?
        How do you say "long time no see" in French?
    """,
}


def small_talk(haystack: Haystack) -> list[Question]:
    """Thirty lines that ask for nothing of the past, in the haystack's language."""
    lines = filter(None, map(str.strip, SMALL_TALK[haystack.language].splitlines()))
    return [_asked(haystack, f"small talk {number}", line) for number, line in enumerate(lines, 1)]


def of_others(haystack: Haystack, everybody: Iterable[Haystack]) -> list[tuple[Haystack, Question]]:
    """(whose, question) of other lives that have their answer there, evenly chosen whatever the order of the files. A question
    that names a day has an answer in every life."""
    theirs = {
        question.text: (other, question)
        for other in everybody
        if other.language == haystack.language and other.opening != haystack.opening
        for question in other.questions
        if question.counts and not when.resolve(question.text, question.asked_at)
    }
    texts = sorted(theirs)
    return [theirs[text] for text in texts[:: max(1, -(-len(texts) // MAX_FOREIGN_QUESTIONS))]]


def strangers(haystack: Haystack, theirs: Sequence[tuple[Haystack, Question]]) -> list[Question]:
    """Questions of others as they are, asked when the haystack's own are."""
    return [_asked(haystack, f"{other.name} {question.id}", question.text) for other, question in theirs]


def renamed(haystack: Haystack, theirs: Sequence[tuple[Haystack, Question]]) -> list[Question]:
    """The same with the names of this haystack's speakers in the place of theirs."""
    return [
        _asked(haystack, f"{other.name} {question.id}", _with_names(question.text, other.speakers, haystack.speakers))
        for other, question in theirs
    ]


def _with_names(text: str, theirs: Sequence[str], ours: Sequence[str]) -> str:
    instead = dict(zip(theirs, ours, strict=False))
    pattern = "|".join(rf"(?<![a-zA-Z]){re.escape(name)}(?![a-zA-Z])" for name in instead if name)
    return re.sub(pattern, lambda match: instead[match[0]], text) if pattern else text


def pairs(haystack: Haystack) -> list[Question]:
    """Two of its own questions in one message, neither of which names a day."""
    single = [q for q in haystack.questions if q.counts and not q.names_date and _SINGLE.fullmatch(q.text)]
    joint = "另外，" if haystack.language == "zh" else " And also, "
    return [
        replace(
            one,
            id=f"{one.id} {other.id}",
            text=one.text + joint + other.text[0].lower() + other.text[1:],
            category="",
            evidence=(*one.evidence, *other.evidence),
        )
        for one, other in list(zip(single[::2], single[1::2], strict=False))[:MOST_PAIRS]
    ]


def _asked(haystack: Haystack, id_: str, text: str) -> Question:
    question = haystack.questions[0]
    return replace(question, id=id_, text=text, category="", names_date=False, answerable=False, evidence=())
