"""The prompt of one turn: first what stays the same as long as the context goes on (persona, examples, what is known of the
user, the overview), then the history, then the tail (plans, recalled memories, the time), then the message.

A provider's prompt cache keeps the long prefix that way. Recalled text is only ever placed, never rendered as a template, and
a line of it that could pass for a block of ours is marked.
"""

from __future__ import annotations

import itertools
import logging
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

from moechat.ai.chat_model import ChatRequest
from moechat.ai.cleaner import headings
from moechat.cards.macros import Macros
from moechat.memory.context import Context
from moechat.memory.contradiction import entity, keyword_class
from moechat.memory.core import Former
from moechat.memory.episodes import is_held_back
from moechat.memory.unranked import DAYBOOK
from moechat.model import Exchange, Hit, Message, Recollection
from moechat.reading.saying import saying
from moechat.recall import fragments, plans, profile, touch
from moechat.recall.layers import Layers
from moechat.recall.profile import Stable
from moechat.recall.tail import BLOCKS, NOTHING, OF_NOW, Background, PromptTail, boundaries_block, names_of, placed
from moechat.settings.character import Character
from moechat.settings.prompts import TEMPLATES, Prompts, filled
from moechat.store.kinds import Store
from moechat.turn import Sent, named
from moechat.when.span import in_zone

log = logging.getLogger(__name__)
MAX_LATE_REPLIES = 9  # Replies before it that a reply without a language model knows.
FAR = ("below_threshold", "outside_span", "limit", "budget")  # So are hits dropped that only came less near.
HEADED = (
    "persona", "company", "boundaries", "profile", "overview", "news", *BLOCKS, "plans", *OF_NOW, "danger", "time",
)  # fmt: skip
AROUND = ("before_char", "after_char", "before_examples", "after_examples")
_IN_PERSONA = ("persona", "personality", "scenario", "user_persona", "prompt")
_WITH_MACROS = (*_IN_PERSONA, "system_prompt", "note")


def request(
    layers: Layers,
    context: Context,
    kept: Sequence[Exchange],
    recollection: Recollection,
    text: str,
    now: datetime,
    *,
    own: str,
    sent: Sent | None = None,
    going_on: str = "",
) -> ChatRequest:
    """The request for a reply to ``text``, ``sent`` by a front end that has a history of its own; ``going_on`` is the
    reply that is to go on.

    ``kept`` are those before it that the model is shown, ``own`` is the id of its own exchange. What the stable part of a new
    context holds is written to the log.
    """
    character, config = layers.character(), layers.config()
    in_context = {own, *(exchange.id for exchange in kept)}
    first = next(iter(kept if sent is None else context.path()), None)
    begun, since = (first.id, in_zone(first.at, now.tzinfo)) if first else (own, now)
    frozen = context.store.tree.frozen.get(begun)
    if frozen is None:
        stable = profile.chosen(layers, since, in_context, now)
        context.store.log.freeze(begun, stable.ids)
    else:
        stable = profile.drawn(layers, frozen, since, now)
    # Nothing of every day stands beside a life in danger, nor after.
    if any(saying(words).is_danger for words in (text, *(exchange.user for exchange in kept))):
        stable = replace(stable, promises=(), overview=())
    shown = _once(layers, recollection, stable)
    background = _background(layers, context, shown, stable, in_context, kept, own, now)
    greeting = Macros(character.names, now, character.language, chance=random.Random(0)).fill(character.greeting)
    asking, cast = (
        context.store.exchanges.get(own),
        context.store.tree.cast(context.talk_name) if sent is None else None,
    )
    history, company, others = sent.before if sent else context.talk(kept, greeting), "", tuple[str, ...]()
    if cast:  # Whoever says something is named before it.
        owner = stable.called(character)
        others = cast.others(character.name, owner)
        history = context.talk(kept, owner=owner)
        company = layers.prompts.fill("company", char=character.name, user=owner, others="、".join(others))
    messages = assemble(
        character, layers.prompts, history, shown, named(asking.speaker or owner, text) if cast else text, now,
        background=background, recalled_position=config.chat.recalled_position, sent=sent, company=company,
    )  # fmt: skip
    if going_on:
        messages += [Message("assistant", going_on), Message("system", layers.prompts.fill("go_on"))]
    # What the user said in the context may answer as well; it is there anyway.
    in_view = [d.hit for d in recollection.dropped if d.why == "in_context" and d.hit.side != "char"]
    hits, round_ = [*recollection.hits, *in_view], [hit for hit in recollection.plans if hit.recipe in OF_NOW]
    events = (*stable.promises, *stable.overview, *background.plans, *itertools.chain(*background.afterwards.values()))
    rests_on = in_context - {own}
    rests_on.update(*((hit.id, *hit.sources) for hit in (*hits, *round_)), *((e.id, *e.event.sources) for e in events))
    over = [fact for one in (*stable.over, *background.over) for fact in (one.fact, one.by)]
    stated = (*stable.boundaries, *stable.facts, *background.boundaries, *background.news, *over)
    rests_on.update(*((fact.id, *fact.draft.sources) for fact in stated))
    if asking.another(character.user_name):  # What is known of the user is told to nobody else as theirs.
        hits = [hit for hit in hits if hit.layer == "lore"]
    own_exchanges = [exchange for exchange in kept if exchange.speaker == asking.speaker]
    templates = tuple((name, *layers.prompts.template(name)) for name in HEADED)
    return ChatRequest(
        messages, character, text, now, recollection.spans, recollection.empty_spans, recollection.unread_until,
        hits, own_exchanges, _headings(templates, character.name, character.user_name), frozenset(rests_on),
        called=stable.name, days=round_, wishes=sent.wishes if sent else {}, others=others,
    )  # fmt: skip


