"""The settings in the page: the model that answers, and how it is tried. Knows no Gradio."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from moechat.agent import Agent
from moechat.house import House
from moechat.web import draw, memory_page
from moechat.web.draw import button, escape
from moechat.web.notes import Action, Note
from moechat.web.words import Words

USAGE_ROWS = 14  # A week of replies and of understanding.
PASSED_ON = ("top_p", "max_tokens")
DIAL = {"rarely": (0.1, 700), "sometimes": (0.0, 1500), "often": (-0.08, 2500)}
"""How readily the past is brought up: how far the thresholds are from the embedding model's own, and tokens for memories."""
THRESHOLDS = {"mem_thresholds": "events", "core_threshold": "profile", "books_thresholds": "lore"}
Standing = Literal["untried", "works", "fails"]


@dataclass(frozen=True)
class SettingsLook:
    """What a tab shows of the settings. ``standing`` is that of the connection, ``outcome`` says more; ``typed`` is what stands
    in its form and is not saved. ``brought`` is what ``sentence`` would bring to mind: texts, with recipe and score."""

    standing: Standing = "untried"
    outcome: str = ""
    typed: Mapping[str, str] = field(default_factory=dict)
    sentence: str = ""
    brought: Sequence[tuple[str, str]] = ()


SettingsOutcome = tuple[SettingsLook, Note]


def act(house: House, agent: Agent | None, look: SettingsLook, action: Action, words: Words) -> SettingsOutcome:
    """The look after an action. Raises MoeChatError where the action fails."""
    deed = DEEDS.get(action.get("do", ""))
    return deed(house, agent, look, action, words) if deed else (look, Note())


# ---- the connection


def _connected(house: House, agent: Agent | None, look: SettingsLook, action: Action, words: Words) -> SettingsOutcome:
    """Try what was typed; ``saves`` keeps it, whatever came of the trial."""
    typed = {name: action.get(name, "").strip() for name in ("base_url", "model")}
    key, saves = action.get("key", "").strip(), action.get("act") != "test"
    url = typed["base_url"]
    if url and not key and house.keeps_key_from(url):
        return SettingsLook("fails", words("key_stays"), typed), Note()
    if not url and not saves:
        return SettingsLook("fails", words("needs_url"), typed), Note()
    if saves:
        house.connect(url, typed["model"], key or None)
    if not url:
        return SettingsLook(), Note(words("saved_offline"))
    diagnosis = house.try_connection(url, typed["model"], key)
    outcome = diagnosis.message_zh if words.language == "zh" else diagnosis.message_en
    note = Note(words("saved")) if saves else Note()
    return SettingsLook("works" if diagnosis.ok else "fails", outcome, {} if saves else typed), note


# ---- how it speaks, and how much it brings up


def _tuned(house: House, agent: Agent | None, look: SettingsLook, action: Action, words: Words) -> SettingsOutcome:
    """Keep what was typed, setting by setting; what the model's service knows by another name is passed on as it is."""
    chat, extra = house.config.chat, dict(house.config.chat.extra)
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
            house.settings.save("chat", key, value)
    return look, Note(words("saved_settings"))


def _number(text: str) -> float | int | str | None:
    """The number that was typed; what is none stays as it is, so that the settings say what they expect."""
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def _dialled(house: House, agent: Agent | None, look: SettingsLook, action: Action, words: Words) -> SettingsOutcome:
    """How readily the past is brought up: how near a memory must be, and how much room memories have."""
    chosen = action.get("value", "")
    if chosen in DIAL and agent is not None:
        away, budget = DIAL[chosen]
        for key in THRESHOLDS:
            house.settings.save("Agent", key, None)
        agent.follow()  # The distance is from the model's own.
        for key, recipe in THRESHOLDS.items():
            if away:
                house.settings.save("Agent", key, round(agent.layers.recipes.threshold(recipe) + away, 3))
        house.settings.save("recall", "token_budget", budget)
    return look, Note(words("saved_settings"))


def _dial_of(house: House) -> str:
    budget = house.config.recall.token_budget
    return next((name for name, (_, tokens) in DIAL.items() if tokens == budget), "")


def _tried(house: House, agent: Agent | None, look: SettingsLook, action: Action, words: Words) -> SettingsOutcome:
    """What a message would bring to mind. Nothing is written by it."""
    sentence = action.get("sentence", "").strip()
    hits = agent.recall(sentence).hits if sentence and agent else ()
    return replace(
        look, sentence=sentence, brought=[(hit.text, f"{hit.recipe} {hit.score:.2f}") for hit in hits]
    ), Note()


