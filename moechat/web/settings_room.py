"""The settings in the page: the model that answers, how readily the past is brought up, and, for tinkerers, the scores and the
prompts behind it; and the guide of the first start. Knows no Gradio."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Literal

from markupsafe import Markup

from moechat.agent import Agent
from moechat.house import House
from moechat.model import Hit
from moechat.settings.config import DIAL, LAYER_THRESHOLD, save_setting
from moechat.settings.prompts import TEMPLATES
from moechat.web.clicks import Action, Note, Visit
from moechat.web.drawing import macros, to_person
from moechat.web.words import Words

LAYER_NAMES = {"diary": "events", "core": "profile", "lore": "lore"}
MESSAGES_PLOTTED = 50
LABEL_CHARS = 60  # A memory is named by its first characters.
LEFT, WIDTH, ROW = 70, 640, 44  # Pixels of the plot.
MAX_REFUSED_SHOWN = 30
MAX_OFFERED = 40  # Models of an address; another one is written.
STEPS = ("language", "character", "model")
LANGUAGES = {"zh": "中文", "en": "English"}
_SPEAKER = re.compile(r"[^：:]{1,40}(?:：|: )")
USAGE_ROWS = 14  # A week of replies and of understanding.
# What can be switched off.
KEPT = (*(f"recall.{one}" for one in ("what_matters", "days", "ours", "mood")), "greeting.enabled", "daybook.enabled")
PASSED_ON = ("top_p", "max_tokens")
Standing = Literal["untried", "works", "fails"]


@dataclass(frozen=True)
class SettingsLook:
    """What a tab shows of the settings. ``standing`` is that of the connection, ``outcome`` says more; ``typed`` is what stands
    in its form and is not saved, ``models`` are those that its address offers. The dial is tried on ``sentence``; ``is_plotted``:
    with the scores of the last recalls. ``prompt`` is the one that is looked at."""

    standing: Standing = "untried"
    outcome: str = ""
    typed: Mapping[str, str] = field(default_factory=dict)
    models: Sequence[str] = ()
    sentence: str = ""
    is_plotted: bool = False
    prompt: str = ""


SettingsOutcome = tuple[SettingsLook, Note]


def act(here: Visit, look: SettingsLook, action: Action) -> SettingsOutcome:
    """The look after an action. Raises MoeChatError where the action fails."""
    deed = DEEDS.get(action.get("do", ""))
    return deed(here, look, action) if deed else (look, Note())


# ---- the connection


def _connected(here: Visit, look: SettingsLook, action: Action) -> SettingsOutcome:
    """Try what was typed, or the model that was picked of those offered; where none is named, offer what there is. All but
    ``act`` test and models keeps it, whatever came of the trial."""
    words, act, key = here.words, action.get("act", ""), action.get("key", "").strip()
    typed = {name: action.get(name, "").strip() for name in ("base_url", "model")}
    url, model = typed["base_url"], action.get("pick", "") or typed["model"]
    if url and not key and here.house.keeps_key_from(url):
        return SettingsLook("fails", words("key_stays"), typed), Note()
    if not url:
        if act in ("test", "models"):
            return SettingsLook("fails", words("needs_url"), typed), Note()
        here.house.connect("", typed["model"])
        return SettingsLook(), Note(words("saved_offline"))
    offered: Sequence[str] = ()
    if act == "models" or not model:
        diagnosis = here.house.try_connection(url, None, key)
        offered = diagnosis.models[:MAX_OFFERED]
        model = offered[0] if len(offered) == 1 and act != "test" else model
    if act == "models" or (offered and not model):
        outcome = diagnosis.message_zh if words.language == "zh" else diagnosis.message_en
        return SettingsLook("works" if diagnosis.ok else "fails", outcome, typed | {"model": model}, offered), Note()
    if act != "test":
        here.house.connect(url, model, key or None)
    diagnosis = here.house.try_connection(url, model, key)
    outcome = diagnosis.message_zh if words.language == "zh" else diagnosis.message_en
    standing: Standing = "works" if diagnosis.ok else "fails"
    if act == "test":
        return SettingsLook(standing, outcome, typed), Note()
    keys, place = here.house.keys, here.house.keys.path.name
    how = "refused" if keys.refusal not in ("", "none") else f"in_{keys.place(url)}"
    where = words(f"key_{how}", file=place, why=keys.refusal) if key else ""
    return SettingsLook(standing, outcome), Note(" ".join(filter(None, [words("saved_settings"), where])))


def _key_dropped(here: Visit, look: SettingsLook, action: Action) -> SettingsOutcome:
    here.house.keys.drop(here.house.config.chat.base_url)
    return SettingsLook(), Note(here.words("key_dropped"))


# ---- how it speaks, and how much it brings up


def _tuned(here: Visit, look: SettingsLook, action: Action) -> SettingsOutcome:
    """Keep what was typed, setting by setting; what the model's service knows by another name is passed on as it is."""
    chat, extra = here.house.config.chat, dict(here.house.config.chat.extra)
    for name in PASSED_ON:
        if (number := _number(action.get(name, ""))) is None:
            extra.pop(name, None)
        else:
            extra[name] = number
    after = {
        "temperature": _number(action.get("temperature", "")),
        "context_tokens": _number(action.get("context_tokens", "")),
    }
    for key, value in {**after, "extra": extra}.items():
        if value != getattr(chat, key) and not (key == "context_tokens" and value is None):
            save_setting(here.house.settings.path, "chat", key, value)
    return look, Note(here.words("saved_settings"))


