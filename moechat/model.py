"""The nouns of the house: plain frozen records that every layer and every face shares.

Times are aware datetimes. A score has no unit; two scores compare only inside one recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

import numpy as np

from moechat.lore import FIELDS as LORE_FIELDS
from moechat.lore import Lore as Lore
from moechat.when import Precision, Span

Layer = Literal["context", "diary", "core", "lore"]
Key = tuple[str, str, str]  # layer, id and side of a memory
Role = Literal["system", "user", "assistant", "tool"]
Status = Literal["streaming", "done", "stopped", "failed"]
Kind = Literal["query", "passage"]
Author = Literal["rules", "model", "owner", "author"]
"""Who a finding is by: who read it in the talk, its owner, or (official memory) the author of the character."""
Mark = Literal["", "care", "delicate"]
"""``care``: health and safety, brought whenever the talk touches it. ``delicate``: only then, and in no profile."""
FactKind = Literal["attribute", "relation", "picture", "boundary", "ruling", "daybook"]
EventStatus = Literal["done", "planned", "cancelled", "open"]
LONG_AGO = datetime.fromtimestamp(0, UTC)
"""A memory whose time nobody knows counts from here, in order and in age."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message as a chat model sees it. ``wire`` is the whole of it in OpenAI's form, where a program sent more than words
    (pictures, calls of tools); ``content`` are the words alone."""

    role: Role
    content: str
    wire: Mapping[str, Any] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a provider counted for one call, in its own tokens: the whole prompt, how much of that it had ``cached`` (None where
    it does not say), and the reply. ``read_s`` is how long it read what was not cached, 0 where it does not say."""

    prompt: int
    cached: int | None = None
    reply: int = 0
    read_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Attachment:
    """What came with a message. Its bytes are not kept: ``hash`` names them, ``line`` says in one line what it is."""

    kind: str
    name: str = ""
    hash: str = ""
    line: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One user message and the reply to it: the unit that is recorded, word for word.

    ``talk`` is the name of the talk that it belongs to ("" is the first one). ``speaker`` names who spoke, where several
    people share a talk. ``stamp`` is a random id that it carries wherever it goes ("": an older version wrote it): a
    tombstone names it once it is forgotten.
    """

    id: str
    at: datetime
    user: str
    char: str
    status: Status = "done"
    talk: str = ""
    speaker: str = ""
    attachments: tuple[Attachment, ...] = ()
    stamp: str = field(default="", compare=False)

    @property
    def sent(self) -> str:
        """The user's side as it is searched: the words, and a line for each attachment."""
        if not self.attachments:
            return self.user
        return "\n".join(filter(None, [self.user, *(one.line for one in self.attachments)]))

    def another(self, user_name: str) -> str:
        """Who spoke, where that is somebody else than the user: nothing that they say is about the user. Else ""."""
        return "" if self.speaker.casefold() == user_name.casefold() else self.speaker

    @property
    def heard(self) -> str:
        """The reply as it is remembered: one that failed is not."""
        return "" if self.status == "failed" else self.char


