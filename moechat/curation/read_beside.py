"""What a model may have read together with words that are to be forgotten, and told of other exchanges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict

from moechat.language import words
from moechat.model import Event, FactDraft
from moechat.store.kinds import Store

BATCH = 20  # A model has read this many exchanges in one call, at most.
LABELS = frozenset({"用户", "角色", "user", "charact", "the"})  # So whoever understands calls the two.


def read_beside(unit: Store, exchanges: Collection[str]) -> list[str]:
    """Exchanges that a model may have read in one call with these (``BATCH``), and of which it said what stands in these and not
    in what it cites: it told whom 它 or *she* meant."""
    lost, order = set(exchanges), unit.tree.numbered()
    places = [place for place, id_ in enumerate(order) if id_ in lost]
    near = {id_ for place in places for id_ in order[max(0, place - BATCH) : place + BATCH + 1]}
    near -= lost | unit.tree.retracted | unit.tree.taken_out()
    gone_words = _heard(side for one in unit.exchanges.of(sorted(lost)).values() for side in (one.sent, one.char))
    notes = unit.findings.notes_of(sorted(near))
    findings: list[tuple[Sequence[str], Sequence[str]]] = [
        ((id_,), (note.tag, *note.keywords)) for id_, note in notes.items()
    ]
    findings += [
        (one.event.sources, _texts(one.event))
        for one in unit.findings.citing(sorted(near))
        if one.by in ("rules", "model")
    ]
    findings += [
        (one.draft.sources, _texts(one.draft))
        for one in unit.findings.facts()
        if one.by in ("rules", "model") and not near.isdisjoint(one.draft.sources)
    ]
    findings += [(one.sources, (one.text,)) for one in unit.findings.refused() if not near.isdisjoint(one.sources)]
    of_sources = unit.exchanges.of(sorted({source for sources, _ in findings for source in sources}))
    anew: dict[str, None] = {}
    for sources, texts in findings:
        if lost.isdisjoint(sources):
            own = _heard(
                side for id_ in sources if id_ in of_sources for side in (of_sources[id_].sent, of_sources[id_].char)
            )
            telling = {word for text in texts for word in words.tokens(text) if not words.is_stop_word(word)} - LABELS
            if any(_has(gone_words, word) and not _has(own, word) for word in telling):
                anew |= dict.fromkeys(source for source in sources if source in near)
    return list(anew)


def _texts(draft: Event | FactDraft) -> list[str]:
    """Everything that a finding says, but the ids that it cites."""
    texts: list[str] = []
    for name, value in asdict(draft).items():
        if name not in ("sources", "mark", "status", "precision", "kind"):
            texts += [one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, str)]
    return texts


def _heard(texts: Iterable[str]) -> tuple[str, Collection[str]]:
    """Texts folded, and their words as they are searched."""
    folded = words.fold("\n".join(texts))
    return folded, set(words.tokens(folded))


def _has(heard: tuple[str, Collection[str]], word: str) -> bool:
    """Chinese has a word wherever its signs stand, however the sentence is cut into words."""
    return word in heard[1] or (not word.isascii() and word in heard[0])
