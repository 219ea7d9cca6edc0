"""What an English clause says of its subject: patterns over the clause's body, first come first served.

A pattern must fit the whole body, so that whatever it does not know stays untold. Bodies are in the first person; texts
come out in the third ("lives in New York").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from moechat.ai.clause import OTHER, UNKNOWN, Clause, Found
from moechat.ai.clauses_en import FAMILY, FRIEND, PARTNER, PERSON, PET

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
_MONTH = rf"(?P<month>{'|'.join(f'{month[:3]}(?:{month[3:]})?' for month in _MONTHS)})\.?"
_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_NUMBER = rf"\d{{1,3}}|(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_ONES)}))?|{'|'.join(_ONES[3:])}"
_END = r"(?: (?:now|anymore|any more|these days|at all|either|too|as well|so much|very much|a lot|though|again|at the moment|right now|currently|myself|to be honest|tbh|lol|haha|already))*"
_NO = r"(?P<no>(?:do not|never|no longer|have never|do not really|do not particularly|really do not|cannot say I|do not even) (?:really |particularly |even |much |quite |ever |actually |also )?)"
_BAD_TARGET = re.compile(
    r"^(?:it|that|this|these|those|you|him|her|them|how|when|what|why|where|who|your|if|to (?:think|say|believe|see you|be)|me|us|my life|the way|the idea|the fact|being asked|someone|somebody|anyone|nothing|everything|anything|talking to you|something|everyone|one|so|not|too|as)\b|○",
    re.I,
)
_NOT_A_PLACE = re.compile(r"^(?:a hotel|an? airbnb|a dream|fear|my |the moment|the past|peace|your|his|her|here|there|it|this|that|hope|denial|hell)\b|○", re.I)
_JOBS = (
    r"[a-z -]{0,24}?(?:\w+er|\w+or|\w+ist|\w+ian|nurse|student|doctor|lawyer|chef|cook|pilot|accountant|assistant|\w+man|\w+woman|consultant|therapist|analyst|intern|clerk|vet|surgeon|judge|architect|freelancer|\w+smith|"
    r"barista|coach|priest|soldier|nanny|housewife|stay-at-home \w+|entrepreneur|agent|secretary|guide|model|retiree|ceo|cto|apprentice|attendant|officer|technician|scientist)"
)
_NOT_A_JOB = re.compile(
    r"\b(?:lover|believer|loser|winner|member|fighter|beginner|foreigner|stranger|survivor|sister|brother|mother|father|daughter|supporter|sinner|liar|monster|sleeper|eater|drinker|sagittarian|vegetarian|person|human|number|"
    r"collector|owner|hater|smoker|non-smoker|procrastinator|homebody|bit|christian|buddhist|twin|walker|thinker|talker|early riser|riser|night owl|minor|senior|junior|listener|disaster|gamer|reader|helper|outsider|overthinker|hoarder|morning person)$",
    re.I,
)
_TRAIT = (
    r"(?:strict |lifelong )?(?:vegan|vegetarian|pescatarian)|left-handed|right-handed|an? (?:only child|introvert|extrovert|ambivert|night owl|early bird|morning person|twin|christian|muslim|buddhist|jew|atheist|smoker|non-smoker|"
    r"cat person|dog person|procrastinator|homebody|gamer|bookworm|vegan|vegetarian|pescatarian|perfectionist)|colou?r[- ]?blind|(?:an? )?[IE][NS][TF][JP]|introverted|extroverted|dyslexic|religious|jewish|muslim|christian|buddhist|gay|lesbian|bisexual|trans|non-binary"
)
_NATIONS = (
    "american|british|english|scottish|irish|welsh|french|german|italian|spanish|portuguese|dutch|belgian|swiss|austrian|polish|czech|hungarian|romanian|greek|turkish|russian|ukrainian|swedish|norwegian|danish|finnish|"
    "chinese|japanese|korean|taiwanese|vietnamese|thai|indian|pakistani|indonesian|malaysian|filipino|singaporean|australian|canadian|mexican|brazilian|argentinian|chilean|colombian|egyptian|nigerian|kenyan|south african|moroccan|israeli|iranian|saudi"
)
_SIGNS = "aries|taurus|gemini|cancer|leo|virgo|libra|scorpio|sagittarius|capricorn|aquarius|pisces"
_SKILL = r"(?:play|speak|swim|drive|cook|dance|sing|draw|paint|code|program|ski|skate|snowboard|surf|ride|juggle|knit|sew|bake|whistle|type|read|write|do|fly)\b(?! it| this| that| you| so| now| for you).{0,40}"
_AILMENT = r"(?:a (?:bad |weak )?)?(?:asthma|diabetes|(?:type [12] )?diabetes|migraines?|insomnia|adhd|autism|depression|anxiety|arthritis|eczema|epilepsy|celiac disease|hay fever|high blood pressure|low blood pressure|back (?:pain|problems)|heart condition|bad knees?|bad back|anemia|tinnitus|ibs|ptsd|ocd|\w+itis|\w+ disease|dyslexia|scoliosis)"
_HABIT_WHEN = r"every (?:single )?(?:day|morning|evening|night|week|weekend|month|summer|winter|year|\w+day|other day)|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|on weekends|(?:once|twice|three times) a (?:day|week|month)|before (?:bed|work|sleep)|most (?:days|mornings|evenings)|daily"
_POSSESSION = r"car|bike|bicycle|motorbike|motorcycle|scooter|house|flat|apartment|cottage|boat|guitar|piano|violin|ukulele|drums?|camera|laptop|computer|pc|phone|tablet|console|telescope|skateboard|drone|van|truck|tent|shop|restaurant|cafe|farm|garden|watch|ring|record player|keyboard|cello|flute"
_VERBS_S = {"do": "does", "go": "goes", "have": "has", "watch": "watches", "teach": "teaches", "wash": "washes", "practise": "practises", "study": "studies", "cry": "cries", "fly": "flies", "try": "tries", "am": "is"}

Handler = Callable[[re.Match[str], datetime], Iterator[Found]]


def number(text: str) -> int | None:
    """A whole number below 1000, in digits or in words (thirty-one)."""
    if text.isdigit():
        return int(text)
    words = re.split(r"[- ]", text.lower())
    if words[0] in _TENS:
        return _TENS[words[0]] + (_ONES.index(words[1]) if len(words) > 1 and words[1] in _ONES else 0)
    return _ONES.index(words[0]) if words[0] in _ONES else None


def _name(match: re.Match[str], _: datetime) -> Iterator[Found]:
    name = match["name"].strip(" \"'")
    if not re.match(r"(?:it|back|later|a|an|the|not|when|if|crazy|now|tomorrow|sorry|○)\b", name, re.I):
        yield Found(f"is called {name}", "name", name[0].upper() + name[1:], single=True)


def _age(match: re.Match[str], _: datetime) -> Iterator[Found]:
    age = number(match["age"])
    if age and 2 < age < 130:
        yield Found(f"is {age} years old", "age", str(age), single=True)


def _age_job(match: re.Match[str], now: datetime) -> Iterator[Found]:
    """a 28 year old teacher from Chicago"""
    yield from _age(match, now)
    rest = re.split(r"years?[- ]old", match.group(), maxsplit=1)[1]
    job, _sep, place = re.sub(r"\s+(?:from|living in)\s+", "\t", rest).partition("\t")
    if (job := _thing(job)) and re.fullmatch(_JOBS, job) and not _NOT_A_JOB.search(job):
        yield Found(f"is {_article(job)}", "job", job, single=True)
    if _thing(place) and " from " in rest:
        yield Found(f"is from {_thing(place)}", "hometown", _thing(place), single=True)


def _birthday(match: re.Match[str], now: datetime) -> Iterator[Found]:
    groups = match.groupdict()
    if groups.get("month"):
        month = next(full for full in _MONTHS if full[:3].lower() == groups["month"][:3].lower())
        yield Found(f"has a birthday on {month} {int(groups['day'])}", "birthday", f"{month} {int(groups['day'])}", single=True)
    else:
        yield Found(f"has a birthday on {_MONTHS[now.month - 1]} {now.day}", "birthday", f"{_MONTHS[now.month - 1]} {now.day}", single=True)


def _home(match: re.Match[str], _: datetime) -> Iterator[Found]:
    place = _place(match["place"])
    if place:
        no = bool(match.groupdict().get("no"))
        yield Found(f"{'does not live' if no else 'lives'} in {place}", "home", place, -1 if no else 1, single=True)


def _hometown(match: re.Match[str], _: datetime) -> Iterator[Found]:
    place = _place(match["place"])
    if place and not re.match(r"(?:now|today|work|school|then|time|a (?:big |small |large |poor |rich )?family|scratch)\b", place, re.I):
        yield Found(f"is from {place}", "hometown", place, single=True)


def _nation(match: re.Match[str], _: datetime) -> Iterator[Found]:
    yield Found(f"is {match['nation']}", "nationality", match["nation"])


def _employer(match: re.Match[str], _: datetime) -> Iterator[Found]:
    groups = match.groupdict()
    no = bool(groups.get("no"))
    if job := _thing(groups.get("job") or ""):
        yield Found(f"{'does not work' if no else 'works'} as {_article(job)}", "job", job, -1 if no else 1, single=True)
    place = _place(groups.get("place") or "")
    if place and not re.match(r"(?:night|home|the weekend|it|a project|\d|weekends|least|once)\b", place, re.I):
        yield Found(f"{'does not work' if no else 'works'} {groups['prep'].lower()} {place}", "employer", place, -1 if no else 1, single=True)


def _job(match: re.Match[str], _: datetime) -> Iterator[Found]:
    job, no = _thing(match["job"]), bool(match.groupdict().get("no"))
    if job and not _NOT_A_JOB.search(job) and not _BAD_TARGET.search(job):
        yield Found(f"is {'not ' if no else ''}{_article(job)}", "job", job, -1 if no else 1, single=True)
    if place := _place(match.groupdict().get("place") or ""):
        yield Found(f"works at {place}", "employer", place, single=True)


def _studies(match: re.Match[str], _: datetime) -> Iterator[Found]:
    groups = match.groupdict()
    if (major := _thing(groups.get("major") or "")) and not re.match(r"(?:hard|a lot|for|every|too|late|abroad)\b", major):
        yield Found(f"studies {major}", "major", major, single=True)
    if school := _place(groups.get("school") or ""):
        yield Found(f"studies at {school}", "school", school, single=True)


def _pet(match: re.Match[str], _: datetime) -> Iterator[Found]:
    groups = match.groupdict()
    pet, name = match["pet"].lower(), groups.get("name")
    if name:
        yield Found(f"has a {pet} called {name}", "pet", name, relation=True)
    else:
        count = groups.get("count") or "a"
        yield Found(f"has {count} {groups.get('kind') or ''}{pet}", "pet", pet, relation=True)


def _named_pets(match: re.Match[str], _: datetime) -> Iterator[Found]:
    for name in re.findall(r"[A-Z]\w+", match["names"]):
        yield Found(f"has a {match['pets'].lower()} called {name}", "pet", name, relation=True)


def _person(match: re.Match[str], _: datetime) -> Iterator[Found]:
    groups = match.groupdict()
    who, name = match["who"].lower(), groups.get("name")
    partner = bool(re.fullmatch(PARTNER, who))
    no = bool(groups.get("no"))
    if name:
        yield Found(f"has {_article(who)} called {name}", who, name, single=partner, relation=True)
    elif not re.fullmatch("friends?|boss|manager|teacher|professor", who):
        has = "has no" if no else f"has {groups.get('count') or 'a'}"
        yield Found(f"{has} {who}", "status" if partner else "family" if re.fullmatch(FAMILY, who) else "friend", who, -1 if no else 1, relation=True)


def _taste(match: re.Match[str], _: datetime) -> Iterator[Found]:
    groups = match.groupdict()
    negated, disliked = bool(groups.get("no")), bool(groups.get("dislike"))
    verb = (groups.get("like") or groups.get("dislike") or "").lower()
    verb = {"liked": "like", "loved": "love", "hated": "hate", "enjoyed": "enjoy", "disliked": "dislike", "adored": "adore", "fallen in love with": "love"}.get(verb, verb)
    for target in _targets(groups["target"]):
        text = f"does not {verb} {target}" if negated else f"{verb}s {target}"
        yield Found(text, "likes", target, -1 if negated != disliked else 1)


def _as_said(text: str, keyword: str, polarity: int) -> Handler:
    def handler(match: re.Match[str], _: datetime) -> Iterator[Found]:
        for target in _targets(match["target"]):
            yield Found(text.format(target), keyword, target, polarity)

    return handler


def _consumes(match: re.Match[str], _: datetime) -> Iterator[Found]:
    for target in _targets(match["target"]):
        if not re.match(r"(?:breakfast|lunch|dinner|enough|much|a lot|well|anything|out)\b", target, re.I):
            yield Found(f"does not {match['verb'].lower()} {target}", "likes", target, -1)


def _favourite(match: re.Match[str], _: datetime) -> Iterator[Found]:
    thing = match["thing"].strip().lower().replace("color", "colour")
    for target in _targets(match["target"], split=False):
        if match["bad"]:
            yield Found(f"dislikes {target}", "likes", target, -1)
        else:
            yield Found(f"has {target} as favourite {thing}", f"favourite {thing}", target, single=True)


def _habit(match: re.Match[str], _: datetime) -> Iterator[Found]:
    habit = match.group().strip()
    if len(habit.split()) <= 12 and not re.match(r"(?:am|was|went|had|like|love|hate|miss|think|thought|met|saw)\b|○", habit, re.I):
        verb, _space, rest = habit.partition(" ")
        yield Found(f"{third(verb)} {rest}", "habit", habit)


def _quit(match: re.Match[str], _: datetime) -> Iterator[Found]:
    verb = (match.groupdict().get("verb") or "").lower()
    for target in _targets(match["target"], split=False):
        if verb in ("eating", "drinking"):
            yield Found(f"does not {verb[:-3].replace('drink', 'drink')} {target} any more", "likes", target, -1)
        elif verb in ("liking", "loving", "enjoying"):
            yield Found(f"does not like {target} any more", "likes", target, -1)
        elif target.endswith("ing"):
            yield Found(f"gave up {target}", "habit", target, -1)
        elif match.group().startswith(("gave up", "have given up", "am off")):
            yield Found(f"gave up {target}", "likes", target, -1)


def _no_habit(match: re.Match[str], _: datetime) -> Iterator[Found]:
    yield Found(f"does not {match['verb'].lower()}", "habit", {"smoke": "smoking", "drink": "drinking", "exercise": "exercising"}[match["verb"].lower()], -1)


def _allergy(match: re.Match[str], _: datetime) -> Iterator[Found]:
    negated = bool(match.groupdict().get("no"))
    for target in _targets(match["target"]):
        yield Found(f"is {'not ' if negated else ''}allergic to {target}", "allergy", target, -1 if negated else 1)


def _health(match: re.Match[str], _: datetime) -> Iterator[Found]:
    ill = re.sub(r"^a ", "", match["ill"])
    yield Found(f"has {match['ill']}", "health", ill)


def _skill(match: re.Match[str], _: datetime) -> Iterator[Found]:
    what, negated = _thing(match["what"]), bool(match["no"])
    yield Found(f"{'cannot' if negated else 'can'} {what}", "skill", what, -1 if negated else 1)


def _possession(match: re.Match[str], _: datetime) -> Iterator[Found]:
    thing = _thing(match["thing"])
    yield Found(f"has {match['count']} {thing}", "possession", thing)


def _status(match: re.Match[str], _: datetime) -> Iterator[Found]:
    status = {"got married": "married", "got divorced": "divorced", "got engaged": "engaged", "broke up": "single", "in a relationship": "in a relationship"}
    word = match["status"].lower()
    word = next((value for key, value in status.items() if word.startswith(key)), word)
    yield Found(f"is {word}", "status", "single" if match.groupdict().get("no") else word, single=True) if not match.groupdict().get("no") else Found(
        f"is not {word}", "status", word, -1, single=True
    )


def _trait(match: re.Match[str], _: datetime) -> Iterator[Found]:
    what = match["what"]
    no = bool(match.groupdict().get("no"))
    yield Found(f"is {'not ' if no else ''}{what}", "trait", re.sub(r"^an? ", "", what), -1 if no else 1)


def _sign(match: re.Match[str], _: datetime) -> Iterator[Found]:
    yield Found(f"is {_article(match['sign'])}", "sign", match["sign"], single=True)


def _attribute(match: re.Match[str], _: datetime) -> Iterator[Found]:
    for value in _targets(match["value"], split=False):
        yield Found(f"has {value} as {match['what'].lower()}", match["what"].lower(), value, single=True)


def _height(match: re.Match[str], _: datetime) -> Iterator[Found]:
    yield Found(f"is {match['value']} tall", "height", match["value"], single=True)


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
        r" (?:now|since .*|for (?:the last |about |over |almost |nearly )?(?:\w+ )?(?:years?|months?|weeks?|ages).*|these days|at the moment|with (?:my|a|two|three).*|right now|currently|last \w+|this \w+|yesterday|today|recently|"
        r"(?:a|two|three|\d+) (?:\w+ )?ago|in \d{4}|because .*|again|and .*|as an? .*|anymore|any more|already|actually|lol|haha|by the way|btw|every .*|on (?:mon|tues|wednes|thurs|fri|satur|sun).*|from home|full[- ]time|part[- ]time|too|as well)$",
        "", _thing(text), flags=re.I,
    )  # fmt: skip
    return "" if not place or _NOT_A_PLACE.search(place) or len(place.split()) > 7 else place


def _thing(text: str) -> str:
    return re.sub(rf"{_END}$", "", text.strip(" \"'.,!")).strip(" \"'.,!")


def _targets(text: str, *, split: bool = True) -> list[str]:
    """The things of a list (tea, coffee and cake); pronouns and the like are left out."""
    parts = re.split(r",\s*(?:and |or )?|\s+(?:and|or)\s+", text) if split and not re.search(r"\b(?:between|both|rock and roll|mac and cheese|black and white)\b", text) else [text]
    things = [re.sub(r"^(?:eating|drinking|to eat|to drink)\s+(?=\w)", "", _thing(part), flags=re.I) for part in parts]
    return [thing for thing in things if thing and len(thing.split()) <= 8 and not _BAD_TARGET.search(thing)]


_LIKE = r"(?P<like>like|love|adore|enjoy|prefer|appreciate|cherish)"
_DISLIKE = r"(?P<dislike>hate|dislike|detest|despise|loathe|fear)"
_PERFECT = r"(?:liked|loved|adored|enjoyed)"
_NAME = r"(?P<name>[A-Z][\w-]*(?: [A-Z][\w-]*)?)"

PATTERNS: tuple[tuple[re.Pattern[str], Handler], ...] = tuple(
    (re.compile(pattern if "[A-Z]" in pattern else f"(?i:{pattern})"), handler)
    for pattern, handler in (
        (r"(?:[Mm]y|[Mm]y full|[Mm]y real|[Mm]y first) name is (?P<name>[A-Z\w][\w'-]*(?: [A-Z][\w'-]*){0,2})", _name),
        (r"(?:am called|am named|go by|(?:[Yy]ou can |[Pp]lease |[Jj]ust )?[Cc]all me|(?:[Ee]veryone|[Ee]verybody|[Pp]eople|[Mm]y friends|[Ff]riends) calls? me|changed my name to|have changed my name to) (?P<name>[A-Z][\w'-]*(?: [A-Z][\w'-]*)?)(?: now)?", _name),
        (rf"am (?P<age>{_NUMBER})(?: years old| years of age|(?= now$)|)(?: now)?", _age),
        (rf"(?:have )?(?:just )?turn(?:ed)? (?P<age>{_NUMBER})(?: years old)?(?: (?:yesterday|today|last \w+|this \w+|recently|on \w+))?", _age),
        (rf"(?:my birthday is|my birthday's|was born|my birthday falls)(?: on)?(?: the)? {_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? \d{{4}})?", _birthday),
        (rf"(?:my birthday is|my birthday's|was born|my birthday falls)(?: on)?(?: the)? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}})?", _birthday),
        (r"(?:it is |today is )?my birthday(?: is)? today|today is my birthday|it is my birthday", _birthday),
        (rf"(?P<no>do not |no longer )?live (?:in|at|near|outside|on) (?P<place>.+?){_END}", _home),
        (r"have (?:lived|been living) in (?P<place>.+)", _home),
        (r"am living in (?P<place>.+)", _home),
        (r"(?:have )?(?:just )?(?:recently )?(?:moved|relocated|settled)(?: back)?(?: house| away)? (?:to|in) (?P<place>.+)", _home),
        (r"my (?:home|house|flat|apartment|address) is (?:in|at) (?P<place>.+)", _home),
        (r"(?:am|come|am originally|originally come) from (?P<place>.+)", _hometown),
        (r"(?:was )?(?:grew up|born and raised|raised|born) in (?P<place>.+)", _hometown),
        (r"my home ?town is (?P<place>.+)", _hometown),
        (rf"am (?:half |originally )?(?P<nation>{_NATIONS})", _nation),
        (rf"(?P<no>(?:do not|no longer) )?(?:work|am working)(?: now)? as (?:an? |the )?(?P<job>[\w -]+?)(?: (?P<prep>at|for|in) (?P<place>.+?))?{_END}", _employer),
        (rf"work (?P<prep>at|for|in) (?P<place>[\w' -]+?) as (?:an? |the )?(?P<job>[\w -]+?){_END}", _employer),
        (rf"am an? (?P<age>{_NUMBER})[- ]years?[- ]old(?: [\w -]+?)?(?: (?:from|in) .*)?", _age_job),
        (rf"(?P<no>(?:do not|no longer) )?(?:work|am working|am employed|intern|have worked|have been working) (?P<prep>at|for|in) (?P<place>.+?){_END}", _employer),
        (r"(?:have )?(?:just |recently )?(?:started|joined|begun)(?: working| a (?:new )?job| work)? ?(?P<prep>at|for|in|with) (?P<place>.+)", _employer),
        (r"(?:have )?(?:got|landed|found) a (?:new )?job (?P<prep>at|with|in) (?P<place>.+)", _employer),
        (rf"am (?:a|an|the) (?P<sign>{_SIGNS})", _sign),
        (rf"am (?P<no>not )?(?P<what>{_TRAIT})(?: now)?", _trait),
        (rf"am (?P<no>not |no longer )?(?:an? |now an? |working as an? )(?!big fan|huge fan|fan)(?P<job>{_JOBS})(?: (?:at|for) (?P<place>.+?))?(?: now| by trade| by profession| anymore)?", _job),
        (rf"(?:became|have become|got a job as|started as) an? (?P<job>{_JOBS})(?: at (?P<place>.+))?", _job),
        (r"my (?:job|profession|occupation) is (?:being )?(?:an? )?(?P<job>[\w -]{3,30})", _job),
        (r"(?:study|am studying|major in|am majoring in|am doing a (?:degree|phd|masters?|master's) in)(?: (?P<major>(?!at\b|in\b)[\w &-]{3,40}?))?(?: (?:at|in) (?P<school>.+))?", _studies),
        (r"(?:go to|attend|am at|am a student at|am an? \w+ student at) (?P<school>(?:the )?[A-Z][\w ]+(?:University|College|School|Oxford|Cambridge|MIT|Harvard|Stanford|Yale)|University of [\w ]+|the University of [\w ]+)", _studies),
        (r"my major is (?P<major>.+)", _studies),
        (rf"[Mm]y (?P<pet>{PET})(?:'s name is| is called| is named) {_NAME}", _pet),
        (rf"(?:have|own|got|adopted|have got|have adopted|just got) (?:an?|one|this) (?:\w+ )?(?P<pet>{PET}),? (?:named|called) {_NAME}", _pet),
        (rf"[Hh]ave (?:two|three|four|\d+) (?:\w+ )?(?P<pets>{PET})s,? (?:named |called )?(?P<names>[A-Z]\w+(?:(?:,| and|, and) [A-Z]\w+)+)", _named_pets),
        (rf"(?:have|own|adopted|have got|have adopted) (?P<count>an?|one|two|three|four|five|\d+) (?P<kind>(?:\w+ ){{0,2}})(?P<pet>(?:{PET})s?)(?: at home)?{_END}", _pet),
        (rf"[Mm]y (?:\w+ )?(?P<who>{PERSON})(?:'s name is| is called| is named|'s called) {_NAME}", _person),
        (rf"(?:have|have got) (?:an?|one) (?:\w+ )?(?P<who>{PERSON}),? (?:named|called) {_NAME}", _person),
        (rf"(?:have|have got) (?P<count>an?|one|two|three|four|five|\d+) (?:(?:older|younger|big|little|twin) )?(?P<who>(?:{PERSON})(?:s|ren)?){_END}", _person),
        (rf"(?P<no>do not have (?:any|an?)|have no) (?P<who>(?:{PERSON})s?){_END}", _person),
        (r"[Mm]y (?:(?P<bad>least favou?rite)|(?:all[- ]time )?favou?rite) (?P<thing>[\w ]{2,24}?) (?:is|are|was always|has become|is now|became) (?:now |still |definitely |probably )?(?P<target>.+)", _favourite),
        (r"my hobb(?:y is|ies are) (?P<target>.+)", _as_said("has {} as a hobby", "likes", 1)),
        (r"my (?P<what>phone number|email|height|weight|nickname|middle name|last name|surname|mother tongue|native language|zodiac sign|star sign|blood type|dream|shoe size|pronouns|idol) (?:is|are) (?P<value>.+)", _attribute),
        (rf"am (?P<no>not )?(?:really |very |deathly |severely |terribly |a bit |slightly )*allergic to (?P<target>.+?){_END}", _allergy),
        (r"have (?:an?|a \w+) allergy to (?P<target>.+)|have an? (?P<food>\w+) allergy", lambda match, now: iter([Found(f"is allergic to {match['target'] or match['food']}", "allergy", match["target"] or match["food"])])),
        (rf"have (?P<ill>{_AILMENT}){_END}", _health),
        (r"(?:have been |was )diagnosed with (?P<ill>[\w ]{3,30})|suffer from (?P<other>[\w ]{3,30})", lambda match, now: iter([Found(f"has {match['ill'] or match['other']}", "health", match["ill"] or match["other"])])),
        (r"am lactose intolerant", lambda match, now: iter([Found("is lactose intolerant", "health", "lactose intolerance")])),
        (rf"(?!(?:do not|never|no longer|cannot|like|love|hate|am|want|have)\b)\w+ .*\b(?:{_HABIT_WHEN})|(?:usually|always|often) (?!like|love|hate|am|have|wanted)\w+ .+", _habit),
        (r"(?:have )?(?:quit|stopped|gave up|given up|am off)(?: (?P<verb>eating|drinking|liking|loving|enjoying))? (?P<target>.+?)(?: (?:last|this|two|a) .*)?", _quit),
        (rf"(?:do not|never|no longer) (?P<verb>smoke|drink|exercise){_END}", _no_habit),
        (rf"(?:(?P<no>cannot)|can) (?:really )?(?P<what>{_SKILL})", _skill),
        (r"play (?P<target>the \w+(?: \w+)?)", _as_said("plays {}", "skill", 1)),
        (r"prefer (?P<target>.+?) (?:to|over|rather than|instead of) .+", _as_said("prefers {}", "likes", 1)),
        (rf"(?:speak|am fluent in) (?P<target>.+?)(?: fluently| a little)?{_END}", _as_said("speaks {}", "skill", 1)),
        (r"(?:am|have been|started|have started) (?:learning|studying)(?: how)?(?: to)? (?P<target>.+?)(?: for .*| lately| recently)?", _as_said("is learning {}", "learning", 1)),
        (rf"(?:have|own|bought|have got|just bought|have bought) (?P<count>an?|two|three|my own) (?P<thing>(?:[\w-]+ ){{0,3}}(?:{_POSSESSION}))", _possession),
        (r"am (?P<no>not )?(?:happily |recently |newly )?(?P<status>married|single|divorced|engaged|widowed|in a relationship)(?: now| again| to .*)?", _status),
        (r"(?:have )?(?:just )?(?P<status>got married|got divorced|got engaged|broke up with my \w+)(?: (?:yesterday|last .*|this .*|today|recently|in .*))?", _status),
        (r"am (?P<value>\d(?:'|\.)\d{1,2}\"?(?: ?m| ?ft)?|\d{3} ?cm)(?: tall)?", _height),
        (r"cannot (?:really )?(?:stand|bear|take|tolerate|abide|do with|deal with) (?P<target>.+)", _as_said("cannot stand {}", "likes", -1)),
        (r"cannot (?P<verb>eat|drink) (?P<target>.+)", _consumes),
        (rf"(?:do not|never|no longer|do not ever) (?:really |ever |usually )?(?P<verb>eat|drink) (?P<target>.+?){_END}", _consumes),
        (r"do not mind (?P<target>.+)", _as_said("does not mind {}", "likes", 1)),
        (r"do not care (?:much )?for (?P<target>.+)", _as_said("does not care for {}", "likes", -1)),
        (rf"am (?:not|no longer)(?: really| exactly| much| even| at all)* (?:an?y? (?:big |huge |great )?fan of|into|fond of|keen on|interested in|crazy about|much of an?) (?P<target>.+?){_END}", _as_said("does not like {}", "likes", -1)),
        (rf"am(?: such)?(?: really| very| quite| super| totally| so| a bit| now)* (?:an? (?:big |huge |great |massive |die-hard |lifelong )?fan of|into|fond of|keen on|interested in|crazy about|mad about|obsessed with|addicted to|passionate about|a sucker for) (?P<target>.+?){_END}", _as_said("likes {}", "likes", 1)),
        (rf"am an? (?:big |huge |great |massive )?(?P<target>[\w ]+?) (?:fan|lover|enthusiast|addict|nerd){_END}", _as_said("likes {}", "likes", 1)),
        (r"am (?:really |very |so |super )?(?:scared|afraid|terrified|sick|tired) of (?P<target>.+)", _as_said("is afraid or tired of {}", "likes", -1)),
        (rf"have (?:always |long |really )*(?P<like>{_PERFECT}|fallen in love with) (?P<target>.+?){_END}", _taste),
        (rf"have (?:always |long |really )*(?P<dislike>hated|disliked) (?P<target>.+?){_END}", _taste),
        (rf"(?P<no>have never|never) (?:really )?(?P<like>{_PERFECT}) (?P<target>.+?){_END}", _taste),
        (r"(?:love|like|enjoy|prefer) (?P<target>[\w ]+?) (?:the )?(?:more|better|most|best)(?: than .*)?", _as_said("likes {}", "likes", 1)),
        (rf"{_NO}?(?:(?:really|absolutely|truly|also|still|always|totally|just|now|to) )*(?:{_LIKE}|{_DISLIKE}) (?P<target>.+?){_END}", _taste),
        (rf"am (?P<name>[A-Z][a-z]+)(?: [A-Z][a-z]+)?", lambda match, now: iter([] if re.fullmatch(rf"(?i:{_NATIONS}|{_SIGNS}|{_TRAIT})", match["name"]) else _name(match, now))),
    )
)  # fmt: skip


def facts(clause: Clause, now: datetime) -> list[Found]:
    """The facts that ``clause`` states of its subject (none of a clause that is not said in earnest)."""
    if clause.mood != "said" or clause.whose in (OTHER, UNKNOWN):
        return []
    for body in dict.fromkeys((clause.body, re.sub(r",$", "", clause.body))):
        for pattern, handler in PATTERNS:
            if (match := pattern.fullmatch(body)) and (found := list(handler(match, now))):
                return found
    return []