def _number(text: str) -> float | int | str | None:
    """The number that was typed; what is none stays as it is, so that the settings say what they expect."""
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def _dialled(here: Visit, look: SettingsLook, action: Action) -> SettingsOutcome:
    """A word of the dial; floors that somebody set would stand in its way."""
    save_setting(here.house.settings.path, "recall", "brings_up", action.get("value", ""))
    for key in LAYER_THRESHOLD.values():
        if getattr(here.house.config.Agent, key) is not None:
            save_setting(here.house.settings.path, "Agent", key, None)
    return look, Note(here.words("saved_settings"))


def _prompt_changed(here: Visit, look: SettingsLook, action: Action) -> SettingsOutcome:
    name = action.get("id", "")
    if here.agent is not None and action["do"] == "prompt-save":
        here.house.prompts.save(here.agent.character.language, name, action.get("text", ""))
    elif here.agent is not None:
        here.house.prompts.restore(here.agent.character.language, name)
    return replace(look, prompt=name), Note(here.words("saved_settings"))


def _switched(here: Visit, look: SettingsLook, action: Action) -> SettingsOutcome:
    """One thing that she keeps in mind, on or off."""
    if (name := action.get("value", "")) in KEPT:
        section, _, key = name.partition(".")
        save_setting(here.house.settings.path, section, key, not attrgetter(name)(here.house.config))
    return look, Note(here.words("saved_settings"))


DEEDS: Mapping[str, Callable[[Visit, SettingsLook, Action], SettingsOutcome]] = {
    "connect": _connected,
    "key-drop": _key_dropped,
    "tune": _tuned,
    "dial": _dialled,
    "switch": _switched,
    "try": lambda here, look, action: (replace(look, sentence=action.get("sentence", "").strip()), Note()),
    "plot": lambda here, look, action: (replace(look, is_plotted=True), Note()),
    "prompt": lambda here, look, action: (replace(look, prompt=action.get("q", "")), Note()),
    "prompt-save": _prompt_changed,
    "prompt-restore": _prompt_changed,
}


# ---- drawing


def drawn(here: Visit, look: SettingsLook) -> str:
    draw, house, agent, chat = macros("settings", here.words), here.house, here.agent, here.house.config.chat
    values = {"temperature": chat.temperature, "context_tokens": chat.context_tokens}
    values |= {name: chat.extra.get(name) for name in PASSED_ON}
    texts = {
        name: "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in values.items()
    }
    spent = agent.store.usage.days()[-USAGE_ROWS:] if agent else []
    return "".join((
        connection(here, look), _recall(here, look), draw.speaking(texts), draw.page(),
        _prompts(house, agent, look.prompt, here.words) if agent else "", draw.usage(spent) if spent else "",
    ))  # fmt: skip


def connection(here: Visit, look: SettingsLook) -> Markup:
    """Where the model is, and how it was when it was last tried."""
    house, chat = here.house, here.house.config.chat
    values = {"base_url": chat.base_url, "model": chat.model} | dict(look.typed)
    standing = look.standing if house.connected or look.typed else "untried"
    outcome = look.outcome or here.words("untried_model" if house.connected else "offline_why")
    place = house.keys.place(values["base_url"])
    return Markup(
        macros("settings", here.words).connection(values, standing, outcome, look.models, place, bool(look.typed))
    )


