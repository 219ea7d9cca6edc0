"""What a model was shown together with words that are to be forgotten, and made of other exchanges.

Each call keeps the ids that it was shown. Where it kept none (an older version's), the ``BATCH`` exchanges around count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, replace

from moechat.language import words
from moechat.model import Episode, Event, Fact, FactDraft
from moechat.store.erasure import Gone
from moechat.store.kinds import Store

BATCH = 20  # A model has read this many exchanges in one call, at most.
LABELS = frozenset({"用户", "角色", "user", "charact", "the"})  # So whoever understands calls the two.
Heard = tuple[str, Collection[str]]


def with_read_beside(unit: Store, lost: Gone) -> Gone:
    """What goes, with what was made of others by calls that were shown some of it, through what they made: where that says what
    stands in what goes and in no source of its own (it told whom 它 or *she* meant), reflections go, and exchanges are understood
    anew; the rest is ``beside``."""
    calls, lost_ids = unit.calls(), set(lost.ids)
    order = unit.tree.numbered()
    places = [place for place, id_ in enumerate(order) if id_ in lost_ids]
    near = {id_ for place in places for id_ in order[max(0, place - BATCH) : place + BATCH + 1]}
    made = near.difference(*(call["cites"] for call in calls))
    topics = {path for one in lost.episodes for path in (one.event.topic, *one.event.related) if path}
    out = lost_ids | unit.tree.retracted | unit.tree.taken_out()
    sides = [side for one in unit.exchanges.of(sorted(lost_ids)).values() for side in (one.sent, one.char)]
    gone: list[Episode | Fact] = [*lost.episodes, *lost.facts]
    # A topic is a drawer for many: its words are no secret of what lay in it.
    gone_words = _heard([*sides, *(text for one in gone for text in _texts_of(one, but=("topic", "related")))])
    every = unit.findings.by_ids([id_ for id_, *_ in unit.findings.births()]) if topics else {}
    episodes = {id_: e for id_, e in every.items() if not topics.isdisjoint((e.event.topic, *e.event.related))}
    anew: dict[str, None] = {}
    while True:
        made.update(id_ for call in calls if not lost_ids.isdisjoint(call["shown"]) for id_ in call["cites"])
        looked_at = sorted((near | made) - out)
        episodes |= {e.id: e for e in [*unit.findings.citing(looked_at), *unit.findings.by_ids(looked_at).values()]}
        both: list[Episode | Fact] = [*episodes.values(), *unit.findings.fact_book().citing(looked_at)]
        own = [one for one in both if one.by in ("rules", "model")]
        findings = [one for one in own if out.isdisjoint((one.id, *one.sources))]
        leaks = [one for one in findings if _tells(unit, gone_words, one.sources, _texts_of(one))]
        anew |= dict.fromkeys(id_ for one in leaks if not _is_thought(one) for id_ in one.sources)
        for id_, note in unit.findings.notes_of(looked_at).items():
            anew |= {id_: None} if _tells(unit, gone_words, (id_,), (note.tag, *note.keywords)) else {}
        for one in unit.findings.refused():
            if out.isdisjoint(one.sources) and not set(looked_at).isdisjoint(one.sources):
                anew |= dict.fromkeys(one.sources if _tells(unit, gone_words, one.sources, (one.text,)) else ())
        if lost_ids.issuperset(one.id for one in leaks):
            break
        lost_ids.update(one.id for one in leaks)
    thoughts = [one for one in leaks if isinstance(one, Episode) and _is_thought(one)]
    rest = [one for one in findings if one.id not in lost_ids and anew.keys().isdisjoint(one.sources)]
    beside = [one.id for one in rest if one.by == "model" and made.intersection((one.id, *one.sources))]
    names = filter(None, [*(talk.title for talk in unit.tree.talks.values()), *(new for _, new in unit.state.topics)])
    return replace(
        lost, episodes=[*lost.episodes, *thoughts], anew=[id_ for id_ in anew if id_ in unit.tree], beside=beside,
        names=[name for name in names if _tells(unit, _heard(sides), (), (name,))],
    )  # fmt: skip


def _is_thought(finding: Episode | Fact) -> bool:
    return isinstance(finding, Episode) and finding.kind == "reflection"


def _texts_of(finding: Episode | Fact, *, but: Collection[str] = ()) -> list[str]:
    """Everything that a finding says, but the ids that it cites and what stands in some fields."""
    draft: Event | FactDraft = finding.event if isinstance(finding, Episode) else finding.draft
    texts: list[str] = []
    for name, value in asdict(draft).items():
        if name not in ("sources", "mark", "status", "precision", "kind", *but):
            texts += [one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, str)]
    return texts


def _tells(unit: Store, gone_words: Heard, sources: Sequence[str], texts: Iterable[str]) -> bool:
    """Whether texts say what goes, and none of their own sources says."""
    telling = {word for text in texts for word in words.tokens(text) if not words.is_stop_word(word)} - LABELS
    telling = {word for word in telling if _has(gone_words, word)}
    if not telling:
        return False
    own = _heard(side for one in unit.exchanges.of(sources).values() for side in (one.sent, one.char))
    return any(not _has(own, word) for word in telling)


def _heard(texts: Iterable[str]) -> Heard:
    """Texts folded, and their words as they are searched."""
    folded = words.fold("\n".join(texts))
    return folded, set(words.tokens(folded))


def _has(heard: Heard, word: str) -> bool:
    """Chinese has a word wherever its signs stand, however the sentence is cut into words."""
    return word in heard[1] or (not word.isascii() and word in heard[0])