def with_record(
    store: Store, layers: Layers, id_: str, request: ChatRequest, recollection: Recollection, now: datetime
) -> ChatRequest:
    """The request with what was replied to this message and to those before it, with all facts and plans, and with what came
    near in the diary, which a model without language answers from."""
    tree = store.tree
    node = tree.nodes.get(id_)
    before = list(itertools.islice(tree.ancestors(tree.parents.get(id_)), MAX_LATE_REPLIES))
    replies = [exchange.char for exchange in store.exchanges.of(before).values()]
    request = replace(
        request, earlier=[variant.char for variant in node.variants] if node else (), lately=replies[::-1]
    )
    if store.exchanges.get(id_).another(layers.character().user_name):
        return request
    near = {
        d.hit.id: d.hit for d in recollection.dropped if d.why in FAR and d.hit.is_exchange and d.hit.side == "user"
    }
    further = [hit for hit in near.values() if not recollection.withheld(hit)]
    exchanges = store.exchanges.of([source for hit in [*request.hits, *further] for source in hit.sources or (hit.id,)])

    def is_ours(hit: Hit) -> bool:
        """Not what only others told, none of whom is asked about."""
        ids = hit.sources or (hit.id,)
        names = {exchanges[one].another(layers.character().user_name) for one in ids if one in exchanges}
        return not names or any(name in request.text for name in names)

    hits, further = [*filter(is_ours, request.hits)], [*filter(is_ours, further)]
    facts = [fact for fact in layers.core.current() if fact.by != "author" and fact.confirmed is not False]
    plans = layers.episodes.view(now).plans(now, now + profile.AHEAD)
    rests_on = {*request.rests_on, *(fact.id for fact in facts), *(plan.id for plan in plans)}
    rests_on.update(*(fact.draft.sources for fact in facts), *(plan.event.sources for plan in plans))
    rests_on.update(hit.id for hit in further)
    drafts = [
        replace(
            one.draft,
            keyword=keyword_class(one.draft),
            entity="user" if entity(one.draft) == "user" else one.draft.entity,
        )
        for one in facts
    ]
    return replace(request, hits=hits, further=further, facts=drafts, plans=plans, rests_on=rests_on)


@lru_cache(maxsize=64)
def _headings(templates: Sequence[tuple[str, Path, str]], char: str, user: str) -> frozenset[str]:
    """How the blocks of a prompt begin: a model may say them back."""
    names = {"char": char, "user": user}
    return headings(filled(path, text, dict.fromkeys(TEMPLATES[name], "…") | names) for name, path, text in templates)


