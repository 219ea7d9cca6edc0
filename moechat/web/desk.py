"""The desk: what a tab of the page shows of a house, and what can be done with a talk. Knows no Gradio.

What goes to a tab is JSON with HTML in it; the tab holds nothing that the house does not know, but a draft.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from moechat.access.keys import PASS
from moechat.agent import Agent
from moechat.conversation import Conversation
from moechat.cue import Cue
from moechat.curation.talks import ENDINGS, imports_by_talk, title
from moechat.errors import MoeChatError, NotFound
from moechat.house import House
from moechat.house.group import PREFIX, GroupTalk
from moechat.house.studio import MAX_FILE_BYTES
from moechat.settings.character import Language
from moechat.turn import Shown
from moechat.verbs import perform
from moechat.verbs.whole_talks import VERBS
from moechat.web import exchange, fault_words
from moechat.web.clicks import Whereabouts
from moechat.web.drawing import macros, picture_of
from moechat.web.exchange import Branches, Face
from moechat.web.news import News
from moechat.web.tray import Trays
from moechat.web.turns import AnyTalk, Turn, Turns
from moechat.web.words import Words
from moechat.when import Span

View = dict[str, Any]
"""JSON for a tab."""
_FILE_SIGNS = re.compile(r"[^\w .-]+")  # What no name of a file has.
MAX_FOUND = 50
SNIPPET_CHARS = 60  # Before and after what a search found.


@dataclass(frozen=True)
class TalkEntry:
    """A talk in the list: where it is and what it is called. ``is_here``: it can be changed from here."""

    place: Whereabouts
    title: str = ""
    pinned: bool = False
    is_here: bool = False


class Desk:
    """``news`` is rung whenever something has changed that a tab may show; ``page`` is how many exchanges one shows at first.

    Whose memory is on it, and which characters are, says the pass of the request. It has more than twenty methods because each
    thing that a tab shows of a talk is one of its own.
    """

    def __init__(self, house: House) -> None:
        self.house, self.news, self.trays = house, News(), Trays()
        self.turns = Turns(self.news.grown)
        self.page = max(1, house.config.web.shown_messages // 2)
        self._folders = (house.data, house.config_path.resolve().parent, house.config_path.parent)
        self._held: dict[tuple[str, Whereabouts], Conversation] = {}  # by user and place
        self._numbers = itertools.count(1)

    def close(self) -> None:
        self.turns.close()
        self.trays.close()

    # ---- where a tab is

    def agent(self, place: Whereabouts) -> Agent:
        """Raises MoeChatError where the character cannot be opened."""
        if not place.character:
            raise NotFound("no character is chosen")
        PASS.get().require_character(place.character)
        return self.house.agent(place.character, _user(), place.world or None)

    def conversation(self, place: Whereabouts) -> AnyTalk:
        agent = self.agent(place)
        if place.talk.startswith(PREFIX):
            group = self.house.groups.of(place.talk, place.character, _user(), place.world)
            for one in group.cast.members:
                PASS.get().require_character(one.character)
            return group
        if not place.held:
            return agent.in_talk(place.talk)
        if (held := self._held.get((_user(), place))) is None:
            raise NotFound("that talk off the record is over")
        return held

    def settled(self, place: Whereabouts, language: str) -> Whereabouts:
        """The place itself, or the nearest that is there: another character, the first talk where one off the record is over."""
        names = _characters(self.house)
        if place.character not in names:
            return Whereabouts(self.house.gallery.first_for(language, names))
        if place.held and (_user(), place) not in self._held:
            return Whereabouts(place.character, place.world)
        return place

    def hold(self, place: Whereabouts) -> Whereabouts:
        """Begin a talk off the record."""
        number = next(self._numbers)
        held = Whereabouts(place.character, place.world, held=number)
        self._held[_user(), held] = self.agent(place).hold(None if place.held else place.talk)
        return held

    # ---- several in one talk

    def gather(self, place: Whereabouts, characters: Sequence[str]) -> Whereabouts:
        """Begin a talk of this character with others."""
        for one in characters:
            PASS.get().require_character(one)
        group = self.house.groups.begin([place.character, *characters], _user(), place.world)
        return replace(place, talk=group.name, held=0)

    def recast(self, place: Whereabouts, action: Mapping[str, str]) -> Turn | None:
        """Change who is in a talk and how they speak. The turn that begins where one is told to speak."""
        group, name = self.conversation(place), action.get("name", "")
        if not isinstance(group, GroupTalk):
            raise NotFound("nobody else is in this talk")
        match action.get("act", ""):
            case "speak":
                return self.turns.begin(group, lambda: group.speak(name))
            case "mute" | "unmute" as act:
                group.change_member(name, muted=act == "mute")
            case "add":
                PASS.get().require_character(name)
                group.add(name)
            case "remove":
                group.remove(name)
            case "person" if name.strip():
                group.change_cast(people=tuple(dict.fromkeys([*group.cast.people, name.strip()])))
            case "natural" | "list" | "manual" as order:
                group.change_cast(order=order)
        self.news.changed()
        return None

    def say(self, place: Whereabouts, text: str) -> Turn | None:
        """The turn that a message begins; "NAME: …" is said by that person, where they are in the talk."""
        talk, person = self.conversation(place), ""
        if isinstance(talk, GroupTalk):
            names = "|".join(map(re.escape, talk.cast.people))
            if names and (label := re.match(rf"({names})\s*[:：]\s*(?=\S)", text)):
                person, text = label[1], text[label.end() :]
            return self.turns.begin(talk, lambda: talk.talk(text, person))
        return self.turns.talk(talk, text)

    # ---- what is shown

    def frame(self, place: Whereabouts, words: Words) -> View:
        """What stands around the talk: the characters, the talks, the head, the box, and what is wrong."""
        names, draw = _characters(self.house), macros("talk", words)
        portraits = [one for one in self.house.gallery.portraits() if one.folder in names]
        around: View = {
            "place": asdict(place), "characters": str(draw.characters(portraits, place.character)),
            "brand": str(draw.brand()), "shut": "", "talks": "", "title": "", "problems": "",
        }  # fmt: skip
        try:
            agent = self.agent(place)
        except (MoeChatError, OSError) as failure:
            return around | {
                "shut": " ".join(fault_words.told([str(failure)], self._folders, words))
                if place.character
                else words("no_characters"),
                "name": place.character,
            }
        name = agent.character.name
        problem = self.house.settings.problem if PASS.get().is_whole else None
        problems = [*map(str, problem.parts if problem else ()), *agent.problems()]
        strangers = agent.unknown_files()
        in_words = [*fault_words.told(problems, self._folders, words),
                *([words("unknown_files", names=words.row(strangers))] if strangers else [])]  # fmt: skip
        return around | {
            "name": name,
            "talks": str(draw.talks(self._talks(place, agent), place)),
            "title": self.title(place, agent, words),
            "problems": str(macros("parts", words).problems(in_words)),
            "write": words("write", name=name),
            "kept": words("held_note") if place.held else words("world_note", name=place.world) if place.world else "",
        }

    def _talks(self, place: Whereabouts, agent: Agent) -> list[TalkEntry]:
        """The talks that one can go to with this character."""
        store = agent.store
        newest = sorted(store.tree.talks.values(), key=lambda talk: talk.newest or "", reverse=True)
        here = [
            TalkEntry(Whereabouts(place.character, place.world, one.name), _title(agent, one.name), one.pinned, True)
            for one in sorted(newest, key=lambda talk: (not talk.pinned, bool(talk.name)))
            if not one.away
        ]
        if place.talk and place.talk not in [one.place.talk for one in here]:
            here.append(TalkEntry(place, title(store, place.talk)))
        first = [Whereabouts(place.character)] if place.world else []
        others = (world for world in self.house.worlds(place.character, _user()) if world != place.world)
        worlds = [Whereabouts(place.character, world) for world in others]
        around = (_user(), place.character, place.world)
        held = [one for user, one in self._held if (user, one.character, one.world) == around]
        return [*map(TalkEntry, first), *here, *map(TalkEntry, [*held, *worlds])]

    def one_talk(self, place: Whereabouts, words: Words) -> View:
        """What can be done with a talk: ``{html}``."""
        store = self.agent(place).store
        store.tree.require_talk(place.talk)
        draw, talk = macros("talk", words), store.tree.talks[place.talk]
        days = [words.day(one.at.date()) for one in imports_by_talk(store).get(place.talk, ())]
        there = {one.character for one in talk.cast.members} if talk.cast else set[str]()
        others = [one for one in self.house.gallery.portraits() if one.folder in set(_characters(self.house)) - there]
        form = draw.one_talk(place, title(store, place.talk), talk.pinned, days, talk.cast, others)
        return {"html": str(form)}

    def do_with_talk(self, place: Whereabouts, words: Words, action: Mapping[str, str]) -> View:
        """Do it: ``note`` says so, ``gone`` that the talk is in no list any more, ``file`` and ``text`` are an export."""
        agent, act = self.agent(place), action.get("act", "")
        if act == "list" or (verb := VERBS.get(act)) is None:
            raise NotFound("there is no such thing to do with a talk")
        if verb.waits and self.turns.current(agent.in_talk(place.talk)):
            return {"note": words("wait_reply"), "bad": True}
        values = {key: action[key] for key in verb.values.model_fields if key in action}
        done = perform(verb, agent, values | {"talk": place.talk})
        if verb.reads:
            name = title(agent.store, place.talk) or agent.character.name
            form: Any = values.get("form", "markdown")
            return {"file": f"{_FILE_SIGNS.sub(' ', name).strip()}.{ENDINGS[form]}", "text": done}
        if isinstance(talk := self.conversation(place), GroupTalk):
            talk.pass_on()
        self.news.changed()
        return {"note": words(f"talk_{act}_done"), "gone": act == "delete" and bool(place.talk)}

    def title(self, place: Whereabouts, agent: Agent, words: Words) -> str:
        chat = self.house.config.chat
        model = Path(chat.local_gguf).stem if chat.local_gguf else chat.model or urlsplit(chat.base_url).netloc
        draw, cast = macros("talk", words), agent.store.tree.cast(place.talk)
        name = "、".join(one.name for one in cast.members) if cast else agent.character.name
        called = draw.talk_name(place, "" if place.held else _title(agent, place.talk))
        return str(draw.header(name, called, self.house.connected, model, self._picture(place)))

    def _picture(self, place: Whereabouts) -> str:
        return picture_of(self.house.gallery.portrait(place.character))

    def talk(self, place: Whereabouts, words: Words, before: str = "") -> View:
        """The newest page of a talk, or the one before an exchange: ``{exchanges, more, greeting, busy, notice}``."""
        conversation = self.conversation(place)
        edition, turn = self.news.edition, self.turns.current(conversation)  # before the rows, which may be newer then
        rows = conversation.recent(self.page + 1, before or None)
        more, rows = len(rows) > self.page, rows[-self.page :]
        face = self.face(place, words)
        return {
            "exchanges": self._drawn(place, conversation, rows, face, turn),
            "more": more,
            "greeting": "" if more or face.is_one_of_several else exchange.greeting(face),
            "busy": turn is not None,
            "edition": edition,
            "notice": "" if before or turn else self._trouble(conversation, rows, words),
        }

    def face(self, place: Whereabouts, words: Words) -> Face:
        character = self.agent(place).character
        several = place.talk.startswith(PREFIX)
        return Face(words, character.name, character.greeting, bool(place.held), self._picture(place), several)

    def one(self, place: Whereabouts, words: Words, id_: str) -> list[View]:
        """A single exchange as it is now, none where it is gone."""
        conversation = self.conversation(place)
        rows, turn = conversation.path.shown([id_]), self.turns.current(conversation)
        return self._drawn(place, conversation, rows, self.face(place, words), turn)

    def _drawn(
        self, place: Whereabouts, conversation: AnyTalk, rows: Sequence[Shown], face: Face, turn: Turn | None
    ) -> list[View]:
        forks = conversation.path.forks()
        path = {row.exchange.id for row in rows}
        views = []
        for row in rows:
            one, face = row.exchange, self.face(replace(place, character=row.by), face.words) if row.by else face
            if turn is not None and (one.id == turn.exchange_id or one.status == "streaming"):
                html = exchange.live(row, turn, face)
            else:
                ids = forks.get(one.id, ())
                taken = next((n for n, id_ in enumerate(ids) if id_ in path), 0 if row is not rows[-1] else -1)
                branches = Branches(ids, taken) if ids else None
                html = exchange.exchange(row, face, self._spans(place, row), branches)
            views.append({"id": one.id, "html": html, "user": one.user, "char": one.char})
        return views

    def live(self, place: Whereabouts, words: Words, turn: Turn) -> View | None:
        """The exchange that is being answered, alone; None until its message is recorded."""
        rows = turn.conversation.path.shown([turn.exchange_id]) if turn.exchange_id else []
        if not rows:
            return None
        face = self.face(replace(place, character=rows[0].by or place.character), words)
        return {"id": turn.exchange_id, "html": exchange.live(rows[0], turn, face)}

    def _spans(self, place: Whereabouts, row: Shown) -> Sequence[Span]:
        """The times that the message named, as they were understood then; of an old one, as they would be."""
        one = row.exchange
        if row.spans:
            return row.spans
        widths = self.agent(place).config.time.widths
        return Cue(one.user, one.at, widths=widths).spans if one.user else ()

    def _trouble(self, conversation: AnyTalk, rows: Sequence[Shown], words: Words) -> str:
        """What went wrong with the last turn, unless an exchange says so itself.

        A regeneration that failed leaves the reply that was there.
        """
        turn = self.turns.last(conversation)
        if turn is None or not turn.over.is_set():
            return ""
        error = turn.error or (words("unexpected", kind=turn.crash) if turn.crash else turn.failure)
        if not error or any(row.error == error for row in rows):
            return ""
        return str(macros("talk", words).notice(words("went_wrong", error=error)))

    # ---- finding

    def found(self, place: Whereabouts, words: Words, text: str) -> View:
        """Where these words were said: ``{html}``."""
        conversation = self.conversation(place)
        ids = conversation.path.search(text)
        rows = conversation.path.shown(ids[:MAX_FOUND])
        hits = [(row.exchange, *_snippet(row, text)) for row in rows]
        return {"html": str(macros("talk", words).found(hits, len(ids)))}

    def around(self, place: Whereabouts, words: Words, id_: str) -> View:
        """A page of a talk with this exchange in it."""
        later: deque[str] = deque(maxlen=max(2, self.page // 2))  # the exchange itself, and some after it
        conversation = self.conversation(place)
        for one in conversation.path.from_here(id_):
            later.append(one)
        before = later[0] if len(later) == later.maxlen else ""
        return self.talk(place, words, before) | {"is_newest": not before}

    def trace(self, place: Whereabouts, words: Words, id_: str) -> View:
        return {"html": str(macros("why", words).trace(self.conversation(place).trace(id_)))}


def _title(agent: Agent, talk: str) -> str:
    """What a talk is called; one of several, until somebody says something, by who is in it."""
    cast = agent.store.tree.cast(talk)
    return title(agent.store, talk) or "、".join(one.name for one in (cast.members if cast else ()))


def _characters(house: House) -> list[str]:
    """Those that the request reaches."""
    return PASS.get().among(house.characters())


def _user() -> str:
    """Whose memory the request is about. Raises Nameless."""
    return PASS.get().user("")


def _snippet(row: Shown, text: str) -> tuple[str, str]:
    """(which side said it, the words around what was looked for)."""
    word = (text.split() or [""])[0].casefold()
    sides = (("user", row.exchange.user), ("char", row.exchange.char))
    side, words = next((pair for pair in sides if word in pair[1].casefold()), sides[0])
    at = max(words.casefold().find(word), 0)
    return side, words[max(0, at - SNIPPET_CHARS) : at + SNIPPET_CHARS]


def language_words(language: str) -> Words:
    chosen: Language = "en" if language == "en" else "zh"
    return Words(chosen)


def labels(words: Words) -> Mapping[str, str]:
    """The words that the page's own script says."""
    names = (
        "send", "stop", "message", "save", "cancel", "copy", "copied", "remember_hint", "undo", "again", "no_thanks", "away",
        "back_again", "not_sent", "newest", "search_talk", "conversation", "earlier_words", "busy", "needs_name",
    )  # fmt: skip
    files = {
        "sending": words("sending", n="{n}", of="{of}"),
        "too_big": words("too_big", name="{name}", mb=MAX_FILE_BYTES >> 20),
    }
    files |= {name: words(name) for name in ("drop_here", "drop_told", "no_files", "picture_bad")}
    return {name: words(name) for name in names} | {"new_talk": str(macros("talk", words).new_talk())} | files