def _prompts(house: House, agent: Agent, name: str, words: Words) -> Markup:
    """``name``: the prompt that is chosen, "" for the first."""
    name, language = name if name in TEMPLATES else next(iter(TEMPLATES)), agent.character.language
    placeholders = " ".join(f"{{{{{key}}}}}" for key in TEMPLATES[name])
    text, is_changed = house.prompts.text(language, name).strip(), house.prompts.is_changed(language, name)
    names, refused = [(one, one) for one in TEMPLATES], agent.memories.refused()[:MAX_REFUSED_SHOWN]
    return Markup(macros("settings", words).prompts(name, names, text, placeholders, is_changed, refused))


# ---- how readily the past is brought up


def _recall(here: Visit, look: SettingsLook) -> Markup:
    agent, chosen = here.agent, here.house.config.recall.brings_up
    tries = {word: agent.recall(look.sentence, word) for word in DIAL} if agent and look.sentence else {}
    options = [
        (word, word == chosen, [_brief(hit, here.words) for hit in tries[word].hits] if tries else None)
        for word in DIAL
    ]
    plot = _plot(agent) if agent and look.is_plotted else None
    kept = [(name, attrgetter(name)(here.house.config)) for name in KEPT]
    return Markup(macros("settings", here.words).recall(look.sentence, options, tries.get(chosen), plot, kept))


def _brief(hit: Hit, words: Words) -> str:
    """A memory in a few words; of an exchange the first line, without who said it."""
    text = _SPEAKER.sub("", hit.text.partition("\n")[0]) if hit.is_exchange else hit.text
    return (text if hit.layer == "lore" else to_person(text, year=words.year))[:LABEL_CHARS]


def _plot(agent: Agent) -> dict[str, object]:
    """The scores of the last messages' recalls by layer, what came, and the floor of each word of the dial, in pixels."""
    rows = {layer: list[tuple[float, bool]]() for layer in LAYER_NAMES}
    for shown in agent.recent(MESSAGES_PLOTTED):
        recollection = agent.recall(shown.exchange.user)
        came = {hit.key for hit in recollection.hits}
        for hit in (*recollection.hits, *(one.hit for one in recollection.dropped)):
            if hit.recipe in LAYER_NAMES.values() and hit.id != shown.exchange.id:
                score = hit.features.get("cosine", hit.score)
                rows[hit.layer].append((min(max(score, 0.0), 1.0), hit.key in came))
    return {
        "width": WIDTH, "height": ROW * len(rows) + 24,
        "strips": [_strip(agent, layer, points, n * ROW) for n, (layer, points) in enumerate(rows.items())],
        "ticks": [(_x(tenth / 10), f"{tenth / 10:g}") for tenth in range(0, 11, 2)],
    }  # fmt: skip


def _x(score: float) -> float:
    return LEFT + score * (WIDTH - LEFT - 10)


def _strip(agent: Agent, layer: str, points: Sequence[tuple[float, bool]], top: int) -> tuple[object, ...]:
    """(layer, where its name stands, dots, floors)."""
    chosen = agent.config.recall.brings_up
    is_set = agent.config.threshold(LAYER_NAMES[layer]) is not None
    floors = [(agent.layers.recipes.threshold(LAYER_NAMES[layer], word), word == chosen) for word in DIAL]
    dots = [(_x(score), top + 12 + n * 7 % 20, came) for n, (score, came) in enumerate(points)]
    lines = [(_x(at), top + 4, top + ROW - 6, is_now) for at, is_now in floors if is_now or not is_set]
    return layer, top + ROW / 2 + 4, dots, lines


# ---- the guide of the first start: language, character, model; each step can be skipped


def is_first_start(house: House) -> bool:
    """Whether nobody has talked here yet, and no model is connected."""
    return not house.connected and house.gallery.is_untouched()


def guide(here: Visit, action: Action) -> str:
    """A step of the guide, by name. What was said in the step before is kept first: how one wishes to be called, and with an
    address the model, which is tried. Raises MoeChatError."""
    draw, step, house = macros("settings", here.words), action.get("step", ""), here.house
    step = step if step in STEPS else STEPS[0]
    if called := action.get("called", "").strip():
        house.studio.you(changes={"name": called})
    if step == "language":
        inside = draw.guide_languages(LANGUAGES)
    elif step == "character":
        chosen = house.gallery.first_for(here.words.language, house.characters())
        inside = draw.guide_characters(house.gallery.portraits(), chosen, house.studio.you().get("name", ""))
    else:
        look, note = act(here, SettingsLook(), {**action, "do": "connect"} if "base_url" in action else {})
        inside = draw.guide_model(connection(here, look), note.text)
    return str(draw.guide(step, STEPS.index(step) + 1, len(STEPS), inside))