def _once(layers: Layers, recollection: Recollection, stable: Stable) -> Recollection:
    """What is shown of it, each matter once: no plan that the stable part tells, no exchange in which the user says nothing
    beyond the event of it that stands in the prompt anyway, and no event that says nothing beyond a fact. What the overview tells
    softly or in doubt is told again where it is called."""
    due = [hit for hit in recollection.plans if hit.recipe in OF_NOW or hit.id not in stable.ids]
    facts = profile.by_source((fact.text, fact.draft.sources) for fact in stable.facts)
    lines = profile.by_source((
        *((e.event.text, e.event.sources) for e in (*stable.overview, *stable.promises) if not is_held_back(e)),
        *((hit.text, hit.sources) for hit in due if hit.recipe != DAYBOOK),
    ))  # fmt: skip
    doubtful = [hit.id for hit in recollection.hits if hit.is_exchange and hit.side != "char" and hit.id in lines]
    exchanges = layers.store.exchanges.of(doubtful)
    twice = {id_ for id_, one in exchanges.items() if profile.says_no_more(one.user, [id_], lines)}
    twice |= {
        hit.id for hit in recollection.hits
        if hit.episode == "event" and profile.says_no_more(hit.text.split("\n")[0], hit.sources, facts)
    }  # fmt: skip
    hits = [hit for hit in recollection.hits if hit.layer != "diary" or hit.id not in twice]
    return replace(recollection, hits=hits, plans=due)


def _background(
    layers: Layers,
    context: Context,
    recollection: Recollection,
    stable: Stable,
    in_context: Collection[str],
    kept: Sequence[Exchange],
    own: str,
    now: datetime,
) -> Background:
    """What the tail needs of the memory beside the hits."""
    hits = [hit for hit in recollection.hits if hit.layer == "diary"]
    episodes = layers.episodes.get([hit.id for hit in [*hits, *recollection.plans] if hit.episode])
    shown_already = {fact.id for fact in stable.facts}
    always = (fact for fact in profile.known(layers.core) if fact.id not in shown_already)
    news = [fact for fact in always if not set(fact.draft.sources) <= set(in_context)]
    facts = layers.core.get([hit.id for hit in recollection.hits if hit.layer == "core"])
    facts |= {  # with what stands in their place
        hit.id: replace(facts[hit.id], draft=replace(facts[hit.id].draft, text=hit.text), confirmed=None)
        for hit in recollection.hits
        if hit.recipe == touch.FORMER and hit.id in facts
    }
    due = [episodes[hit.id] for hit in recollection.plans if hit.recipe == plans.RECIPE and hit.id in episodes]
    boundaries = [fact for fact in layers.core.view().boundaries if fact not in stable.boundaries]
    exchanges = {hit.id for hit in hits if hit.is_exchange}
    is_here = context.store is layers.store
    elsewhere = {id_ for id_ in exchanges if not is_here or layers.store.tree.talk_of(id_) != context.talk_name}
    ended: dict[str, list[Former]] = {}
    for one in layers.core.former():
        for source in exchanges.intersection(one.fact.draft.sources) if one.is_over and one.by is not one.fact else ():
            ended.setdefault(source, []).append(one)
    last = kept[-1].at if kept else context.before(own)
    over = [one for one in profile.lately_over(layers.core, now) if one not in stable.over]
    became, lore = plans.became(layers.store, exchanges, now), {entry.id: entry for entry in layers.book.entries}
    return Background(
        facts, episodes, stable, boundaries, news, over, due, became, ended, lore, context.talk_name, last, elsewhere
    )


def assemble(
    character: Character,
    prompts: Prompts,
    history: Sequence[Message],
    recollection: Recollection,
    text: str,
    now: datetime,
    *,
    background: Background = NOTHING,
    recalled_position: Literal["after_history", "before_history"] = "after_history",
    sent: Sent | None = None,
    company: str = "",
) -> list[Message]:
    """All messages of a request. ``before_history`` is the order of the original (CONTRACTS, A: one turn). ``company`` says who
    else is there. Where a front end keeps a card of its own, ours is what is known alone, near the end."""
    if (called := background.stable.called(character)) != character.user_name:
        character = character.with_user(called)
    lore = [hit for hit in recollection.hits if hit.layer == "lore"]
    character = _at_this_moment(character, now, background.talk, placed(lore, background.lore).outlets)
    there = placed(lore, background.lore, None if sent and sent.keeps_card else character)
    (persona, examples), stable = _persona(character, prompts), _stable(character, prompts, background.stable)
    lead = [  # what stands before the talk
        *there.system("before_char"), *persona, *there.system("after_char"),
        *there.system("before_examples"), *examples, *there.system("after_examples"), *stable,
        *([Message("system", company)] if company else []),
    ]  # fmt: skip
    rest = replace(recollection, hits=[hit for hit in recollection.hits if hit.id not in there.ids])
    blocks = PromptTail(character, prompts, rest, background, text, now).blocks()
    message, after = Message("user", text), list[Message]()
    macros = Macros(character.names, now, character.language)
    history = [_without_macros(one, macros) for one in history]
    behind = [Message("system", character.after_history)] if character.after_history else []
    if sent is not None:
        message, after = sent.message, [_without_macros(one, macros) for one in sent.after]
        blocks += [prompts.fill("spoken")] if sent.spoken else []
        if sent.keeps_card:
            own = [*(one for place in AROUND for one in there.system(place)), *stable]
            blocks = [*(one.content for one in own), *blocks]
            lead, behind = [], []
    notes = (*there.around.get("before_note", ()), *blocks, *there.around.get("after_note", ()))
    tail = Message("system", "\n\n".join(notes))
    end = [*there.at(1), message, *there.at(0), *after, *behind]
    if recalled_position == "before_history":
        return [*lead, tail, *there.within(history), *end]
    return [*lead, *there.within(history), tail, *end]


