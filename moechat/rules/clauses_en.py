"""English messages read clause by clause: whose a clause is, and whether it is said in earnest.

A body is brought to the first person present ("likes" → "like"), so that one set of patterns reads "I like" and "my mother
likes". A clause in doubt does not count as said in earnest.
"""

from __future__ import annotations

import re

from moechat.rules.clause import OTHER, UNKNOWN, USER, Clause, Mood, jokes_taken_back, meant, readable, without_speech

FAMILY = (
    "mother|father|mom|mum|mama|dad|papa|parents|sister|brother|twin sister|twin brother|twin|son|daughter|kid|kids|"
    "child|children|baby|grandmother|grandfather|"
    "grandma|grandpa|granny|nana|aunt|uncle|cousin|niece|nephew|stepmother|stepfather|stepsister|stepbrother|"
    "siblings?|in-laws|mother-in-law|father-in-law|"
    "older sister|younger sister|older brother|younger brother|big sister|little sister|big brother|little brother|"
    "sisters|brothers"
)
PARTNER = "wife|husband|girlfriend|boyfriend|partner|fiancee|fiance|fiancée|fiancé|spouse"
FRIEND = (
    "best friend|friend|friends|buddy|mate|roommate|flatmate|housemate|classmate|colleague|coworker|co-worker|boss|"
    "manager|teacher|neighbou?r|landlord|"
    "landlady|ex-girlfriend|ex-boyfriend|ex|mentor|professor|supervisor|bestie|team ?mate"
)
PET = (
    "cat|kitten|dog|puppy|rabbit|bunny|hamster|parrot|bird|turtle|tortoise|goldfish|fish|horse|pony|guinea pig|gecko|"
    "lizard|snake|ferret|corgi|poodle|pet|rat|mouse|budgie|labrador|husky|golden retriever|retriever|spaniel|terrier|"
    "beagle|shiba inu|shiba|chihuahua|pug|bulldog|dachshund"
)
PERSON = rf"{FAMILY}|{PARTNER}|{FRIEND}"

