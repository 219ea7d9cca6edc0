"""Whose an understanding is where several people share a talk: what one of them says is about that one, and no one else's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from moechat.model import Event, FactDraft, Understanding
from moechat.when.names import has_han

_USER = re.compile(r"用户|\b[Tt]he user\b")
_SUBJECTS = frozenset({"", "user", "用户", "the user"})


def attributed(understanding: Understanding, speaker: str) -> Understanding:
    """What was read as the user's, as that of who said it: facts under the speaker's name, and what is the speaker's (a sister, a
    dog) apart from the user's of the same name. What bounds the character is the user's to ask."""
    texts = {key: _USER.sub(lambda _: speaker, text) for key, text in understanding.tags.items()}
    facts = {one: _fact(one, speaker) for one in understanding.facts if one.kind != "boundary"}
    events = {one: _event(one, speaker) for one in understanding.events}
    drafts = dict[FactDraft | Event, FactDraft | Event]([*facts.items(), *events.items()])
    return replace(
        understanding, tags=texts, facts=tuple(facts.values()), events=tuple(events.values()), replaces={},
        kept=frozenset(), doubtful=frozenset(drafts[one] for one in understanding.doubtful if one in drafts),
    )  # fmt: skip


def _fact(draft: FactDraft, speaker: str) -> FactDraft:
    of = f"{speaker}的" if has_han(draft.text) else f"{speaker}'s "
    entity = {"user": speaker, "character": "character"}.get(draft.entity, f"{of}{draft.entity}")
    return replace(draft, text=_USER.sub(lambda _: speaker, draft.text), entity=entity)


def _event(event: Event, speaker: str) -> Event:
    subject = speaker if event.subject.casefold() in _SUBJECTS else event.subject
    return replace(event, text=_USER.sub(lambda _: speaker, event.text), subject=subject)


def together(readings: Sequence[Understanding]) -> Understanding:
    """Several understandings as one."""
    return Understanding(
        {id_: tag for one in readings for id_, tag in one.tags.items()},
        {id_: keywords for one in readings for id_, keywords in one.keywords.items()},
        tuple(chain.from_iterable(one.facts for one in readings)),
        tuple(chain.from_iterable(one.events for one in readings)),
        any(one.scene_changed for one in readings),
        readings[0].by,
        replaces={draft: ids for one in readings for draft, ids in one.replaces.items()},
        kept=frozenset().union(*(one.kept for one in readings)),
        doubtful=frozenset().union(*(one.doubtful for one in readings)),
        trusted=any(one.trusted for one in readings),
        quotes=(sum(one.quotes[0] for one in readings), sum(one.quotes[1] for one in readings)),
        refused=tuple(chain.from_iterable(one.refused for one in readings)),
    )
