"""How the page is laid out: the components and their places. What they do is in ``page``, how they look in ``static``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from moechat.access.words import LANGUAGES
from moechat.web import draw, rooms
from moechat.web.words import Words

# A click on a character at the side reaches Python with its name.
PICK_JS = """
element.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-name]');
  if (button) trigger('click', {name: button.dataset.name});
});
"""


# A door opens a room. The address says which, so that "back" leads back; Python draws it.
DOORS_JS = """
const there = () => ['memories', 'topics'].find((room) => location.hash === `#${room}`) ?? 'chat';
const mark = () => {
  document.querySelector('#frame').dataset.room = there();
  for (const door of element.querySelectorAll('[data-room]')) {
    door.setAttribute('aria-current', door.dataset.room === there() ? 'page' : 'false');
  }
};
const ask = () => trigger('click', {action: {do: 'room', room: there(), width: window.moechat.roomWidth()}});
element.addEventListener('click', (event) => {
  const door = event.target.closest('[data-room]');
  if (door) location.hash = door.dataset.room;
});
window.addEventListener('hashchange', () => { mark(); if (!window.moechat.isShown(there())) ask(); });
let loaded = false;
watch('value', () => {
  mark();
  if (!loaded && there() !== 'chat') ask();
  loaded = true;
});
mark();
"""
# A click in a room reaches Python as the data of the element, with the fields of its form.
ROOM_JS = "window.moechat.furnish(element, trigger, watch);"


@dataclass(frozen=True)
class Parts:
    """The components, by the names that the handlers use."""

    view: gr.State
    prefs: gr.BrowserState
    brand: gr.HTML
    characters: gr.HTML
    title: gr.HTML
    problems: gr.HTML
    earlier: gr.Button
    past: gr.HTML
    tail: gr.HTML
    again: gr.Button
    newest: gr.Button
    box: gr.Textbox
    send: gr.Button
    stop: gr.Button
    connection: gr.Accordion
    base_url: gr.Textbox
    model: gr.Textbox
    key: gr.Textbox
    test: gr.Button
    save: gr.Button
    outcome: gr.HTML
    language: gr.Button
    theme: gr.Button
    look: gr.State
    doors: gr.HTML
    room: gr.HTML

    def all(self) -> list[Any]:
        return list(self.__dict__.values())

    def talk(self) -> list[Any]:
        """Those of the chat: what a streaming reply may change."""
        return [part for part in self.all() if part not in (self.look, self.doors, self.room)]


def lay_out(language: str, view: object, look: object) -> Parts:
    """The components, inside the Blocks that are open; worded anew when the page is loaded. ``view`` and ``look`` are a tab's
    first."""
    words = Words(language if language in LANGUAGES else "zh")
    state, prefs = gr.State(view), gr.BrowserState({}, storage_key="moechat", secret="moechat")
    with gr.Row(elem_id="frame"):
        with gr.Column(elem_id="side", min_width=0):
            side = _side(words)
        with gr.Column(elem_id="main", min_width=0):
            main = _main(words)
        with gr.Column(elem_id="remembered", min_width=0):
            room = _html(f'<p class="empty">{words("loading")}</p>', elem_id="room", js_on_load=ROOM_JS)
    return Parts(view=state, prefs=prefs, look=gr.State(look), room=room, **side, **main)


def _html(value: str, elem_id: str, js_on_load: str | None = None) -> gr.HTML:
    """HTML of our own, without Gradio's typography."""
    return gr.HTML(value, elem_id=elem_id, js_on_load=js_on_load, apply_default_css=False)


def _side(words: Words) -> dict[str, Any]:
    brand = _html(draw.brand(words), elem_id="brand")
    with gr.Row(elem_id="switches"):
        language = gr.Button(words("other_language"), elem_id="language", size="sm", variant="secondary")
        theme = gr.Button(words("theme"), elem_id="theme", size="sm", variant="secondary")
    doors = _html(rooms.switch(words), elem_id="doors", js_on_load=DOORS_JS)
    characters = _html("", elem_id="characters", js_on_load=PICK_JS)
    with gr.Accordion(words("connection"), open=False, elem_id="connection") as connection:
        base_url = gr.Textbox(label=words("base_url"), info=words("base_url_hint"), max_lines=1, elem_id="base-url")
        model = gr.Textbox(label=words("model"), max_lines=1, elem_id="model")
        key = gr.Textbox(label=words("key"), type="password", max_lines=1, elem_id="key")
        with gr.Row(elem_id="try"):
            test = gr.Button(words("test"), size="sm", elem_id="test")
            save = gr.Button(words("save"), size="sm", variant="primary", elem_id="save")
        outcome = _html("", elem_id="outcome")
    return {
        "brand": brand, "doors": doors, "language": language, "theme": theme, "characters": characters, "connection": connection,
        "base_url": base_url, "model": model, "key": key, "test": test, "save": save, "outcome": outcome,
    }  # fmt: skip


def _main(words: Words) -> dict[str, Any]:
    title = _html("", elem_id="title")
    problems = _html("", elem_id="problems")
    with gr.Column(elem_id="talk"):
        earlier = gr.Button(words("earlier"), visible=False, size="sm", elem_id="earlier")
        past = _html(f'<p class="empty">{words("loading")}</p>', elem_id="past")
        tail = _html("", elem_id="tail")
        again = gr.Button(words("regenerate"), visible=False, size="sm", elem_id="again")
        newest = gr.Button(words("newest"), visible=False, size="sm", elem_id="newest")
    with gr.Row(elem_id="composer"):
        box = gr.Textbox(
            label=words("message"), show_label=False, lines=1, max_lines=6, container=False, autofocus=True, elem_id="box",
        )  # fmt: skip
        send = gr.Button(words("send"), variant="primary", elem_id="send", min_width=0)
        stop = gr.Button(words("stop"), variant="stop", visible=False, elem_id="stop", min_width=0)
    return {
        "title": title, "problems": problems, "earlier": earlier, "past": past, "tail": tail, "again": again,
        "newest": newest, "box": box, "send": send, "stop": stop,
    }  # fmt: skip
