"""What a front end sends: OpenAI's messages, read as turns, a new message and what belongs around it;
and what is no talk, though it comes as one."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from moechat.cards.book import only
from moechat.model import Attachment, Message, Role
from moechat.serve.additions import folded, weight
from moechat.serve.alignment import SentTurn, TalkLine
from moechat.turn import Sent

NOTICE = "【MoeChat】"  # What we say ourselves begins so: it is no talk.
MOST_NAME = 60
BEHIND: Mapping[str, str] = {"zh": "这句话想起了", "en": "Remembered for this"}
_FOLD, _FOLD_END = f"<details><summary>{NOTICE}", "</details>"
# Front ends put documents and memories of their own before what the user says.
_TASK, _OPENED, _CLOSED = "### Task:", "<context>", "</context>"
_ITS_TALK = re.compile(r"<chat_history>|### Chat History:")
_TAG = re.compile(r"<(/?)(memory_context|context|user_context)>")
_QUERY = re.compile(r"</?user_query>")
_GO_ON = re.compile(r"continue (?:your|the) (?:last|previous) message|继续(?:你的)?上一条", re.I)
_NEXT_SPEAKER = re.compile(
    r"\b(?:write|reply|respond|speak)\b[^.\n]{0,40}\bonly as\b|[仅只](?:以|用|作为|扮演)[^。\n]{1,60}(?:回复|回应|说话|写|发言)",
    re.I,
)
_LABEL = re.compile(r"^([^\n:：]{1,60})[:：] ", re.M)  # Groups have the name of a character before what she says.
# AstrBot says beside a message of a group who wrote it. No part of it is tried twice: a regular expression holds up everybody.
_WROTE = r"User ID: [^\n\[]{0,99}?, Nickname: ([^\n\]<,]{1,60}+)"
_SENDER = re.compile(
    rf"(?<!\s)\s*+(?:\[{_WROTE}[^\n\[\]<]{{0,300}}+\][^\n]{{0,300}}+\n"
    rf"|<system_reminder>\s*+{_WROTE}[^<]{{0,3000}}+</system_reminder>)"
)
_ABOUT_IT = re.compile(r"\bsummar|\btitle\b|point of view of|\bpause\b|总结|概括|摘要|标题|的视角", re.I)
_KINDS = {"image_url": "image", "input_image": "image", "input_audio": "audio", "audio_url": "audio", "file": "file"}
ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool", "function": "tool",
}  # fmt: skip
LINES: Mapping[str, Mapping[str, str]] = {
    "zh": {"image": "[图片]", "audio": "[录音]", "file": "[文件]"},
    "en": {"image": "[image]", "audio": "[recording]", "file": "[file]"},
}


@dataclass(frozen=True)
class History:
    """The messages of a request. ``words`` are what the user says now, as memory keeps it (None: nobody says anything new);
    ``message`` is the whole of it, ``before`` and ``after`` are the messages around it. ``begun`` is the beginning of a reply
    that is to go on. ``is_order``: the last words are an instruction about the talk, which goes not on. ``cue`` is the
    instruction of a group that says whose turn it is; there ``speaker`` may be another character (``is_by_character``)."""

    turns: Sequence[SentTurn] = ()
    words: str | None = None
    message: Message = field(default_factory=lambda: Message("user", ""))
    before: Sequence[Message] = ()
    after: Sequence[Message] = ()
    begun: str = ""
    is_order: bool = False
    cue: Message | None = None
    speaker: str = ""
    attachments: tuple[Attachment, ...] = ()
    is_by_character: bool = False

    def to(self, user: str) -> History:
        """With "" in the place of the name that its user goes by."""
        turns = [
            turn if turn.is_character or turn.speaker != user else replace(turn, speaker="") for turn in self.turns
        ]
        return replace(self, turns=turns, speaker="" if self.speaker == user else self.speaker)

    @property
    def lines(self) -> list[SentTurn]:
        """The turns and the message."""
        return [*self.turns, SentTurn(self.words or "", "", "", self.speaker, self.is_by_character)]

    def heard_by(self, name: str) -> History:
        """The same group as another of its characters hears it."""
        messages = [*self.before, self.message, *self.after]
        return _in_group(messages, name, self.cue, "en") if self.cue else self

    @property
    def text(self) -> str:
        return "\n".join(one.content for one in (*self.before, self.message, *self.after))

    @property
    def weight(self) -> int:
        return weight(self.text)

    def is_task(self, task: str, body: Mapping[str, Any]) -> bool:
        """Whether it asks for something about a talk, or tests whether there is a model. ``task`` is what it says itself."""
        if task or self.words is None or self.is_order:
            return True
        if body.get("max_tokens") == 1 or body.get("max_completion_tokens") == 1:
            return True
        text = self.message.content
        return not self.turns and text.lstrip().startswith(_TASK) and bool(_ITS_TALK.search(text))


@dataclass(frozen=True)
class TalkRequest:
    """What a front end asks of a character. ``chat`` is its name for the talk, "" where it has none; ``count`` replies are
    wished for. ``stores``: it is on the record. Requests with one ``key`` are one message sent
    again, those with two are two messages. ``user`` is the name that its user goes by. See ``turn.Sent`` for the rest."""

    history: History
    chat: str = ""
    count: int = 1
    stores: bool = True
    keeps_card: bool = False
    spoken: bool = False
    wishes: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    user: str = ""

    def sent(self, ids: tuple[str, ...]) -> Sent:
        history = self.history
        before, after = history.before, history.after
        if not self.keeps_card:
            before = [one for one in before if one.role != "system"]
            after = [one for one in after if one.role != "system" or one is history.cue]
        return Sent(
            history.message, before, after, ids, self.keeps_card, history.begun, self.spoken, history.speaker,
            history.attachments, self.wishes, key=self.key,
        )  # fmt: skip


def read(raw: Sequence[Mapping[str, Any]], language: str = "zh", me: str = "") -> History:
    """The history of a request to the character ``me``."""
    messages = _without_notices([_message(one) for one in raw])
    places = [at for at, one in enumerate(messages) if one.role == "user"]
    if not places:
        return History(before=messages)
    standing = list(takewhile(lambda one: one.role == "system", reversed(messages)))
    nudge = next((one for one in standing if _NEXT_SPEAKER.search(one.content)), None)
    if me and nudge and not _ABOUT_IT.search(standing[0].content):
        return _in_group(messages, me, nudge, language)
    place = places[-1]
    message, after = messages[place], messages[place + 1 :]
    last = next((one for one in reversed(after) if one.role != "system"), None)
    goes_on = last is not None and last.role == "assistant" and not (last.wire or {}).get("tool_calls")
    # The newest first. Standing orders of the front end may come after the one that matters.
    orders = list(takewhile(lambda one: one.role == "system", reversed(after))) if goes_on else []
    cue = next((one for one in orders if _NEXT_SPEAKER.search(one.content)), None)
    is_turn = any(_GO_ON.search(one.content) for one in orders) or (cue and not _ABOUT_IT.search(orders[0].content))
    is_order = bool(orders) and not is_turn
    return History(
        _turns(messages[:place]), spoken_words(message.content), message, messages[:place], after,
        last.content if last and goes_on and not is_order and not cue else "", is_order, cue,
        _speaker(message), _attachments(message, language),
    )  # fmt: skip


def _in_group(messages: Sequence[Message], me: str, nudge: Message, language: str) -> History:
    """A group as a character hears it: what people and others say are messages, each with its speaker, her own lines replies."""
    labels = (_LABEL.match(one.content) for one in messages if one.role == "assistant")
    names = {me, *(label[1] for label in labels if label)}
    turns, place = list[SentTurn](), 0
    for at, one in enumerate(messages):
        if one.role == "user":
            turns.append(SentTurn(spoken_words(one.content), speaker=_speaker(one)))
            place = at
        for name, words in _said(one.content, names) if one.role == "assistant" else ():
            if name not in ("", me):
                goes_on = bool(turns) and turns[-1].is_character and (turns[-1].speaker, turns[-1].reply) == (name, "")
                words = f"{turns.pop().user}\n{words}" if goes_on else words  # As her own memory has it: one reply.
                turns.append(SentTurn(words, speaker=name, is_character=True))
                place = at
            elif turns and words:
                turns[-1] = replace(turns[-1], reply="\n".join(filter(None, [turns[-1].reply, words])))
    now, message = turns.pop(), messages[place]
    begun = f"{now.reply}\n" if now.reply else ""  # She goes on answering.
    attachments = _attachments(message, language) if message.role == "user" else ()
    before, after = messages[:place], messages[place + 1 :]
    return History(
        turns, now.user, message, before, after, begun, False, nudge, now.speaker, attachments, now.is_character
    )  # fmt: skip


def _said(text: str, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """(who, what) of a message in which each of these names may begin a line; "" is who does not say so."""
    labels = [label for label in _LABEL.finditer(text) if label[1] in names]
    ends = [*(label.start() for label in labels), len(text)]
    yield "", text[: ends[0]].strip()
    yield from ((label[1], text[label.end() : end].strip()) for label, end in zip(labels, ends[1:], strict=True))


def _speaker(message: Message) -> str:
    """Who says a message, "" where it does not say so."""
    name, sender = (message.wire or {}).get("name"), _SENDER.search(message.content)
    name = name if isinstance(name, str) else (sender[1] or sender[2]) if sender else ""
    return name.strip()[:MOST_NAME]


def spoken_words(text: str) -> str:
    """What the user says of a message: without what a front end adds to it."""
    if text.lstrip().startswith(_TASK) and 0 <= text.find(_OPENED) < (end := text.rfind(_CLOSED)):
        text = text[end + len(_CLOSED) :]
    text = _SENDER.sub("", text)
    return _QUERY.sub("", _without_blocks(text)).strip()


def fold(memories: Sequence[Mapping[str, object]], language: str) -> str:
    """The memories behind a reply, as its last fold; "" where there are none."""
    lines = "".join(f"- {html.escape(' '.join(str(one['text']).split()), quote=False)}\n" for one in memories)
    summary = f"<summary>{NOTICE}{BEHIND[language]}</summary>"
    return f"\n\n<details>{summary}\n\n{lines}\n</details>" if lines else ""


def _without_blocks(text: str) -> str:
    """One pass over the tags: a block ends at the first tag that closes it, and one that nothing closes is text."""
    tags = list(_TAG.finditer(text))
    last = {tag[2]: tag.start() for tag in tags if tag[1]}
    kept, place, name = "", 0, ""
    for tag in tags:
        if name and tag[1] and tag[2] == name:
            name, place = "", tag.end()
        elif not name and not tag[1] and last.get(tag[2], 0) > tag.start():
            name, kept = tag[2], kept + text[place : tag.start()]
    return kept + text[place:]


def _message(raw: Mapping[str, Any]) -> Message:
    """A message in our form. What holds more than words stays beside them, as it came."""
    role = ROLES.get(str(raw.get("role")), "user")
    content = raw.get("content")
    text = content if isinstance(content, str) else "\n".join(_texts(content))
    at = text.find(_FOLD) if role == "assistant" and text.rstrip().endswith(_FOLD_END) else -1
    if at >= 0:
        text = text[:at].rstrip()
        raw = {**raw, "content": (content := text)}
    wire = {key: value for key, value in raw.items() if value is not None} | {"role": role}
    is_plain = isinstance(content, str) and wire.keys() <= {"role", "content"}
    return Message(role, text, None if is_plain else wire)


def _texts(content: object) -> list[str]:
    return [str(part["text"]) for part in only(content, list) if isinstance(only(part, dict).get("text"), str)]


def _without_notices(messages: Sequence[Message]) -> list[Message]:
    """Without what we said ourselves, and without the message to which we said it."""
    kept: list[Message] = []
    for message in messages:
        if message.role == "assistant" and message.content.startswith(NOTICE):
            if kept and kept[-1].role == "user":
                kept.pop()
        else:
            kept.append(message)
    return kept


def _turns(messages: Sequence[Message]) -> list[SentTurn]:
    """The turns of a history. A greeting before the first message belongs to none."""
    turns: list[SentTurn] = []
    for message in messages:
        if message.role == "user":
            turns.append(SentTurn(spoken_words(message.content)))
        elif message.role == "assistant" and message.content and turns:
            reply = "\n".join(filter(None, [turns[-1].reply, message.content]))
            turns[-1] = SentTurn(turns[-1].user, reply)
    return turns


def _attachments(message: Message, language: str) -> tuple[Attachment, ...]:
    attachments = []
    for part in only((message.wire or {}).get("content"), list):
        if kind := _KINDS.get(str(only(part, dict).get("type"))):
            inner = next((value for key, value in part.items() if key != "type" and isinstance(value, dict)), {})
            name = str(inner.get("filename") or inner.get("name") or "")[:MOST_NAME]
            digest = hashlib.sha256(repr(sorted(inner.items())).encode("utf-8", "replace")).hexdigest()
            attachments.append(Attachment(kind, name, digest, f"{LINES[language][kind]} {name}".strip()))
    return tuple(attachments)


# ---- what is no talk, though it comes as one: titles, tags, summaries. Such a request leaves no trace

LEAST_QUOTE = 12  # A message that quotes less of a talk, and does not say who spoke, may be talk itself.


def quotes(words: str, lines: Sequence[TalkLine]) -> bool:
    """Whether a single message tells an exchange of ours, both sides of it: it is to be summed up, or given a title."""
    text = _plain(words)
    for line in lines:
        user, reply = _plain(line.user), _plain(line.replies[line.chosen]) if line.replies else ""
        is_labelled = f":{user}" in text and f":{reply}" in text
        is_long = len(user + reply) >= LEAST_QUOTE and user in text and reply in text
        if user and reply and (is_labelled or is_long):
            return True
    return False


def _plain(words: str) -> str:
    return folded(words).replace("：", ":")