_CONTRACTIONS = (
    (r"[’`]", "'"), (r"\b([Nn]ame|[Bb]irthday)'s(?= )", r"\1 is"), (r"\b[Ii]'?m\b", "I am"),
    (r"\b[Ii]'?ve\b", "I have"), (r"\b[Ii]'d\b", "I would"), (r"\b[Ii]'ll\b", "I will"),
    (r"\bcan'?t\b|\bcan not\b", "cannot"), (r"\bwon't\b", "will not"), (
        r"\b(do|does|did|is|are|was|were|have|has|had|would|should|could)n'?t\b", r"\1 not"),
    (r"\b(he|she|they|you|we|it|He|She|They|You|We|It)'(?:s|re)\b",
    r"\1 is"), (r"\bi\b(?!')", "I"), (r"\bgonna\b", "going to"), (r"\bwanna\b", "want to"),
    (r"\bcould not (like|love|enjoy|hate|adore) (.{1,40}?) (?:any )?more\b", r"\1 \2"), (
        r"\b[Tt]here is nothing I (like|love|enjoy|hate|adore) (?:any )?more than\b", r"I \1"),
)  # fmt: skip
_ROLE = re.compile(
    r"[(\[*][^)\]*]{0,200}(?:pretend|plays? |playing|acts? as|acting as|role ?-?play|in "
    r"character)[^)\]*]{0,200}[)\]*]|^(?:role ?-?play|let's role ?-?play)",
    re.I,
)
_MAKE_BELIEVE = re.compile(
    r"^in (?:the|my|a|this) (?:story|novel|game|book|film|movie|play|song|dream)\b|^my (?:\w+ )?(?:character|avatar|"
    r"hero|persona)\b",
    re.I,
)
_ASIDE = re.compile(r"\*[^*\n]{1,60}\*|\([^)\n]{1,60}\)|\[[^\]\n]{1,60}\]")
_QUOTE = re.compile(r"\"([^\"\n]*)\"|“([^”\n]*)”|(?<!\w)['‘]([^'’\n]{2,})['’](?!\w)")
_SENTENCE = re.compile(r"(?:[^.!?;\n]|(?<=\bSt)\.|(?<=\bDr)\.|(?<=\bMr)\.|(?<=\bMrs)\.|(?<=\bMs)\.|\.(?=\w))+[.!?;\n]*")
_VERB = (
    r"(?:really |also |just |now |do not |don't |cannot |can't |can |never |always |am |have |still |absolutely "
    r")*(?:like|love|hate|dislike|adore|enjoy|live|work|study|have|own|am|moved|eat|drink|speak|play|"
    r"stand|prefer|went|bought|got|ate|saw|met|do|can)"
)
_CUT = re.compile(
    rf"\s*[,:]\s+(?:and |but |so |or )?|\s+but\s+|\s+(?:although|though|however|whereas|while|because|since|so|"
    rf"yet)\s+(?=I\b|my\b|he\b|she\b|they\b)|\s+and\s+(?=(?:I|my|we|he|she|they|you|it|our|his|her|their)\b|"
    rf"{_VERB}\b)|\s*-+\s+|\s*[—–]\s*",
    re.I,
)
_LEAD = re.compile(
    r"^(?:(?:oh|well|ah|um+|uh|hey|hi|hello|so|and|but|also|actually|honestly|anyway|btw|by the way|fun fact|yes|"
    r"yeah|yep|no|nope|nah|ok|okay|haha|lol|look|listen|you know|you see|to be honest|tbh|"
    r"in fact|frankly|truth is|the truth is|because|since|though|although|even though|then|too|first|besides|plus|"
    r"personally|remember|please remember|remember that|please note|just so you know|for the record|"
    r"as you know|as I said|like I said|as I told you|I (?:must|have to) (?:say|admit)|I think(?= I\b| my\b)|I "
    r"guess(?= my\b)|I (?:found out|realized|realised|discovered)(?: that)?(?= I\b)|let me tell you|if you ask me|if "
    r"I am honest|"
    r"did you know|nice to meet you|good morning|good evening|these days|nowadays|right now|at the moment|currently|"
    r"now|lately|recently|today|yesterday|last \w+|this \w+|since \w+)\b|[,:\s]+)+",
    re.I,
)
_ADVERB = re.compile(
    r"^(?:really|also|just|actually|still|always|usually|absolutely|totally|kinda|kind of|sort of|honestly|now|"
    r"currently|personally|truly|definitely|simply|quite|certainly|already|finally|recently|"
    r"particularly|especially|genuinely|deeply|so|only|even|then|both|do(?= (?:like|love|hate|enjoy|have|live|"
    r"work)))\s+",
    re.I,
)
_IF = re.compile(
    r"\bif\b(?! you ask me| I am honest)|\bsuppos(?:e|ing)\b|\bimagin(?:e|ing)\b|\bunless\b|\blet'?s say\b|"
    r"\bpretend\b|\bassuming\b|\bin case\b|\bhypothetical|\bsay I\b(?<=^say I)|\bwhat if\b|\bwere I\b|\bin another "
    r"life\b",
    re.I,
)
_ASKS = re.compile(
    r"^(?:do|does|did|is|are|am|was|were|what(?:'s|s)?|where(?:'s)?|who(?:'s)?|whose|why|how|when(?= (?:do|did|is|"
    r"was|am|are))|which|can(?= (?:I|you|we|he|she))|could|would|should|shall|has|have(?= (?:I|you|we))|will|tell me "
    r"(?:what|where|who|if|whether)|guess|any idea)\b",
    re.I,
)
_TAG = re.compile(
    r"^(?:right|is it not|do not I|do I|am I|no|yes|correct|remember|you think|or not|or what|huh|eh)$", re.I
)
_UNSURE = re.compile(
    r"\bmaybe\b|\bperhaps\b|\bprobably\b|\bpossibly\b|\bI (?:do not|never) (?:think|know|remember|recall|believe|"
    r"said|say|told|claimed|suppose)\b|\bnever (?:said|told|claimed)\b|\bnot sure\b|\bI (?:am not saying|cannot say|"
    r"thought)\b|\bI guess\b|\bI wonder\b|"
    r"\bapparently\b|\bsupposedly\b|\bI (?:forgot|doubt)\b|\bsomeone said\b|"
    r"\b(?:it is |it's |that is |that's )?not (?:that|like) I\b|\b(?:might|(?-i:may)|could|should|must|would)\b(?! "
    r"have to say)|\bnot that I\b|\bas if I\b|\bkind of\b(?= a)|\balmost\b|\bnearly\b",
    re.I,
)
_JOKE = re.compile(
    r"\bkidding\b|\bjk\b|\bjoking\b|(?:^|\s)/s(?:$|\s)|\byeah,? right\b|\boh sure\b|\bapril fools?\b|\bsarcas\w+|"
    r"\bpulling your leg\b|\bmessing with you\b|\bjust messing\b|\bnot really lol\b|\bas if$|\bgotcha\b|\bi lied\b|"
    r"\bnot true\b|\bmade that up\b|\bsaid (?:no one|nobody)\b|\bironic\w*|🙄|\b(?:\.\.\.)?\s?not$",
    re.I,
)
_ANNOUNCED = re.compile(r"(?:here's )?a joke|joke|april fools|yeah,? right|oh sure|sarcasm|irony", re.I)
_EARNEST = re.compile(
    r"\b(?:not|no|stop|is not|am not|never)\s+(?:even )?(?:kidding|joking|jk|joke)\b|\bno joke\b", re.I
)
_PAST = re.compile(
    r"\bused to\b|\bonce\b|\bback then\b|\bin the past\b|\bwhen I was\b|\bas a (?:kid|child|teenager|teen|boy|girl|"
    r"student)\b|\bformerly\b|\bpreviously\b|\bin my (?:youth|childhood|twenties|teens)\b|\byears ago\b|\bback in\b|"
    r"\bat the time\b|\bin those days\b|\bgrowing up\b(?!.*\bstill\b)|\bin a past life\b",
    re.I,
)
_WISH = re.compile(
    r"^(?:(?:really|just|also|still|always|so|do|have|kind of|very|much)\s+)*(?:(?:do not )?want(?:ed)? to|want|wish|hope|hoping|"
    r"dream of|dreamed|dreamt|am dreaming|would (?:like|love|rather|prefer|hate|kill)|"
    r"am (?:hoping|thinking (?:of|about)|considering|dreaming)|need to|need|long to|cannot wait|look forward|am "
    r"looking forward|feel like|wanted|think about|am tempted)\b",
    re.I,
)
_PLAN = re.compile(
    r"^(?:(?:really|just|also|still|probably)\s+)*(?:am going to|am (?:planning|about|turning|moving|starting|"
    r"getting|leaving|flying|meeting|visiting|having|seeing|trying)\b|will\b|plan\b|intend|shall\b|decided to|have "
    r"decided to|promised?|have promised|have to|am supposed to|agreed to)",
    re.I,
)
_FUTURE = re.compile(
    r"\btomorrow\b|\bnext (?:week|month|year|summer|winter|spring|autumn|fall|mon|tues|wednes|thurs|"
    r"fri|satur|sun|semester|term|time)|\bsomeday\b|\bsome day\b|\bone day\b|\bsoon\b|\bin the "
    r"future\b|\btonight\b|\bthis (?:weekend|evening)\b|\bin (?:a|two|three|\d+) (?:weeks?|days?|"
    r"months?|years?|hours?)\b",
    re.I,
)
_PAST_VERB = re.compile(r"(?:did not|was(?! born| raised)|were|lived|worked|studied|liked|loved|hated|enjoyed)\b", re.I)
_OF_OTHERS = re.compile(
    r"^(?:\w+ )?I (?:know|think|thought|believe|see|hear|heard|bet|guess|suppose|knew|figured) (?:that )?"
    r"(?:you|he|she|they|it|my|our|the|[A-Z][a-z]+)\b|^I (?:told|tell) (?!you)\w+\b"
)
_NOW = re.compile(r"\bnow\b|\bthese days\b|\bcurrently\b|\bnowadays\b|\bstill\b", re.I)
_MINE = re.compile(
    rf"^my (?:own |dear |lovely |old |new )?({PERSON}|{PET})(?: ((?-i:[A-Z])\w+))?\b(?!'s)(?: also| "
    rf"really| just| always| still)*\s+(?!name)",
    re.I,
)
_USER = re.compile(r"^(?:I|we)\b(?:'s)?\s*", re.I)
_OTHER = re.compile(
    r"^(?:you|he|she|they|it|that|this|there|these|those|people|everyone|everybody|someone|somebody|nobody|who|"
    r"(?:the|a|an|our|his|her|their|your)\b|[A-Z][a-z]+(?:'s)? (?!am\b)|my\b)",
    re.I,
)
_BARE = re.compile(
    rf"^(?:{_VERB}|allergic|born|from|named|called|call me|went|had|bought|ate|saw|met|got|visited|"
    rf"watched|finished|lost|can|cannot|never|not|no longer|quit|stopped|gave up|started|moved|\d+ "
    rf"years old|not a|big fan|huge fan|single|married|currently|going to|planning)\b",
    re.I,
)
_THIRD = {
    "does not": "do not", "is": "am", "are": "am", "has": "have", "does": "do", "goes": "go",
    "teaches": "teach", "studies": "study",
    **{
        f"{verb}s": verb
        for verb in "like love hate live work own enjoy adore dislike prefer eat drink play speak come fear collect run".split()
    },
}  # fmt: skip