Deed = Callable[[House, Agent | None, SettingsLook, Action, Words], SettingsOutcome]
DEEDS: Mapping[str, Deed] = {"connect": _connected, "tune": _tuned, "dial": _dialled, "try": _tried}


# ---- drawing


def drawn(house: House, agent: Agent | None, look: SettingsLook, words: Words) -> str:
    parts = (_connection(house, look, words), _recall(house, look, words), _speaking(house, words), _page(words))
    return "".join(parts) + _usage(agent, words)


def _page(words: Words) -> str:
    switches = "".join(
        button(name, words(text), local="")
        for name, text in (("language", "other_language"), ("theme", "theme"), ("tinkers", "tinkerers"))
    )
    return f'<section class="card"><h2>{escape(words("this_page"))}</h2><div class="actions">{switches}</div></section>'


def _connection(house: House, look: SettingsLook, words: Words) -> str:
    chat = house.config.chat
    values = {"base_url": chat.base_url, "model": chat.model} | dict(look.typed)
    standing = look.standing if house.connected or look.typed else "untried"
    outcome = look.outcome or words("untried_model" if house.connected else "offline_why")
    fields = memory_page.field(
        "base_url", words("base_url"), values["base_url"], hint="http://127.0.0.1:11434/v1", note=words("base_url_hint")
    )
    fields += memory_page.field("model", words("model"), values["model"], hint="qwen3:8b")
    fields += memory_page.field("key", words("key"), secret=True, note=words("key_hint", key_env=chat.key_env))
    acts = "".join(
        f'<button type="submit" class="act {kind}" name="act" value="{name}">{escape(words(name))}</button>'
        for name, kind in (("save", "primary"), ("test", ""))
    )
    return (
        f'<section class="card" id="connection"><h2>{escape(words("connection"))}</h2>'
        f'<p class="standing {standing}" role="status"><b>{escape(words(f"standing_{standing}"))}</b> {escape(outcome)}</p>'
        f'<form class="form" data-do="connect" data-form="connect">{fields}<div class="actions">{acts}</div></form></section>'
    )


def _recall(house: House, look: SettingsLook, words: Words) -> str:
    now = _dial_of(house)
    dial = "".join(
        f'<button type="button" class="chip" data-do="dial" data-value="{name}" aria-pressed="{str(name == now).lower()}">'
        f"{escape(words(f'dial_{name}'))}</button>"
        for name in DIAL
    )
    brought = "".join(
        f'<li>{escape(text)}<span class="tinker"> · {escape(score)}</span></li>' for text, score in look.brought
    )
    nothing = f'<p class="hint">{escape(words("brings_nothing"))}</p>' if look.sentence else ""
    sentence = memory_page.field("sentence", words("try_sentence"), look.sentence, hint=words("try_example"))
    return (
        f'<section class="card" id="recall"><h2>{escape(words("dial"))}</h2>'
        f'<div class="chips" role="group" aria-label="{escape(words("dial"))}">{dial}</div>'
        f'<form class="form one-line" data-do="try" data-form="try">{sentence}'
        f'<button type="submit" class="act">{escape(words("try_it"))}</button></form>'
        f"{f'<ul class=brought>{brought}</ul>' if brought else nothing}</section>"
    )


def _speaking(house: House, words: Words) -> str:
    chat = house.config.chat
    values = {"temperature": chat.temperature, "context_tokens": chat.context_tokens} | {
        name: chat.extra.get(name) for name in PASSED_ON
    }
    fields = "".join(
        memory_page.field(
            name, words(f"tune_{name}"), "" if value is None else f"{value:g}" if isinstance(value, float) else str(value),
            note=words(f"tune_{name}_hint"),
        )
        for name, value in values.items()
    )  # fmt: skip
    save = f'<div class="actions"><button type="submit" class="act primary">{escape(words("save"))}</button></div>'
    return (
        f'<section class="card" id="speaking"><h2>{escape(words("speaking"))}</h2>'
        f'<form class="form" data-do="tune" data-form="tune">{fields}{save}</form></section>'
    )


def _usage(agent: Agent | None, words: Words) -> str:
    rows = [asdict(one) for one in agent.store.usage.days()[-USAGE_ROWS:]] if agent else []
    return f'<section class="card tinker">{draw.usage(rows, words)}</section>' if rows else ""