@dataclass(frozen=True, slots=True)
class ActivationProfile:
    """How readily a slice comes to mind (seed 002), each 0..1: by itself, through related topics, and whatever the talk
    is about."""

    activation: float = 0.55
    diffusion: float = 0.35
    context_independence: float = 0.50


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, as understood from one or more exchanges: the draft of an episode, before it has an id.

    ``happened`` is the absolute span that the text meant (昨天, last Friday), None where it names no time; ``precision`` says
    how exactly it is known. ``open`` events have begun and are not over. ``subject`` is who does or promises it: the user, the
    character, or a name. An event with an ``emotion`` is a feeling of the subject's, about ``object``.
    ``importance`` is 0..1 and fixed at birth. ``sources`` are exchange ids, ``quote`` the words that it
    rests on. ``topic`` and ``related`` are topic paths
    (``a->b->c``), ``insight`` what the event tells of those who took part (``deepinsight`` in seed 004).
    """

    text: str
    sources: tuple[str, ...]
    subject: str = ""
    predicate: str = ""
    object: str = ""
    importance: float = 0.5
    keywords: tuple[str, ...] = ()
    place: str = ""
    topic: str = ""
    happened: tuple[datetime, datetime] | None = None
    insight: str = ""
    scene: str = ""
    related: tuple[str, ...] = ()
    profile: ActivationProfile = ActivationProfile()
    status: EventStatus = "done"
    precision: Precision = "unknown"
    mark: Mark = ""
    emotion: str = ""
    quote: str = ""

    @property
    def is_ahead(self) -> bool:
        return self.status in ("planned", "open")


@dataclass(frozen=True, slots=True)
class Episode:
    """An event or a reflection in the diary; ``at`` is when it was told, or thought (None: nobody knows).

    ``confirmed``: None where nobody has judged it; False where it is in doubt (no words bear it out, or a trusted model passed
    it over): found by a search, but not told as what is so.
    ``supersedes`` names the events that it replaces, and the plans that it closes or gives up (resolved when read).

    A reflection rests on ``evidence`` (ids of episodes; its ``event.sources`` are the exchanges of all of them), is one
    deeper than the deepest of them, and is no longer recalled from ``expires`` on.
    """

    id: str
    at: datetime | None
    event: Event
    kind: Literal["event", "reflection"] = "event"
    by: Author = "model"
    evidence: tuple[str, ...] = ()
    depth: int = 0
    expires: datetime | None = None
    confirmed: bool | None = None
    supersedes: tuple[str, ...] = ()

    @property
    def since(self) -> datetime:
        """The moment from which it counts, in order and in age."""
        return self.at or LONG_AGO

    @property
    def text(self) -> str:
        return self.event.text

    @property
    def sources(self) -> tuple[str, ...]:
        return self.event.sources


@dataclass(frozen=True, slots=True)
class FactDraft:
    """Something known about the user, the character or their world: the draft of a fact, before it has an id.

    ``entity`` is whose fact it is: ``user``, ``character`` or a name. ``keyword`` is the attribute or relation (住址, 喜好,
    name), ``target`` what it is about (香菜) or the other party of a relation. ``polarity`` is +1, or -1 for a negated or
    disliked target. ``single`` says that the keyword holds one value at a time, so that a new value replaces the old. A
    ``generic`` entity is a kind of thing (泛化实体), any other is a particular entity (具体实体). A ``picture`` is a scene that
    is remembered as seen (记忆画面). A ``boundary`` is what the user asks to be kept to, in the user's words (别提他); its target
    is whom or what it is about. A ``ruling`` says of the findings that it supersedes that they hold no longer: its keyword is the
    verb, its target the reason. A ``daybook`` is what the character wrote of a day; nothing is made from it.

    ``quote`` are the words of the sources that it rests on. ``start`` and ``until`` are when a state began and ended, as exactly
    as it was said (2022, 2022-05, 2022-05-24), or ``past`` where it is over and nobody said when.
    """

    text: str
    sources: tuple[str, ...]
    kind: FactKind = "attribute"
    entity: str = "user"
    keyword: str = ""
    target: str = ""
    polarity: int = 1
    single: bool = False
    generic: bool = False
    mark: Mark = ""
    quote: str = ""
    start: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact in core memory. ``at`` is when it was told (None: nobody knows), ``supersedes`` names the facts that it
    replaces (resolved when read), ``confirmed`` is as in an episode.

    ``consolidated``: it sums up the facts that it supersedes; its ``at`` is that of the newest of them. Official facts are
    ``by`` the character's author.
    """

    id: str
    at: datetime | None
    draft: FactDraft
    supersedes: tuple[str, ...] = ()
    by: Author = "model"
    consolidated: bool = False
    confirmed: bool | None = None

    @property
    def since(self) -> datetime:
        """The moment from which it counts, in order and in age."""
        return self.at or LONG_AGO

    @property
    def text(self) -> str:
        return self.draft.text

    @property
    def sources(self) -> tuple[str, ...]:
        return self.draft.sources


NEW_LORE_FILE = "world_book.yaml"
"""The file of ``data_base`` that gets entries of the world book for which none is named."""

OfficialKind = Literal["event", "fact", "lore"]
OfficialMemory = Episode | Fact | Lore
"""What the author of a character wrote for all its users."""

OFFICIAL_FIELDS: Mapping[OfficialKind, Mapping[str, str]] = {
    "event": {
        "text": "words", "time": "time", "happened": "span", "place": "text", "keywords": "list", "insight": "text",
        "scene": "text", "subject": "text", "predicate": "text", "object": "text", "importance": "share",
        "topic": "text", "related": "list", "activation": "share", "diffusion": "share", "context_independence": "share",
    },
    "fact": {
        "text": "words", "time": "time", "kind": "kind", "entity": "words", "keyword": "text", "target": "text",
        "polarity": "sign", "single": "switch", "generic": "switch",
    },
    "lore": LORE_FIELDS,
}  # fmt: skip
"""The fields of an official memory and the form of each (``author.fields`` says what a form accepts)."""


def official_kind(memory: OfficialMemory) -> OfficialKind:
    if isinstance(memory, Lore):
        return "lore"
    return "fact" if isinstance(memory, Fact) else "event"


Reason = Literal["sources", "evidence", "example", "unreadable", "verdict"]
"""Why something is not believed: it cites no exchange of the batch, it is copied from the prompt, it cannot be read, or (a verb
over a finding, ``verdict``) no words bear it out, or the model is not trusted. ``evidence`` is of earlier versions."""


