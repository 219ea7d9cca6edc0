"""The guide of the first start: language, character, model; each step can be skipped. Knows no Gradio."""

from __future__ import annotations

from moechat.house import House
from moechat.web import draw, settings_room
from moechat.web.draw import button, escape
from moechat.web.notes import Action
from moechat.web.settings_room import SettingsLook
from moechat.web.words import Words

STEPS = ("language", "character", "model")
LANGUAGES = {"zh": "中文", "en": "English"}


def is_wanted(house: House) -> bool:
    """Whether nobody has talked here yet, and no model is connected."""
    return not house.connected and house.gallery.is_untouched()


def drawn(house: House, action: Action, words: Words) -> str:
    """A step, by name; with an address, the model is tried and kept first. Raises MoeChatError."""
    step = action.get("step", "")
    number = STEPS.index(step) if step in STEPS else 0
    inside = (_languages, _characters, _model)[number](house, action, words)
    end = button(
        "guide-end", words("guide_begin" if number == 2 else "guide_skip"), kind="primary" if number == 2 else "quiet"
    )
    dots = f'<span class="hint">{number + 1} / {len(STEPS)}</span>'
    title = escape(words(f"guide_{STEPS[number]}"))
    return f'<h1>{title}</h1>{inside}<div class="guide-foot">{dots}{end}</div>'


def _languages(house: House, action: Action, words: Words) -> str:
    choices = "".join(
        button("guide-language", name, kind="primary" if language == words.language else "", value=language)
        for language, name in LANGUAGES.items()
    )
    return f'<p>{escape(words("guide_hello"))}</p><div class="guide-choices">{choices}</div>'


def _characters(house: House, action: Action, words: Words) -> str:
    chosen = house.gallery.first_for(words.language, house.characters())
    return f"<p>{escape(words('guide_who'))}</p>{draw.characters(house.gallery.portraits(), chosen, words)}"


def _model(house: House, action: Action, words: Words) -> str:
    look = SettingsLook()
    if "base_url" in action:
        look, _ = settings_room.act(house, None, look, {**action, "do": "connect"}, words)
    return f"<p>{escape(words('offline_why_first'))}</p>{settings_room.connection(house, look, words)}"