def plain(text: str) -> str:
    """Contractions and typographic apostrophes written out."""
    for pattern, instead in _CONTRACTIONS:
        text = re.sub(pattern, instead, text)
    return text


def read(message: str) -> list[Clause]:
    """The clauses of ``message``, in order."""
    text = readable(message)
    role = bool(_ROLE.search(text))
    text = _QUOTE.sub(without_speech(_is_speech), text.replace("’", "'"))
    text = plain(_ASIDE.sub(" ", text))
    clauses: list[Clause] = []
    for sentence in _SENTENCE.finditer(text):
        clauses.extend(_sentence(sentence.group().strip(), sentence.start()))
    return [meant(clause, "role") for clause in clauses] if role else jokes_taken_back(clauses, _ANNOUNCED)


def _is_speech(quoted: str) -> bool:
    return len(quoted.split()) > 4 or re.search(r"\b(?:I|I'm|my|me|your?)\b", quoted) is not None


def _sentence(sentence: str, start: int) -> list[Clause]:
    is_question = "?" in sentence
    scripted = re.match(r"^(?!I\b|PS\b|Note\b|Fact\b)[A-Z]\w+(?: [A-Z]\w+)?: ", sentence)  # "Tom: I hate cilantro"
    clauses: list[Clause] = []
    mood: Mood = "said"
    whose = UNKNOWN  # a sentence without a subject ("Love the photo!") is nobody's
    parts = _parts(sentence)
    for number, (at, part) in enumerate(parts):
        last = number == len(parts) - 1
        clause, explicit = _clause(part, whose)
        own: Mood = "hearsay" if scripted else _mood(part, clause, is_question and last)
        if own == "said" and mood not in ("said", "joke"):
            carried = mood in ("hypothetical", "role") or (not explicit and not _NOW.search(part))
            own = mood if carried else own
        if _TAG.match(part) and is_question and clauses:
            clauses[-1] = meant(clauses[-1], "question")
        mood, whose = own, clause.whose
        clauses.append(Clause(part, clause.body, clause.whose, own, start + at, clause.lead))
    return clauses


