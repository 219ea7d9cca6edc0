"""The relation of a new fact to an old one (the same, supersedes it, neither), the keywords that hold one value, and the facts
of an owner filed by all that such questions ask.

Decided by whose fact it is, by the class of its keyword, by target and by polarity. Cosine alone never merges:
喜欢香菜 and 不喜欢香菜 are at .971.

    new                        old                      relation
    likes 香菜 −               likes 香菜 +             supersedes
    likes 香菜 −               likes 香菜 − (讨厌)      same
    lives in 北京              lives in 杭州            supersedes (single)
    a cat 豆豆                 a cat 咪咪               other
    likes tea                  likes coffee             other
    favourite colour green     favourite colour blue    supersedes
    favourite colour green     favourite fruit mango    other
    likes mango −              favourite fruit mango    supersedes
    a friend likes 香菜        the user likes 香菜      other
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, Literal, get_args

from moechat.containment import Containment, NamedText
from moechat.index.lexical import Postings, Substrings
from moechat.language import association, words
from moechat.model import Fact, FactDraft
from moechat.when.names import HAN
from moechat.worker import lazy

Relation = Literal["same", "supersedes", "other"]
Matter = tuple[str, str, str]
"""Whose it is, then ``class`` or ``target``, and which."""


@dataclass(frozen=True)
class KeywordClass:
    """Keywords that mean one thing; ``single`` classes hold one value at a time."""

    name: str
    single: bool
    words: str


def _classes() -> Iterator[KeywordClass]:
    for line in Path(__file__).with_name("keywords.txt").read_text(encoding="utf-8").splitlines():
        name, _, words = line.partition(" = ")
        if not line.startswith("#"):
            yield KeywordClass(name.removesuffix("*"), name.endswith("*"), words)


CLASSES = tuple(_classes())
_CLASS_OF = {word.replace("_", " "): entry for entry in CLASSES for word in entry.words.split()}
_FAMILY = re.compile(
    r"爸|妈|父|母|爷|奶奶|外公|外婆|姥|哥|姐|弟|妹|儿子|女儿|孩子|叔|姨|姑|舅|伯|侄|甥|孙|婆婆|公公|岳|"
    r"\b(?:mother|father|mom|mum|dad|parents?|sisters?|brothers?|sons?|daughters?|grand\w+|aunt|uncle|cousin|niece|"
    r"nephew|child|children|kids?|siblings?|twin|step\w+)\b"
)
_FAVOURITE = re.compile(r"^(?:最(?:喜欢|爱)的?|最爱的?|favou?rite(?: |$))(?P<thing>.*)$")
_FAVOURITE_TEXT = re.compile(
    rf"最(?:喜欢|爱)(?:吃|喝|看|听|玩)?的(?P<zh>[{HAN}]{{1,6}}?)(?:是|变|就|为|叫)|favou?rite (?P<en>[a-z ]{{2,20}}?) (?:is|"
    r"are)\b|as (?:\w+ )?favou?rite (?P<as>[a-z ]{2,20})$"
)
_COLOUR = re.compile(
    rf"^(?:[{HAN}]{{1,3}}色|red|blue|green|yellow|black|white|purple|violet|pink|orange|brown|"
    r"gr[ae]y|turquoise|teal|beige|gold|silver)$"
)
_SAME_THING = {
    word: thing
    for thing, words in {
        "colour": "color colors colours 颜色",
        "film": "movie 电影",
        "food": "食物 dish 吃的 菜",
        "song": "歌 歌曲",
    }.items()
    for word in words.split()
}
_NEGATED_WORDS = frozenset(
    "讨厌 厌恶 不喜欢 不吃 不喝 忌口 害怕 恐惧 反感 dislikes dislike hates hate fear fears detests".split()
) | {"afraid of"}
_NOT_NEGATED = re.compile(
    r"不讨厌|不(?:再)?(?:害)?怕|不反感|不恨|(?:not|n't|never|no longer)(?: \w+)? (?:dislike|hate|mind|fear|afraid)|不是不"
)
_USER = frozenset("user 用户 我 主人 me i {{user}}".split()) | {"the user"}
_CHARACTER = frozenset({"角色", "char", "the character", "{{char}}", "assistant", "你"})
_VERB = re.compile(
    r"^(?:吃|喝|玩|看|听|抽|去|打|住在?|在|养|叫|是|对|eating |drinking |playing |watching |the |an? |to |in |at |my |his |"
    r"her |their )+(?=.)"
)
_NUMBER_IN = re.compile(r"\d+")


def relation(new: FactDraft, old: FactDraft) -> Relation:
    """What ``new`` does to ``old``.

    ``same``: nothing new, the two may be merged; ``supersedes``: the old no longer holds; ``other``: both stand.
    """
    if entity(new) != entity(old) or (new.kind == "boundary") != (old.kind == "boundary"):
        return "other"
    first, second = keyword_class(new), keyword_class(old)
    if first != second:
        return "supersedes" if _crosses(new, first, old, second) else "other"
    one, other = target(new.target or new.text), target(old.target or old.text)
    same_target = one == other or (first == "age" and _NUMBER_IN.findall(one) == _NUMBER_IN.findall(other) != [])
    if bool(new.until) != bool(old.until):  # What is over stands beside what holds; that it is over ends what held.
        return "supersedes" if same_target and new.until else "other"
    if same_target:
        return "same" if polarity(new) == polarity(old) else "supersedes"
    if new.until or "boundary" in (new.kind, old.kind):
        return "other"
    single = is_single(first) or (first not in _KNOWN and new.single and old.single)
    return "supersedes" if single and polarity(new) > 0 else "other"


def matters(draft: FactDraft) -> set[Matter]:
    """Under what a fact is filed for those that may contradict it."""
    return {(entity(draft), "class", keyword_class(draft)), *_targets(draft)}


def rivals(draft: FactDraft) -> set[Matter]:
    """A fact to which ``draft`` may be anything but ``other`` is filed under one of these."""
    name = keyword_class(draft)
    classes = {name} if is_single(name) or name not in _KNOWN else set()
    if name == "status":
        classes.add("partner")
    return {*((entity(draft), "class", one) for one in classes), *_targets(draft)}


def _targets(draft: FactDraft) -> set[Matter]:
    return {(entity(draft), "target", target(words)) for words in (draft.target or draft.text, draft.target)}


def entity(draft: FactDraft) -> str:
    """Whose fact it is, folded: ``user``, ``character`` or a name."""
    folded = _fold(draft.entity)
    return "user" if folded in _USER or not folded else "character" if folded in _CHARACTER else folded


def keyword_class(draft: FactDraft) -> str:
    """The class that a free keyword belongs to (喜好, 爱好, likes → taste); ``favourite:<thing>`` for favourites; an unknown
    keyword is its own class."""
    word = (
        re.sub(r"^(?:用户的?|the user'?s? |user'?s? |current |目前的?|现在的?|当前的?)", "", _fold(draft.keyword))
        .replace("_", " ")
        .strip()
    )
    if favourite := _FAVOURITE.match(word):
        return _favourite(favourite["thing"], draft)
    if (entry := _CLASS_OF.get(word)) is not None:
        in_text = _FAVOURITE_TEXT.search(_fold(draft.text)) if entry.name == "taste" else None
        return _favourite(in_text["zh"] or in_text["en"] or in_text["as"], draft) if in_text else entry.name
    if _FAMILY.search(word):
        return "family"
    return word


def is_single(name: str) -> bool:
    """Whether a class holds one value at a time."""
    return name.startswith("favourite:") or name in _SINGLE


def polarity(draft: FactDraft) -> int:
    """+1, or −1 where the fact denies or dislikes its target; a keyword such as 讨厌 says so where the sign does not."""
    if _NOT_NEGATED.search(_fold(draft.text)) and keyword_class(draft) == "taste":
        return 1
    if _fold(draft.keyword).replace("_", " ") in _NEGATED_WORDS:
        return -1
    return -1 if draft.polarity < 0 else 1


@lru_cache(maxsize=4096)
def target(text: str) -> str:
    """A target, folded and without the verb, article and particles around it (吃香菜 → 香菜, the cats → cat)."""
    folded = re.sub(r"[\s,.!?，。！？、《》“”\"'()（）]+", " ", _fold(text)).strip()
    folded = re.sub(r"(?:了|的|啊|呀|市|省)+$", "", folded) or folded
    folded = _VERB.sub("", folded)
    if folded.isascii() and len(folded) > 3 and folded.endswith("s") and not folded.endswith(("ss", "us", "is")):
        folded = folded[:-3] + "y" if folded.endswith("ies") else folded[:-1]
    return folded


def _favourite(thing: str, draft: FactDraft) -> str:
    thing = thing.strip()
    if not thing and _COLOUR.match(target(draft.target)):
        thing = "colour"
    return f"favourite:{_SAME_THING.get(thing, thing)}"


def _crosses(new: FactDraft, first: str, old: FactDraft, second: str) -> bool:
    """Whether facts of different classes contradict each other: a thing no longer liked is no favourite, a favourite is
    not disliked.
    """
    if {first.partition(":")[0], second.partition(":")[0]} == {"taste", "favourite"}:
        return target(new.target) == target(old.target) and polarity(new) != polarity(old)
    if {first, second} == {"status", "partner"} and first == "status":
        return target(new.target) in ("分手", "离婚", "单身", "single", "divorced")
    return False


@lru_cache(maxsize=4096)
def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip().casefold()


_SINGLE = frozenset(entry.name for entry in CLASSES if entry.single)
ENDING = frozenset(
    "home job employer school major grade status partner friend pet taste favourite habit health possession skill learning "
    "language trait dream nickname address".split()
)
"""The classes of what ends; a name, an origin or what a body does not take stays so."""
_KNOWN = frozenset(entry.name for entry in CLASSES)


# ---- the facts of an owner, filed: what is worked out of each once, by which core memory and entity search find it

Field = Literal["keyword", "entity_name", "description"]

OWNERS = ("user", "character", "particular", "generic")  # 客体, 主体, 具体实体 (特殊实体), 泛化实体
BONDS = frozenset({"family", "friend", "partner", "pet"})
NEVER_SEARCHED = frozenset({"用户", "角色", "user", "the user", "character"})


def owner(draft: FactDraft, user_name: str = "", character_name: str = "") -> str:
    """Whose fact it is: ``user``, ``character``, else ``particular`` (named) or ``generic`` (a kind of thing)."""
    folded = entity(draft)
    if folded in ("user", words.fold(user_name)):
        return "user"
    if folded in ("character", words.fold(character_name)):
        return "character"
    return "generic" if draft.generic else "particular"


def group(draft: FactDraft, user_name: str = "", character_name: str = "") -> str:
    """``<owner>.attribute`` (a boundary, too), ``<owner>.relation``, or ``picture``. A relation of someone else with the user or
    the character is ``<owner>.bound``."""
    if draft.kind == "picture":
        return "picture"
    whose = owner(draft, user_name, character_name)
    if draft.kind == "relation" and whose in ("particular", "generic") and draft.target:
        other = owner(replace(draft, entity=draft.target), user_name, character_name)
        return f"{whose}.bound" if other in ("user", "character") else f"{whose}.relation"
    return f"{whose}.{'attribute' if draft.kind == 'boundary' else draft.kind}"


@dataclass(frozen=True, slots=True)
class FiledFact:
    """What is worked out once of a fact, under a number of its own."""

    number: int
    fact: Fact
    group: str
    since: float  # epoch seconds
    words: frozenset[str]
    names: frozenset[str]
    keywords: frozenset[str]
    classes: tuple[str, ...]
    matters: frozenset[Matter]
    bond: tuple[str, str] | None
    """What somebody is to the user, folded (弟弟, daughter), and the name."""


class FiledFacts:
    """The facts of an owner by the words in their fields (``fields``), by what they are filed under (``words``) and about
    (``names``), by their content words, by their class where they are the user's, and by their matters. A fact joins and leaves
    by itself, so that a change costs what changed. One thread changes it at a time; readers need no lock."""

    def __init__(self, user_name: str = "", character_name: str = "", contained: Containment | None = None) -> None:
        self.both = (user_name, character_name)
        self._contained = contained or Containment()
        names = tuple(filter(None, (user_name.strip(), character_name.strip())))
        self.never = NEVER_SEARCHED | frozenset(map(words.fold, names))
        # What a description is not searched by: the two names, and the "the user" that it begins with.
        parts = [association.name_pattern(name) for name in names if len(name) > 1]
        self._unsearched = re.compile("|".join([r"^\s*(?:用户|the user\b)", *parts]), re.IGNORECASE)
        self._next = count()
        self._by_id: dict[str, FiledFact] = {}
        self.fields: dict[Field, Substrings] = {name: Substrings() for name in get_args(Field)}
        self.words: Postings[str] = Postings()
        self.names: Postings[str] = Postings()
        self.keywords: Postings[str] = Postings()
        self.classes: Postings[str] = Postings()
        self.matters: Postings[Matter] = Postings()

    def filed(self, facts: Sequence[Fact]) -> list[FiledFact]:
        """These facts as they are filed, in their order; from now on there are no others."""
        filed = []
        for fact in facts:
            entry = self._by_id.get(fact.id)
            if entry is None or (entry.fact is not fact and entry.fact != fact):
                entry = self._put(fact)
            filed.append(entry)
        if len(self._by_id) > len(filed):
            for id_ in self._by_id.keys() - {fact.id for fact in facts}:
                self._remove(id_)
        return filed

    def _put(self, fact: Fact) -> FiledFact:
        if fact.id in self._by_id:
            self._remove(fact.id)
        draft, text, number = fact.draft, fact.text, next(self._next)
        others = owner(draft, *self.both) in ("particular", "generic")
        texts: dict[Field, str] = {
            "keyword": draft.keyword,
            "entity_name": draft.entity if others else "",
            "description": self._unsearched.sub(" ", text),
        }
        filed_under = frozenset(map(words.fold, (draft.entity, draft.keyword, draft.target)))
        names = {draft.entity, draft.target} if draft.kind == "relation" else {draft.entity}
        record, none = NamedText(fact.id, text), list[str]()
        is_bond = draft.kind == "relation" and draft.keyword and draft.target and draft.polarity > 0
        is_own = is_bond and entity(draft) == "user" and keyword_class(draft) in BONDS
        entry = FiledFact(
            number, fact, group(draft, *self.both), fact.since.timestamp(),
            filed_under - self.never - {""}, frozenset(map(words.fold, names)) - self.never - {"", *OWNERS},
            frozenset(self._contained.run("words", record, lambda: words.keywords(text, top_k=20), none)),
            (keyword_class(draft),) if draft.entity == "user" else (),
            frozenset(matters(draft)),
            (words.fold(draft.keyword).replace("_", " "), draft.target) if is_own else None,
        )  # fmt: skip
        for name, field_text in texts.items():
            self.fields[name].add(number, field_text)
        for postings, keys in self._postings(entry):
            postings.add(number, keys)
        self._by_id[fact.id] = entry
        return entry

    def _remove(self, id_: str) -> None:
        entry = self._by_id.pop(id_)
        for texts in self.fields.values():
            texts.remove(entry.number)
        for postings, keys in self._postings(entry):
            postings.remove(entry.number, keys)

    def _postings(self, entry: FiledFact) -> Sequence[tuple[Postings[Any], Collection[Hashable]]]:
        return (
            (self.words, entry.words), (self.names, entry.names), (self.keywords, entry.keywords),
            (self.classes, entry.classes), (self.matters, entry.matters),
        )  # fmt: skip


@dataclass(frozen=True)
class FactView:
    """Facts as they were at one moment. What has left the files since is found no more."""

    files: FiledFacts
    entries: Sequence[FiledFact]

    @lazy
    def facts(self) -> Sequence[Fact]:
        return [entry.fact for entry in self.entries]

    @lazy
    def by_id(self) -> Mapping[str, Fact]:
        return {fact.id: fact for fact in self.facts}

    @lazy
    def delicate(self) -> Sequence[tuple[str, Sequence[str], str]]:
        """(id, sources, text) of those that are delicate."""
        return [(f.id, f.draft.sources, f.text) for f in self.facts if f.draft.mark == "delicate"]

    @lazy
    def boundaries(self) -> list[Fact]:
        """What the user asks to be kept to, in order."""
        return [fact for fact in self.facts if fact.draft.kind == "boundary"]

    def by_word(self, word: str) -> list[int]:
        """Places of the facts with a content word, ascending."""
        return self._at(self.files.keywords.of(word))

    def by_class(self, name: str) -> list[int]:
        """Places of what is known of the user in a class, ascending."""
        return self._at(self.files.classes.of(name))

    def newest(self, name: str, most: int) -> list[Fact]:
        """What was last known of the user in a class, ``most`` at most, the newest first."""
        return [self.facts[place] for place in self.by_class(name)[: -most - 1 : -1]]

    def rivals(self, draft: FactDraft) -> list[Fact]:
        """The facts that a draft may restate or contradict, in order."""
        numbers = {n for matter in rivals(draft) for n in self.files.matters.of(matter)}
        return [self.facts[i] for i in self._at(numbers)]

    @lazy
    def _places(self) -> Mapping[int, int]:
        return {entry.number: place for place, entry in enumerate(self.entries)}

    def _at(self, numbers: Collection[int]) -> list[int]:
        return sorted(self._places[number] for number in numbers if number in self._places)
