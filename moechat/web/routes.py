"""The routes of the page's own script: what a person does goes to ``/page/do/…`` as JSON, and ``/page/news`` says as server-sent
events what happens in a talk, in this tab or another.

Gradio's events would do the first, but where the program goes away they raise a toast and load the page anew.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse

from moechat.access.keys import PASS, Pass
from moechat.conversation import Conversation
from moechat.errors import MoeChatError
from moechat.house.group import GroupTalk
from moechat.web import fault_words, page_files, rooms, settings_room
from moechat.web.clicks import Visit, Whereabouts
from moechat.web.desk import Desk, View, labels, language_words
from moechat.web.rooms import Look
from moechat.web.turns import AnyTalk, Turn
from moechat.web.words import Words

STATIC = Path(__file__).parent / "static"
ICONS = ("icon.svg", "icon-192.png", "icon-512.png")
MANIFEST = {  # With it a phone keeps the page beside its programs.
    "name": "萌聊 MoeChat", "short_name": "MoeChat", "start_url": "/", "scope": "/", "display": "standalone",
    "background_color": "#f6f1e9", "theme_color": "#efe7db",
    "icons": [
        {"src": "/page/icon/icon.svg", "sizes": "any", "type": "image/svg+xml", "purpose": "any"},
        *({"src": f"/page/icon/icon-{size}.png", "sizes": f"{size}x{size}", "type": "image/png", "purpose": purpose}
          for size in (192, 512) for purpose in ("any", "maskable")),
    ],
}  # fmt: skip
FRAME_S = 0.06  # While a reply streams, a tab is told at most this often.
PING_S = 15.0  # How often a tab that hears nothing is told that the program is there.
MAX_TABS_KEPT = 256  # The rooms of a tab are kept as they were left.
NAME = 200
TEXT = 1_000_000

Text = Annotated[str, Field(max_length=TEXT)]
Name = Annotated[str, Field(max_length=NAME)]


class Wish(BaseModel):
    """What a tab wants, and where it is. ``tab`` names it; ``id`` is an exchange."""

    model_config = ConfigDict(extra="forbid")

    character: Name = ""
    world: Name = ""
    talk: Name = ""
    held: int = 0
    language: Name = ""
    tab: Name = ""
    id: Name = ""
    ids: list[Name] = []
    text: Text = ""
    side: Name = ""
    variant: int = 0
    action: dict[Name, Text] = {}
    _year: int = PrivateAttr(0)

    def at(self, now: datetime) -> Wish:
        """The wish with the year that its words are said in."""
        self._year = now.year
        return self

    @property
    def place(self) -> Whereabouts:
        return Whereabouts(self.character, self.world, self.talk, self.held)

    @property
    def words(self) -> Words:
        return replace(language_words(self.language), year=self._year)


class Doings:
    """What a tab can want of a desk, by name. Each gives JSON: ``note`` is said to the person, ``bad`` where it went wrong."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._looks: OrderedDict[tuple[Pass, str], tuple[int, Look]] = OrderedDict()
        self._clicks = itertools.count()
        self.verbs: Mapping[str, Callable[[Wish], View]] = {
            "open": self.open,
            "earlier": lambda wish: desk.talk(wish.place, wish.words, wish.id),
            "around": lambda wish: desk.around(wish.place, wish.words, wish.id),
            "find": lambda wish: desk.found(wish.place, wish.words, wish.text[:NAME]),
            "trace": lambda wish: desk.trace(wish.place, wish.words, wish.id),
            "hold": lambda wish: {"place": asdict(desk.hold(wish.place))},
            "one-talk": lambda wish: desk.one_talk(wish.place, wish.words),
            "talk-do": lambda wish: desk.do_with_talk(wish.place, wish.words, wish.action),
            "gather": lambda wish: {"place": asdict(desk.gather(wish.place, wish.ids))},
            "recast": self.recast,
            "say": lambda wish: self._begun(wish, desk.say(wish.place, wish.text)) if wish.text.strip() else {},
            "again": lambda wish: self._begun(wish, desk.turns.again(desk.conversation(wish.place), wish.id)),
            "go-on": lambda wish: self._begun(wish, desk.turns.go_on(desk.conversation(wish.place), wish.id)),
            "choose": lambda wish: self._change(wish, lambda talk: talk.select(wish.id, wish.variant)),
            "branch": self.branch, "correct": self.correct, "delete": self.delete, "restore": self.restore,
            "stop": self.stop, "remember": self.remember, "room": self.room, "guide": self.guide,
        }  # fmt: skip

    def open(self, wish: Wish) -> View:
        """Everything that a tab shows of a talk; where that is gone, of the nearest one."""
        place, words = self.desk.settled(wish.place, wish.words.language), wish.words
        frame = self.desk.frame(place, words)
        gone = {"note": words("talk_gone"), "bad": True} if wish.held and not place.held else {}
        talk = {} if frame["shut"] else self.desk.talk(place, words)
        is_new = PASS.get().is_whole and settings_room.is_first_start(self.desk.house)
        rest = {"labels": labels(words), "doors": rooms.switch(words, PASS.get()), "guide": is_new}
        return frame | {"talk": talk} | rest | gone

    def recast(self, wish: Wish) -> View:
        """A change of who is in a talk: ``{html}`` of what can be done with it."""
        turn = self.desk.recast(wish.place, wish.action)
        return (
            self._begun(wish, turn) if wish.action.get("act") == "speak" else self.desk.one_talk(wish.place, wish.words)
        )

    def _begun(self, wish: Wish, turn: Turn | None) -> View:
        self.desk.news.changed(wish.id)
        return {"note": wish.words("busy"), "bad": True} if turn is None else {"edition": self.desk.news.edition}

    def stop(self, wish: Wish) -> View:
        self.desk.turns.stop(self.desk.conversation(wish.place))
        return {}

    # ---- changes of mind

    def branch(self, wish: Wish) -> View:
        """Go on from an exchange; with a ``side``, from the end of the branch that begins with it."""

        def branch(talk: AnyTalk) -> None:
            if isinstance(talk, Conversation):
                talk.select(talk.path.end_of(wish.id) if wish.side else wish.id)

        return self._change(wish, branch)

    def correct(self, wish: Wish) -> View:
        side = "char" if wish.side == "char" else "user"
        offers = side == "user" and not isinstance(self.desk.conversation(wish.place), GroupTalk)
        note = {"note": wish.words("edited"), "offers": "again"} if offers else {}
        return self._change(wish, lambda talk: talk.correct(wish.id, **{side: wish.text})) | note

    def delete(self, wish: Wish) -> View:
        ids: list[str] = []

        def gone(talk: AnyTalk) -> None:
            ids.extend(talk.path.from_here(wish.id))
            talk.retract(*ids)

        note = self._change(wish, gone)
        return note | {"note": wish.words.count("deleted", len(ids)), "offers": "restore", "ids": ids}

    def restore(self, wish: Wish) -> View:
        return self._change(wish, lambda talk: talk.restore(*wish.ids)) | {"note": wish.words("undone")}

    def _change(self, wish: Wish, change: Callable[[AnyTalk], object]) -> View:
        talk = self.desk.conversation(wish.place)
        if self.desk.turns.current(talk):
            return {"note": wish.words("wait_reply"), "bad": True}
        change(talk)
        self.desk.news.changed(wish.id)
        return {}

    def remember(self, wish: Wish) -> View:
        if not wish.text.strip():
            return {"note": wish.words("needs_words"), "bad": True}
        self.desk.agent(wish.place).memories.add_fact(wish.text)
        self.desk.news.changed()
        return {"note": wish.words("remembered")}

    # ---- beside the talk

    def guide(self, wish: Wish) -> View:
        """A step of the guide of the first start, which may connect a model: for those who have the settings."""
        here = Visit(self.desk.house, None, wish.words)
        return {"html": settings_room.guide(here, wish.action)} if PASS.get().is_whole else {}

    def room(self, wish: Wish) -> View:
        """A click in a room, or the way into one: ``{room, html}``."""
        passed = PASS.get()
        tab, click = (passed, wish.tab), next(self._clicks)
        _, look = self._looks.get(tab) or (click, Look())
        try:
            agent = self.desk.agent(wish.place)
        except (MoeChatError, OSError):
            agent = None
        busy = agent is not None and self.desk.turns.current(agent.in_talk(wish.talk)) is not None
        tray = self.desk.trays.of(wish.tab)
        here = Visit(self.desk.house, agent, wish.words, wish.character, tray, passed, busy)
        look = rooms.act(here, look.of(wish.place.memory), wish.action)
        if self._looks.setdefault(tab, (click, look))[0] <= click:  # An earlier click may take longer than a later one.
            self._looks[tab] = (click, look)
        self._looks.move_to_end(tab)
        while len(self._looks) > MAX_TABS_KEPT:
            self._looks.popitem(last=False)
        if look.note.text:
            self.desk.news.changed()
        studio = look.studio
        goes = {} if studio.go is None else {"go": {"character": studio.go, "talk": studio.talk}, "talks": studio.talks}
        return {"room": look.room, "html": rooms.drawn(here, look)} | goes