@dataclass(frozen=True, slots=True)
class RefusedItem:
    """What a model said of some exchanges and was not believed, and ``why``. ``at`` is when, None before it is kept."""

    kind: Literal["fact", "event", "verdict"]
    text: str
    why: Reason
    sources: tuple[str, ...]
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Understanding:
    """What one extraction call (or the rules) made of a batch of exchanges.

    ``tags`` gives each exchange its one-sentence tag; ``by`` says who understood. ``replaces`` gives a draft the findings in
    whose place it stands: what it says better, the plans that it carries out, moves or gives up, what a ruling is about. ``kept``
    are the findings that the model calls right, ``doubtful`` the drafts that are not told as what is so. ``trusted``: whether the
    model's findings bear true quotes, as a rule; ``quotes`` are (so many in this answer did, of so many).
    """

    tags: Mapping[str, str] = field(default_factory=dict)
    keywords: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    facts: tuple[FactDraft, ...] = ()
    events: tuple[Event, ...] = ()
    scene_changed: bool = False
    by: Literal["rules", "model"] = "model"
    replaces: Mapping[FactDraft | Event, tuple[str, ...]] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    doubtful: frozenset[FactDraft | Event] = frozenset()
    trusted: bool = False
    quotes: tuple[int, int] = (0, 0)
    refused: tuple[RefusedItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One recalled memory and why it was recalled.

    ``id`` is the memory's own, ``sources`` the exchanges it rests on (an exchange cites itself). ``side`` says which side of an
    exchange matched, ``shorter`` how it may be told in fewer words, the longest first. ``features`` are the parts of the score,
    ``words`` what matched literally, ``why`` what made an entry of the world book fire, in its author's words, ``span`` the asked
    time. In the diary, ``episode`` is its kind, None for an exchange; ``again`` is when the user told the same another time.
    """

    layer: Layer
    recipe: str
    id: str
    text: str
    score: float
    time: datetime | None = None
    sources: tuple[str, ...] = ()
    features: Mapping[str, float] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    span: Span | None = None
    tokens: int = 0
    side: Literal["", "user", "char"] = ""
    episode: Literal["event", "reflection"] | None = None
    shorter: tuple[str, ...] = ()
    why: str = ""
    again: tuple[datetime, ...] = ()

    @property
    def key(self) -> Key:
        return self.layer, self.id, self.side

    @property
    def is_exchange(self) -> bool:
        return self.layer == "diary" and self.episode is None

    def whole(self) -> Hit:
        return self


@dataclass(frozen=True, slots=True, repr=False)
class LateHit:
    """A hit that is made when somebody looks at it: of the many that a search ranks, a prompt has room for a few."""

    key: Key
    make: Callable[[int, Mapping[str, Any]], Hit]
    number: int
    """Among those that ``make`` can make."""
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.key[1]

    def whole(self) -> Hit:
        return self.make(self.number, self.changes)

    def __repr__(self) -> str:
        return repr(self.whole())


Candidates = list[tuple[Hit | LateHit, str]]
"""What a recipe gives: (hit, why it is dropped, or ""), best first."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A hit that did not enter the prompt. ``why`` is ``in_context``, ``outside_span``, ``below_threshold``, ``merged``,
    ``limit``, ``budget`` or ``delicate`` (the talk does not touch it)."""

    memory: Hit | LateHit
    why: str

    @property
    def hit(self) -> Hit:
        return self.memory.whole()


@dataclass(frozen=True, slots=True)
class Recollection:
    """The outcome of one recall: what enters the prompt, what does not and why.

    ``empty_spans`` are spans that were asked for and hold no record; ``elsewhere_spans`` hold nothing about the matter, and
    hits of other days do. ``notices`` tell of recipes that failed or were late. ``timing_ms`` is per stage and per recipe.
    ``ranked`` is everything in the fused order, one side of an exchange at a time, before anything was merged, dropped or
    limited; made when first read. ``unread_until``: what is older is still being read (of a folder without indexes), so what
    is not recalled may be there. ``plans`` are due, or overdue and not yet asked after. ``withheld``: not to be touched.
    """

    spans: Sequence[Span] = ()
    hits: Sequence[Hit] = ()
    dropped: Sequence[Dropped] = ()
    empty_spans: Sequence[Span] = ()
    notices: Sequence[str] = ()
    timing_ms: Mapping[str, float] = field(default_factory=dict)
    ranked: Sequence[Hit] = ()
    unread_until: datetime | None = None
    plans: Sequence[Hit] = ()
    elsewhere_spans: Sequence[Span] = ()
    withheld: Callable[[Hit], bool] = lambda _: False

    @property
    def is_silent(self) -> bool:
        """Whether nothing of the past belonged here: no memory came, and none stands in the context already."""
        return not (self.hits or self.plans or self.empty_spans or any(one.why == "in_context" for one in self.dropped))


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The floors of one model, as cosines.

    ``diary`` is for a question against what was said, ``core`` for a question against a short statement about the user,
    ``lore`` for a clause against the keyword of an entry.
    """

    diary: float
    core: float
    lore: float


class Embedder(Protocol):
    """Anything that turns texts into vectors. Safe to call from several threads."""

    @property
    def fingerprint(self) -> str:
        """File-name safe; changes with model, version, dims and prompts."""
        ...

    @property
    def dim(self) -> int: ...

    @property
    def thresholds(self) -> Thresholds: ...

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        """``(n, dim)`` float32, unit length; a zero vector for an empty text. Raises EmbeddingError."""
        ...
