"""The desk: what a tab of the page shows of a house, and what can be done with a talk. Knows no Gradio.

What goes to a tab is JSON with HTML in it; the tab holds nothing that the house does not know, but a draft.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from moechat.access.keys import PASS
from moechat.agent import Agent
from moechat.conversation import Conversation
from moechat.cue import Cue
from moechat.curation.talks import own_titles
from moechat.errors import MoeChatError, NotFound
from moechat.house import House
from moechat.house.group import GroupTalk
from moechat.house.studio import MAX_FILE_BYTES
from moechat.settings.character import Language
from moechat.turn import Shown
from moechat.verbs import groups, perform
from moechat.verbs.groups import Company
from moechat.web import exchange, fault_words, talk_list
from moechat.web.clicks import Whereabouts
from moechat.web.drawing import macros, picture_of
from moechat.web.exchange import Branches, Face
from moechat.web.news import News
from moechat.web.talk_list import TalkList
from moechat.web.tray import Trays
from moechat.web.turns import AnyTalk, Turn, Turns
from moechat.web.words import Words
from moechat.when import Span

View = dict[str, Any]
"""JSON for a tab."""


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
        if _is_of_several(agent, place.talk):
            group = self.house.groups.of(place.talk, place.character, _user(), place.world)
            for one in group.path.agents():
                PASS.get().require_character(one)
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
            case act:
                company = Company(self.house.groups, str, place.character, _user(), place.world, PASS.get())
                perform(groups.VERBS["change"], company, {"talk": group.name, "act": act, "name": name})
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
        problem, key_problem = (
            (self.house.settings.problem, self.house.keys.problem) if PASS.get().is_whole else (None, "")
        )
        problems = [*map(str, problem.parts if problem else ()), *filter(None, [key_problem]), *agent.problems()]
        strangers = agent.unknown_files()
        in_words = [*fault_words.told(problems, self._folders, words),
                *([words("unknown_files", names=words.row(strangers))] if strangers else [])]  # fmt: skip
        return around | {
            "name": name,
            "talks": str(draw.talks(self._talks(place, agent, words), place)),
            "title": self.title(place, agent, words),
            "problems": str(macros("parts", words).problems(in_words)),
            "write": words("write", name=_whom(place, agent, words)),
            "kept": talk_list.kept(place, agent, words),
        }

    def _talks(self, place: Whereabouts, agent: Agent, words: Words, *, every: bool = False) -> TalkList:
        """The talks that one can go to with this character."""
        around = (_user(), place.character, place.world)
        held = {one: talk for (user, one), talk in self._held.items() if (user, one.character, one.world) == around}
        return talk_list.listed(place, agent, held, self.house.worlds(place.character, _user()), words, every=every)

    def one_talk(self, place: Whereabouts, words: Words) -> View:
        """What can be done with a talk: ``{html}``."""
        agent = self.agent(place)
        cast = agent.store.tree.cast(place.talk)
        there = {one.character for one in cast.members} if cast else set[str]()
        others = [one for one in self.house.gallery.portraits() if one.folder in set(_characters(self.house)) - there]
        return {"html": talk_list.one(place, agent, words, others)}

    def do_with_talk(self, place: Whereabouts, words: Words, action: Mapping[str, str]) -> View:
        """Do it, as ``talk_list.do``."""
        agent = self.agent(place)
        done = talk_list.do(place, agent, words, action, lambda: self.turns.current(agent.in_talk(place.talk)))
        if "text" not in done:
            if isinstance(talk := self.conversation(place), GroupTalk):
                talk.pass_on()
            self.news.changed()
        return done

    def title(self, place: Whereabouts, agent: Agent, words: Words) -> str:
        chat = self.house.config.chat
        model = Path(chat.local_gguf).stem if chat.local_gguf else chat.model or urlsplit(chat.base_url).netloc
        draw, name = macros("talk", words), _whom(place, agent, words)
        held = self._held.get((_user(), place))
        own = (
            own_titles(held.path.store, [""])[""] if held else talk_list.called(agent, [place.talk], words)[place.talk]
        )
        called = draw.talk_name(place, own)
        return str(draw.header(name, place, called, self.house.connected, model, self._picture(place)))

    def _picture(self, place: Whereabouts) -> str:
        return picture_of(self.house.gallery.portrait(place.character))

    def talk(self, place: Whereabouts, words: Words, before: str = "") -> View:
        """The newest page of a talk, or the one before an exchange: ``{exchanges, more, greeting, busy, notice}``."""
        conversation = self.conversation(place)
        edition, turn = self.news.edition, self.turns.current(conversation)  # before the rows, which may be newer then
        rows = conversation.path.recent(self.page + 1, before or None)
        more, rows = len(rows) > self.page, rows[-self.page :]
        face = self.face(place, words)
        exchanges = self._drawn(place, conversation, rows, face, turn)
        if not (before or turn or place.talk or place.held) and (word := self.agent(place).her_word()):
            html = str(macros("talk", words).her_word(face, word))  # Of no record as long as nobody answers.
            exchanges.append({"id": "her-word", "html": html, "user": "", "char": word})
        greets = face.greeting.strip() and not (more or face.is_one_of_several)
        return {
            "exchanges": exchanges,
            "more": more,
            "greeting": str(macros("talk", words).greeting(face)) if greets else "",
            "busy": turn is not None,
            "edition": edition,
            "notice": "" if before or turn else self._trouble(conversation, rows, words),
        }

    def face(self, place: Whereabouts, words: Words) -> Face:
        agent = self.agent(place)
        character, several = agent.character, _is_of_several(agent, place.talk)
        picture, speaks = self._picture(place), self.house.connected and not several
        return Face(words, character.name, character.greeting, bool(place.held), picture, several, speaks)

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
            if row.error or row.notice:
                error, notice = fault_words.told([row.error, row.notice], self._folders, face.words)
                row = replace(row, error=error, notice=notice)
            one, face = row.exchange, self.face(replace(place, character=row.by), face.words) if row.by else face
            if turn is not None and (one.id == turn.exchange_id or one.status == "streaming"):
                html = _live(row, turn, face)
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
        return {"id": turn.exchange_id, "html": _live(rows[0], turn, face)}

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
        [failure] = fault_words.told([turn.error], self._folders, words)
        error = failure or (words("unexpected", kind=turn.crash) if turn.crash else turn.failure)
        if not error or any(row.error == error for row in rows):
            return ""
        return str(macros("talk", words).notice(words("went_wrong", error=error)))

    # ---- finding

    def found(self, place: Whereabouts, words: Words, text: str) -> View:
        """Which talks are called so and where it was said, "": all talks: ``{html}``."""
        agent = self.agent(place)
        held = self._held.get((_user(), place))
        entries = self._talks(place, agent, words, every=True).entries
        return {"html": talk_list.hits(text, agent, held, entries, place, words)}

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


def _live(row: Shown, turn: Turn, face: Face) -> str:
    return str(macros("talk", face.words).live(row, face, turn.recollection, turn.reply))


def _characters(house: House) -> list[str]:
    """Those that the request reaches."""
    return PASS.get().among(house.characters())


def _whom(place: Whereabouts, agent: Agent, words: Words) -> str:
    """With whom one talks: the characters of a talk of several, or the one."""
    cast = agent.store.tree.cast(place.talk)
    return words.row(one.name for one in cast.members) if cast else agent.character.name


def _is_of_several(agent: Agent, talk: str) -> bool:
    cast = agent.store.tree.cast(talk)
    return bool(cast and cast.is_shared)


def _user() -> str:
    """Whose memory the request is about. Raises Nameless."""
    return PASS.get().user("")


def language_words(language: str) -> Words:
    chosen: Language = "en" if language == "en" else "zh"
    return Words(chosen)


def labels(words: Words) -> Mapping[str, str]:
    """The words that the page's own script says."""
    names = (
        "send", "skip", "stop", "message", "save", "cancel", "copy", "copied", "remember_hint", "undo", "again", "no_thanks",
        "away", "back_again", "not_sent", "newest", "search_talk", "conversation", "earlier_words", "busy", "needs_name",
        "other_branch",
    )  # fmt: skip
    files = {
        "sending": words("sending", n="{n}", of="{of}"),
        "too_big": words("too_big", name="{name}", mb=MAX_FILE_BYTES >> 20),
    }
    files |= {name: words(name) for name in ("drop_here", "drop_told", "no_files", "picture_bad")}
    return {name: words(name) for name in names} | {"new_talk": str(macros("talk", words).new_talk())} | files