def router(desk: Desk) -> APIRouter:
    routes = APIRouter(prefix="/page")
    doings = Doings(desk)

    @routes.post("/do/{verb}")
    def do(verb: str, wish: Wish) -> Response:
        if verb not in doings.verbs:
            return JSONResponse({"note": "there is no such thing to do"}, 404)
        try:
            return JSONResponse(doings.verbs[verb](wish.at(desk.house.clock.now())))
        except (MoeChatError, OSError) as failure:
            return JSONResponse({"note": fault_words.said(failure, wish.words), "bad": True})

    @routes.get("/manifest.webmanifest")
    def manifest() -> Response:
        return JSONResponse(MANIFEST, media_type="application/manifest+json")

    @routes.get("/icon/{name}")
    def icon(name: str) -> Response:
        return FileResponse(STATIC / name) if name in ICONS else Response(status_code=404)

    @routes.get("/picture/{name}")
    def picture(name: str) -> Response:
        """That of a character; its address changes with the file."""
        try:
            PASS.get().require_character(name)
            data, kind = desk.house.gallery.picture(name)
        except MoeChatError as failure:
            return JSONResponse({"note": str(failure)}, 404)
        return Response(data, media_type=kind, headers={"cache-control": "private, max-age=31536000, immutable"})

    routes.include_router(page_files.router(desk))

    @routes.get("/news")
    async def news(wish: Annotated[Wish, Query()]) -> Response:
        return StreamingResponse(_stream(desk, wish.at(desk.house.clock.now())), media_type="text/event-stream")

    return routes


