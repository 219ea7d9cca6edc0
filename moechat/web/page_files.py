"""Files that come to the page and go from it: what is dropped, pictures, and what is taken along."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, BinaryIO
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, JSONResponse, Response

from moechat.access.keys import PASS
from moechat.cards.container import KINDS, Kind
from moechat.errors import MoeChatError
from moechat.house import House
from moechat.house.studio import look
from moechat.web import fault_words
from moechat.web.desk import Desk, language_words
from moechat.web.words import Words

DROP, FOLDER, PICTURE = "/page/drop", "/page/folder", "/page/new-picture"
PATHS = frozenset({DROP, FOLDER, PICTURE})
"""Where bytes are sent as they are."""
TYPES = {"png": "image/png", "json": "application/json", "charx": "application/zip"}
MAX_NAMES = 20_000  # Files of a folder that is dropped.
Write = Callable[[House, str, BinaryIO], object]
Short = Annotated[str, Query(max_length=1000)]


def router(desk: Desk) -> APIRouter:
    routes = APIRouter()

    async def answered(work: Callable[[], Response], words: Words) -> Response:
        """What the work gives, or in words why it cannot. Whoever does not reach everything gets nothing."""
        if not PASS.get().is_whole:
            return JSONResponse({"note": words("gone"), "bad": True}, 403)
        try:
            return await run_in_threadpool(work)
        except (MoeChatError, OSError) as failure:
            return JSONResponse({"note": fault_words.said(failure, words), "bad": True}, 422)

    @routes.post(DROP.removeprefix("/page"))
    async def drop(request: Request, tab: Short, name: Short, language: Short = "") -> Response:
        """A file that was dropped; the room shows what it holds."""
        data = await request.body()

        def put() -> Response:
            brought = desk.trays.of(tab).put(name, data)
            return JSONResponse({"number": brought.number, "kind": brought.kind})

        return await answered(put, language_words(language))

    @routes.post(FOLDER.removeprefix("/page"))
    async def folder(request: Request, tab: Short, language: Short = "") -> Response:
        """Which files of a folder shall come, by their names, one a line."""
        names = (await request.body()).decode("utf-8", "replace").split("\n")[:MAX_NAMES]

        def sort() -> Response:
            return JSONResponse({"takes": desk.trays.of(tab).put_folder(names)})

        return await answered(sort, language_words(language))

    @routes.get("/brought/{number}")
    async def brought_picture(number: int, tab: Short) -> Response:
        """The picture of a card that was dropped."""

        def picture() -> Response:
            brought = desk.trays.of(tab).files.get(number)
            card = look(brought.path).card if brought else None
            if card is None or not card.picture:
                return Response(status_code=404)
            return Response(card.picture, media_type=TYPES["png"], headers={"cache-control": "private, max-age=3600"})

        return await answered(picture, language_words(""))

    @routes.post(PICTURE.removeprefix("/page"))
    async def new_picture(request: Request, character: Short, language: Short = "") -> Response:
        data, words = await request.body(), language_words(language)

        def change() -> Response:
            with tempfile.TemporaryDirectory(prefix="moechat-picture-") as folder:
                path = Path(folder) / "picture.png"
                path.write_bytes(data)
                desk.house.studio.set_picture(character, path)
            desk.news.changed()
            return JSONResponse({"note": words("picture_done")})

        return await answered(change, words)

    @routes.get("/along/{kind}")
    async def along(kind: str, character: Short, language: Short = "") -> Response:
        """A character, its world book or its memory as a file to keep."""
        words = language_words(language)

        def pack() -> Response:
            if kind not in PACKED:
                return JSONResponse({"note": words("gone"), "bad": True}, 404)
            ending, write = PACKED[kind]
            folder = Path(tempfile.mkdtemp(prefix="moechat-along-"))
            sent = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
            try:
                with (folder / kind).open("wb") as file:
                    write(desk.house, character, file)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            name = f"{character}.{ending}" if kind in (*KINDS, "all") else f"{character}-{kind}.{ending}"
            if kind in ("all", "memory"):
                export = words("downloaded", name=name, time=words.moment(desk.house.clock.now()))
                desk.house.agent(character).memories.exports.note(export)
            headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
            media_type = TYPES.get(ending, "application/zip")
            return FileResponse(folder / kind, media_type=media_type, headers=headers, background=sent)

        return await answered(pack, words)

    return routes


def _card(kind: Kind) -> Write:
    return lambda house, name, file: file.write(house.studio.export_card(name, kind))


PACKED: Mapping[str, tuple[str, Write]] = {
    **{kind: (kind, _card(kind)) for kind in KINDS},
    "lorebook": ("json", lambda house, name, file: file.write(house.studio.export_book(name))),
    "all": ("zip", lambda house, name, file: house.studio.export_archive(name, file, memory=True)),
    "bare": ("zip", lambda house, name, file: house.studio.export_archive(name, file, memory=False)),
    "memory": ("zip", lambda house, name, file: house.studio.export_memory(name, file)),
}
"""(ending of the name, what writes it) of what can be taken along."""
