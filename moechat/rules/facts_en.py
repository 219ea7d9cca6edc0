"""The facts that the match of an English pattern states, or none where its parts are not what they seem.

Texts are in the third person ("lives in New York"). A target is refused if it is a pronoun or hangs on what was seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from moechat.rules.clauses_en import FAMILY, PARTNER
from moechat.rules.fact import BareFact, Handler, group, negated, polarity, stating
from moechat.when.names import MONTHS, english_number

END = (
    r"(?: (?:now and then|from time to time|now|anymore|any more|these days|at all|either|too|as well|so much|very "
    r"much|a lot|though|again|at the moment|right now|currently|myself|to be honest|tbh|lol|haha|already))*"
)
_BAD_TARGET = re.compile(
    r"^(?i:it|that|this|these|those|you|him|her|them|how|when|what|why|where|who|your|if|to (?:think|say|believe|see "
    r"you|be)|me|us|my life|the way|the idea|the fact|being asked|someone|somebody|anyone|nothing|everything|"
    r"anything|talking to you|something|everyone|one|so|not|too|as|especially|including|such|like|mostly|then|gets|"
    r"makes|brings|keeps|is|I|their|our|his|her|all (?:the|of)|more|to$|.*\bthose\b|.*\bthat\b)\b|^the (?![A-Z]|"
    r"(?:sea|ocean|beach|cold|heat|rain|snow|mountains?|countryside|city|summer|winter|night|dark|sun|wind|color|"
    r"colour|piano|guitar|smell of)\b)|\b(?:them|it|us|that|this)$|○",
)
_NOT_A_PLACE = re.compile(
    r"^(?:a hotel|an? airbnb|a dream|fear|my |the moment|the past|peace|your|his|her|here|there|it|this|that|hope|"
    r"denial|hell)\b|○",
    re.I,
)
JOBS = (
    r"[a-z -]{0,24}?(?:\w+er|\w+or|\w+ist|\w+ian|nurse|student|doctor|lawyer|chef|cook|pilot|accountant|assistant|"
    r"\w+man|\w+woman|consultant|therapist|analyst|intern|clerk|vet|surgeon|judge|architect|freelancer|\w+smith|"
    r"barista|coach|priest|soldier|nanny|housewife|stay-at-home \w+|entrepreneur|agent|secretary|guide|model|retiree|"
    r"ceo|cto|apprentice|attendant|officer|technician|scientist)"
)
_NOT_A_JOB = re.compile(
    r"\b(?:lover|believer|loser|winner|member|fighter|beginner|foreigner|stranger|survivor|sister|brother|mother|"
    r"father|daughter|supporter|sinner|liar|monster|sleeper|eater|drinker|sagittarian|vegetarian|person|human|number|"
    r"collector|owner|hater|smoker|non-smoker|procrastinator|homebody|bit|christian|buddhist|twin|walker|thinker|"
    r"talker|early riser|riser|night owl|minor|senior|junior|listener|disaster|gamer|reader|helper|outsider|"
    r"overthinker|hoarder|morning person)$",
    re.I,
)
_VERBS_S = {
    "do": "does", "go": "goes", "have": "has", "watch": "watches", "teach": "teaches", "wash": "washes",
    "practise": "practises", "study": "studies", "cry": "cries", "fly": "flies", "try": "tries", "am": "is",
}  # fmt: skip
_NO_HABIT = re.compile(r"(?:am|was|went|had|like|love|hate|miss|think|thought|met|saw)\b|○", re.I)


def name(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    name = match["name"].strip(" \"'")
    if not re.match(r"(?:it|back|later|a|an|the|not|when|if|crazy|now|tomorrow|sorry|○)\b", name, re.I):
        yield BareFact(f"is called {name}", "name", name[0].upper() + name[1:], single=True)


def age(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    age = int(english_number(match["age"]) or 0)
    if 2 < age < 130:
        yield BareFact(f"is {age} years old", "age", str(age), single=True)


def age_job(match: re.Match[str], now: datetime) -> Iterator[BareFact]:
    """a 28 year old teacher from Chicago"""
    yield from age(match, now)
    rest = re.split(r"years?[- ]old", match.group(), maxsplit=1)[1]
    job, _sep, place = re.sub(r"\s+(?:from|living in)\s+", "\t", rest).partition("\t")
    job, place = _thing(job), _thing(place)
    if job and re.fullmatch(JOBS, job) and not _NOT_A_JOB.search(job):
        yield BareFact(f"is {_article(job)}", "job", job, single=True)
    if place and " from " in rest:
        yield BareFact(f"is from {place}", "hometown", place, single=True)


def birthday(match: re.Match[str], now: datetime) -> Iterator[BareFact]:
    """A birthday on the day that is named, else today."""
    month, day = MONTHS[now.month - 1], now.day
    if short := group(match, "month")[:3].lower():
        month = next(full for full in MONTHS if full[:3].lower() == short)
        day = int(match["day"])
    yield BareFact(f"has a birthday on {month} {day}", "birthday", f"{month} {day}", single=True)


def home(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    if place := _place(match["place"]):
        verb = "does not live" if negated(match) else "lives"
        yield BareFact(f"{verb} in {place}", "home", place, polarity(match), single=True)


def hometown(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    place = _place(match["place"])
    if place and not re.match(
        r"(?:now|today|work|school|then|time|a (?:big |small |large |poor |rich )?family|scratch)\b", place, re.I
    ):
        yield BareFact(f"is from {place}", "hometown", place, single=True)


nation = stating("is {nation}", "nationality", "{nation}")


def employer(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    verb = "does not work" if negated(match) else "works"
    if job := _thing(group(match, "job")):
        yield BareFact(f"{verb} as {_article(job)}", "job", job, polarity(match), single=True)
    place = _place(group(match, "place"))
    if place and not re.match(r"(?:night|home|the weekend|it|a project|\d|weekends|least|once)\b", place, re.I):
        yield BareFact(f"{verb} {match['prep'].lower()} {place}", "employer", place, polarity(match), single=True)


def job(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    job = _thing(match["job"])
    if job and not _NOT_A_JOB.search(job) and not _BAD_TARGET.search(job):
        yield BareFact(f"is {_not(match)}{_article(job)}", "job", job, polarity(match), single=True)
    if place := _place(group(match, "place")):
        yield BareFact(f"works at {place}", "employer", place, single=True)


def studies(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    major = _thing(group(match, "major"))
    if major and not re.match(r"(?:hard|a lot|for|every|too|late|abroad)\b", major):
        yield BareFact(f"studies {major}", "major", major, single=True)
    if school := _place(group(match, "school")):
        yield BareFact(f"studies at {school}", "school", school, single=True)


def pet(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    pet = match["pet"].lower()
    if name := group(match, "name"):
        yield BareFact(f"has a {pet} called {name}", "pet", name, relation=True)
    else:
        count = group(match, "count") or "a"
        yield BareFact(f"has {count} {group(match, 'kind')}{pet}", "pet", pet, relation=True)


def named_pets(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    for name in re.findall(r"[A-Z]\w+", match["names"]):
        yield BareFact(f"has a {match['pets'].lower()} called {name}", "pet", name, relation=True)


def person(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    who = match["who"].lower()
    partner = bool(re.fullmatch(PARTNER, who))
    if name := group(match, "name"):
        yield BareFact(f"has {_article(who)} called {name}", who, name, single=partner, relation=True)
    elif not re.fullmatch("friends?|boss|manager|teacher|professor", who):
        count = "no" if negated(match) else group(match, "count") or "a"
        keyword = "status" if partner else "family" if re.fullmatch(FAMILY, who) else "friend"
        yield BareFact(f"has {count} {who}", keyword, who, polarity(match), relation=True)


_PRESENT = {
    "liked": "like", "loved": "love", "hated": "hate", "enjoyed": "enjoy", "disliked": "dislike", "adored": "adore",
    "fallen in love with": "love",
}  # fmt: skip


def taste(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    verb = (group(match, "like") or group(match, "dislike")).lower()
    verb = _PRESENT.get(verb, verb)
    sense = -polarity(match) if group(match, "dislike") else polarity(match)
    for target in _targets(match["target"]):
        text = f"does not {verb} {target}" if negated(match) else f"{verb}s {target}"
        yield BareFact(text, "likes", target, sense)


def each(text: str, keyword: str, sense: int) -> Handler:
    """A handler that states one fact for every target of a list."""

    def handler(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
        for target in _targets(match["target"]):
            yield BareFact(text.format(target), keyword, target, sense)

    return handler


def consumes(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    for target in _targets(match["target"]):
        if not re.match(r"(?:breakfast|lunch|dinner|enough|much|a lot|well|anything|out)\b", target, re.I):
            yield BareFact(f"does not {match['verb'].lower()} {target}", "likes", target, -1)


def favourite(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    thing = match["thing"].strip().lower().replace("color", "colour")
    for target in _targets(re.sub(r" (?:because|since|as it)\b.*", "", match["target"]), split=False):
        if match["bad"]:
            yield BareFact(f"dislikes {target}", "likes", target, -1)
        else:
            yield BareFact(f"has {target} as favourite {thing}", f"favourite {thing}", target, single=True)


def habit(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    text = match.group().strip()
    if len(text.split()) > 12 or _NO_HABIT.match(text):
        return
    often = "often " if text.startswith("often ") else ""
    verb, _space, rest = text.removeprefix("often ").partition(" ")
    yield BareFact(f"{often}{third(verb)} {_theirs(rest)}", "habit", _theirs(text))


def given_up(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    verb = group(match, "verb").lower()
    for target in _targets(match["target"], split=False):
        if verb in ("eating", "drinking"):
            yield BareFact(f"does not {verb[:-3]} {target} any more", "likes", target, -1)
        elif verb in ("liking", "loving", "enjoying"):
            yield BareFact(f"does not like {target} any more", "likes", target, -1)
        elif target.endswith("ing"):
            yield BareFact(f"gave up {target}", "habit", target, -1)
        elif match.group().startswith(("gave up", "have given up")) and not re.match(r"to |for |on ", target):
            yield BareFact(f"gave up {target}", "likes", target, -1)


_HABITS = {"smoke": "smoking", "drink": "drinking", "exercise": "exercising"}


def no_habit(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    verb = match["verb"].lower()
    yield BareFact(f"does not {verb}", "habit", _HABITS[verb], -1)


def allergy(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    for target in _targets(match["target"]):
        yield BareFact(f"is {_not(match)}allergic to {target}", "allergy", target, polarity(match))


def health(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    yield BareFact(f"has {match['ill']}", "health", re.sub(r"^a ", "", match["ill"]))


def skill(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    skill = _thing(match["what"])
    yield BareFact(f"{'cannot' if negated(match) else 'can'} {skill}", "skill", skill, polarity(match))


def learning(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    what = _thing(match["what"])
    refused = _BAD_TARGET.search(what) or re.match(r"(?:a new|an? \w+ skill|about|hard|more)\b", what)
    if len(what.split()) <= 4 and not refused:
        yield BareFact(f"is learning {match['to'] or ''}{what}", "learning", what)


def possession(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    thing = _thing(match["thing"])
    yield BareFact(f"has {match['count']} {thing}", "possession", thing)


_STATUS = {"got married": "married", "got divorced": "divorced", "got engaged": "engaged", "broke up": "single"}


def status(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    word = match["status"].lower()
    word = next((status for start, status in _STATUS.items() if word.startswith(start)), word)
    yield BareFact(f"is {_not(match)}{word}", "status", word, polarity(match), single=True)


def trait(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    trait = match["what"]
    yield BareFact(f"is {_not(match)}{trait}", "trait", re.sub(r"^an? ", "", trait), polarity(match))


def sign(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    yield BareFact(f"is {_article(match['sign'])}", "sign", match["sign"], single=True)


def attribute(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    for value in _targets(match["value"], split=False):
        yield BareFact(f"has {value} as {match['what'].lower()}", match["what"].lower(), value, single=True)


height = stating("is {value} tall", "height", "{value}", single=True)


def _not(match: re.Match[str]) -> str:
    return "not " if negated(match) else ""


def third(verb: str) -> str:
    """The third person singular of a verb in the first."""
    low = verb.lower()
    if low in _VERBS_S:
        return _VERBS_S[low]
    return low + ("es" if low.endswith(("s", "sh", "ch", "x", "z")) else "s")


def _article(noun: str) -> str:
    if noun.endswith("s") and not noun.endswith("ss"):
        return noun
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _place(text: str) -> str:
    place = re.sub(
        r" (?:now|since .*|for (?:the last |about |over |almost |nearly )?(?:\w+ )?(?:years?|months?|weeks?|ages).*|"
        r"these days|at the moment|with (?:my|a|two|three).*|right now|currently|last \w+|this \w+|yesterday|today|"
        r"recently|"
        r"(?:a|two|three|\d+) (?:\w+ )?ago|in \d{4}|because .*|again|and .*|as an? .*|anymore|any more|already|"
        r"actually|lol|haha|by the way|btw|every .*|on (?:mon|tues|wednes|thurs|fri|satur|sun).*|from home|full[- "
        r"]time|part[- ]time|too|as well)$",
        "", _thing(text), flags=re.I,
    )  # fmt: skip
    return "" if not place or _NOT_A_PLACE.search(place) or len(place.split()) > 7 else place


def _thing(text: str) -> str:
    return re.sub(rf"{END}$", "", text.strip(" \"'.,!")).strip(" \"'.,!")


def _targets(text: str, *, split: bool = True) -> list[str]:
    """The things of a list (tea, coffee and cake); pronouns and the like are left out."""
    text = re.sub(r"^both ", "", _thing(text))
    hangs = re.search(r"\b(?:with|about|of|for|near|from) .*\b(?:and|or) (?!\w+ing\b)", text)
    whole = (
        hangs
        or not split
        or text.startswith("to ")
        or re.search(r"\b(?:between|rock and roll|mac and cheese|black and white)\b", text)
    )
    parts = [text] if whole else re.split(r",\s*(?:and |or )?|\s+(?:and|or)\s+", text)
    things = [re.sub(r"^(?:eating|drinking|to eat|to drink)\s+(?=\w)", "", _thing(part), flags=re.I) for part in parts]
    if _BAD_TARGET.search(things[0]):  # "it, how they shine and sparkle": the rest hangs on what is not known
        return []
    return [_theirs(thing) for thing in things if thing and len(thing.split()) <= 8 and not _BAD_TARGET.search(thing)]


def _theirs(text: str) -> str:
    """The first person brought to the third: "my cat" → "their cat"."""
    return re.sub(r"\bmyself\b", "themselves", re.sub(r"\bme\b", "them", re.sub(r"\bmy\b", "their", text)))