async def _stream(desk: Desk, wish: Wish) -> AsyncIterator[str]:
    """``talk`` events with the newest page when something has changed, ``live`` events with the growing exchange between."""
    edition, answered, version = -1, None, None  # ``answered``: what the reply on its way answers
    with desk.news.listening() as bell:
        while True:
            bell.clear()
            try:
                turn = desk.turns.current(await run_in_threadpool(desk.conversation, wish.place))
                now = turn.exchange_id if turn else None
                if desk.news.edition != edition or now != answered or (turn and version is None):
                    touched, edition, answered = desk.news.touched(edition), desk.news.edition, now
                    version = turn.version if turn and turn.exchange_id else None
                    yield _event("talk", await run_in_threadpool(_talk, desk, wish, touched))
                elif turn and turn.version != version:
                    version = turn.version
                    if live := await run_in_threadpool(desk.live, wish.place, wish.words, turn):
                        yield _event("live", live)
            except (MoeChatError, OSError) as failure:
                yield _event("shut", {"note": str(failure)})
                return
            try:
                async with asyncio.timeout(PING_S):
                    await bell.wait()
                await asyncio.sleep(FRAME_S)
            except TimeoutError:
                yield ": here\n\n"


def _talk(desk: Desk, wish: Wish, touched: list[str]) -> View:
    talk = desk.talk(wish.place, wish.words)
    there = {one["id"] for one in talk["exchanges"]}
    older = [one for id_ in touched if id_ not in there for one in desk.one(wish.place, wish.words, id_)]
    return desk.frame(wish.place, wish.words) | {"talk": talk | {"older": older}}


def _event(name: str, view: View) -> str:
    return f"event: {name}\ndata: {json.dumps(view, ensure_ascii=False)}\n\n"