def _parts(sentence: str) -> list[tuple[int, str]]:
    """Clauses of a sentence; a list (tea, coffee and cake) stays in one."""
    parts: list[tuple[int, str]] = []
    start = 0
    for cut in [*_CUT.finditer(sentence), None]:
        end = cut.start() if cut else len(sentence)
        part = sentence[start:end].strip(" .!?;,:\n")
        if part and parts and _is_list_item(part, sentence[:start]):
            at, earlier = parts[-1]
            parts[-1] = (at, f"{earlier}, {part}")
        elif part:
            parts.append((start, part))
        start = cut.end() if cut else end
        if (
            cut
            and "," in cut.group()
            and not re.search(r"and|but|so|or", cut.group())
            and sentence[start:].lower().startswith("like ")
        ):
            break  # ", like my bowl" is an example, not a verb
    return parts


def _is_list_item(part: str, before: str) -> bool:
    if not before.rstrip().endswith((",", ", and")) or len(part.split()) > 5 or part[0].isdigit():
        return False
    has_subject = re.search(r"\b(?:I|my|he|she|they|we|you|it|is|am|are|kidding|right|jk)\b", part)
    return not (has_subject or _BARE.match(part) or _TAG.match(part) or _LEAD.match(part))


def _clause(part: str, inherited: str) -> tuple[Clause, bool]:
    """Subject and body of a clause, and whether its subject is spoken."""
    lead = _LEAD.match(part)
    text = part[lead.end() :] if lead else part
    prefix = part[: lead.end()] if lead else ""
    if not text:
        return Clause(part, part, UNKNOWN, "said"), False
    if user := _USER.match(text):
        return Clause(part, _bare(text[user.end() :]), "user", "said", lead=prefix), True
    if mine := _MINE.match(text):
        rest = text[mine.end() :]
        if not re.match(r"(?:is|are|am) (?:called|named)\b|name\b", rest):
            whose = mine[2] or mine[1].lower()
            return Clause(part, _bare(_first_person(rest)), whose, "said", lead=prefix), True
        return Clause(part, text, "user", "said", lead=prefix), True
    if re.match(rf"my (?:\w+ )?(?:{PERSON})'s (?!name)", text, re.I):
        return Clause(part, text, OTHER, "said", lead=prefix), True
    if re.match(
        r"my\b|call me\b|people call me\b|everyone calls me\b|everybody calls me\b|friends call me\b|you can "
        r"call me\b",
        text,
        re.I,
    ):
        return Clause(part, text, "user", "said", lead=prefix), True
    if topic := re.match(r"^([\w' -]{2,30}?),? (?:is|are) (my favou?rite [\w ]+|my \w+'s name)$", text, re.I):
        return Clause(part, f"{topic[2]} is {topic[1]}", "user", "said", lead=prefix), True
    if _BARE.match(text):
        return Clause(part, _bare(text), inherited, "said", lead=prefix), False
    other = bool(_OTHER.match(text))
    return Clause(part, text, OTHER if other else UNKNOWN, "said", lead=prefix), other


def _first_person(body: str) -> str:
    for third, first in _THIRD.items():
        if re.match(rf"{third}\b", body, re.I):
            return first + body[len(third) :]
    return body


def _bare(body: str) -> str:
    while (shorter := _ADVERB.sub("", body, count=1)) != body:
        body = shorter
    return body


def _mood(part: str, clause: Clause, is_question: bool) -> Mood:
    if _JOKE.search(part) and not _EARNEST.search(part):
        return "joke"
    if _MAKE_BELIEVE.search(part):
        return "role"
    if _IF.search(part):
        return "hypothetical"
    if is_question or _ASKS.match(part) or (clause.lead and _ASKS.match(part[len(clause.lead) :])):
        return "question"
    if _OF_OTHERS.match(part):
        return "hearsay"
    if clause.whose == USER and _PAST_VERB.match(clause.body):
        return "past"
    if clause.whose and _WISH.match(clause.body):
        return "wish"
    if clause.whose and _PLAN.match(clause.body):
        return "plan"
    if _UNSURE.search(part):
        return "uncertain"
    if _PAST.search(part):
        return "past"
    if _FUTURE.search(part):
        return "plan"
    return "said"