def _at_this_moment(character: Character, now: datetime, talk: str, outlets: Mapping[str, str]) -> Character:
    """The character with the macros of time, chance and outlets replaced in its texts."""
    names = character.names
    macros = Macros(names, now, character.language, f"{character.folder.name}/{talk}", outlets=outlets)
    texts: dict[str, Any] = {key: macros.fill(getattr(character, key)) for key in _WITH_MACROS}
    examples = character.examples
    texts["examples"] = (
        macros.fill(examples)
        if isinstance(examples, str)
        else [replace(one, content=macros.fill(one.content)) for one in examples]
    )
    texts["after_history"] = replace(macros, values={**names, "original": ""}).fill(character.after_history)
    return replace(character, **texts)


def _without_macros(message: Message, macros: Macros) -> Message:
    """What a front end orders, with its macros replaced; what anybody says stays as it is."""
    is_order = message.role == "system" and message.wire is None
    return replace(message, content=macros.fill(message.content)) if is_order else message


def _stable(character: Character, prompts: Prompts, stable: Stable) -> list[Message]:
    """What is always known, and the overview; the same words as long as the memories say the same."""
    names, called = character.names, names_of(character)
    facts = "\n".join(f"- {fragments.stated(fact, called)}" for fact in stable.facts if not called.is_name(fact))
    line = partial(fragments.event_line, now=stable.since, names=called, aged=False)
    promises = "\n".join(f"- {line(episode)}" for episode in stable.promises)
    overview = sorted(stable.overview, key=lambda e: (e.event.happened[0] if e.event.happened else e.since).timestamp())
    events = "\n".join(line(episode, times=stable.times.get(episode.id, 1)) for episode in overview)
    blocks = [boundaries_block(prompts, names, stable.boundaries)] if stable.boundaries else []
    over = "\n".join(f"- {called.line(touch.formerly(one, at_length=False))}" for one in stable.over)
    if facts or promises or over:
        blocks.append(prompts.fill("profile", **names, entries=facts, promises=promises, over=over))
    if events:
        blocks.append(prompts.fill("overview", **names, entries=events))
    return [Message("system", "\n\n".join(blocks))] if blocks else []


def _persona(character: Character, prompts: Prompts) -> tuple[list[Message], list[Message]]:
    """(who the character is, its examples)."""
    names = character.names
    values = {key: getattr(character, key) for key in _IN_PERSONA}
    persona = prompts.fill("persona", **names, **values)
    if character.system_prompt:  # It stands in the place of ours; what tells of the character and the user stays.
        ours = prompts.fill("persona", **names, **dict.fromkeys(_IN_PERSONA, ""))
        described = [paragraph for paragraph in persona.split("\n\n") if paragraph not in ours.split("\n\n")]
        own = Macros({**names, "original": ours}).fill(character.system_prompt)
        persona = "\n\n".join([own, *described])
    examples, colon = character.examples, ": " if character.language == "en" else "："
    if not isinstance(examples, str):
        who = {"user": character.user_name, "assistant": character.name, "system": ""}
        examples = "\n".join(f"{who[message.role]}{colon}{message.content}" for message in examples)
    examples = prompts.fill("examples", **names, examples=examples) if character.examples else ""
    return [Message("system", persona)] if persona.strip() else [], [Message("system", examples)] if examples else []
