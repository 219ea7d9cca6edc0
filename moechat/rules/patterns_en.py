"""English patterns: what a clause says of its subject. The first pattern that fits its body and states a fact counts.

A pattern must fit the whole body, so that nothing is made of words that it does not know. Bodies are in the first person;
the facts' texts are in the third ("lives in New York").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from moechat.rules import facts_en as state
from moechat.rules.clause import Clause
from moechat.rules.clauses_en import PERSON, PET
from moechat.rules.fact import BareFact, Patterns, first_stated, stating
from moechat.when.names import MONTHS, ONES, TENS

_MONTH = rf"(?P<month>{'|'.join(f'{month[:3]}(?:{month[3:]})?' for month in MONTHS)})\.?"
_NUMBER = rf"\d{{1,3}}|(?:{'|'.join(TENS)})(?:[- ](?:{'|'.join(ONES)}))?|{'|'.join(ONES[3:])}"
_NO = (
    r"(?P<no>(?:do not|never|no longer|have never|do not really|do not particularly|really do not|do "
    r"not even) (?:really |particularly |even |much |quite |ever |actually |also )?)"
)
_TRAIT = (
    r"(?:strict |lifelong )?(?:vegan|vegetarian|pescatarian)|left-handed|right-handed|an? (?:only child|introvert|"
    r"extrovert|ambivert|night owl|early bird|morning person|twin|christian|muslim|buddhist|jew|atheist|smoker|"
    r"non-smoker|"
    r"cat person|dog person|procrastinator|homebody|gamer|bookworm|vegan|vegetarian|pescatarian|perfectionist)|"
    r"colou?r[- ]?blind|(?:an? )?[IE][NS][TF][JP]|introverted|extroverted|dyslexic|religious|jewish|muslim|christian|"
    r"buddhist|gay|lesbian|bisexual|trans|non-binary"
)
_NATIONS = (
    "american|british|english|scottish|irish|welsh|french|german|italian|spanish|portuguese|dutch|belgian|swiss|"
    "austrian|polish|czech|hungarian|romanian|greek|turkish|russian|ukrainian|swedish|norwegian|danish|finnish|"
    "chinese|japanese|korean|taiwanese|vietnamese|thai|indian|pakistani|indonesian|malaysian|filipino|singaporean|"
    "australian|canadian|mexican|brazilian|argentinian|chilean|colombian|egyptian|nigerian|kenyan|south african|"
    "moroccan|israeli|iranian|saudi"
)
_SIGNS = "aries|taurus|gemini|cancer|leo|virgo|libra|scorpio|sagittarius|capricorn|aquarius|pisces"
_SKILL = (
    r"(?:play|speak|swim|drive|cook|dance|sing|draw|paint|code|program|ski|skate|snowboard|surf|ride|juggle|knit|sew|"
    r"bake|whistle|type|read|write|do|fly)\b(?! it| this| that| you| so| now| for you).{0,40}"
)
_AILMENT = (
    r"(?:a (?:bad |weak )?)?(?:asthma|diabetes|(?:type [12] )?diabetes|migraines?|insomnia|adhd|autism|depression|"
    r"anxiety|arthritis|eczema|epilepsy|celiac disease|hay fever|high blood pressure|low blood pressure|back (?:pain|"
    r"problems)|heart condition|bad knees?|bad back|anemia|tinnitus|ibs|ptsd|ocd|\w+itis|\w+ disease|dyslexia|"
    r"scoliosis)"
)
_HABIT_WHEN = (
    r"every (?:single )?(?:day|morning|evening|night|week|weekend|month|summer|winter|year|\w+day|other day)|on "
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days|on weekends|(?:once|twice|three times) a (?:day|week|month)|before "
    r"(?:bed|work|sleep)|most (?:days|mornings|evenings)|daily"
)
_POSSESSION = (
    r"car|bike|bicycle|motorbike|motorcycle|scooter|house|flat|apartment|cottage|boat|guitar|piano|violin|ukulele|"
    r"drums?|camera|laptop|computer|pc|phone|tablet|console|telescope|skateboard|drone|van|truck|tent|shop|"
    r"restaurant|cafe|farm|garden|watch|ring|record player|keyboard|cello|flute"
)
_LIKE = r"(?P<like>like|love|adore|enjoy|prefer|cherish)"
_DISLIKE = r"(?P<dislike>hate|dislike|detest|despise|loathe|fear)"
_PERFECT = r"(?:liked|loved|adored|enjoyed)"
_NAME = r"(?P<name>[A-Z][\w-]*(?: [A-Z][\w-]*)?)"
_NO_NAME = re.compile(rf"{_NATIONS}|{_SIGNS}|{_TRAIT}", re.I)


def _only_a_name(match: re.Match[str], now: datetime) -> Iterator[BareFact]:
    """ "I'm Anna", but not "I'm German"."""
    if not _NO_NAME.fullmatch(match["name"]):
        yield from state.name(match, now)


PATTERNS: Patterns = tuple(
    (re.compile(pattern if "[A-Z]" in pattern else f"(?i:{pattern})"), handler)
    for pattern, handler in (
        (r"(?:[Mm]y|[Mm]y full|[Mm]y real|[Mm]y first) name is (?P<name>[A-Z\w][\w'-]*(?: [A-Z][\w'-]*){0,2})",
        state.name),
        (r"(?:am called|am named|go by|(?:[Yy]ou can |[Pp]lease |[Jj]ust )?[Cc]all me|(?:[Ee]veryone|[Ee]verybody|"
         r"[Pp]eople|[Mm]y friends|[Ff]riends) calls? me|changed my name to|have changed my name to) "
         r"(?P<name>[A-Z][\w'-]*(?: [A-Z][\w'-]*)?)(?: now)?", state.name),
        (rf"am (?P<age>{_NUMBER})(?: years old| years of age|(?= now$)|)(?: now)?", state.age),
        (rf"(?:have )?(?:just )?turn(?:ed)? (?P<age>{_NUMBER})(?: years old)?(?: (?:yesterday|today|last \w+|this "
         rf"\w+|recently|on \w+))?", state.age),
        (rf"(?:my birthday is|my birthday's|was born|my birthday falls)(?: on)?(?: the)? {_MONTH} "
         rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? \d{{4}})?", state.birthday),
        (rf"(?:my birthday is|my birthday's|was born|my birthday falls)(?: on)?(?: the)? (?P<day>\d{{1,2}})(?:st|nd|"
         rf"rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}})?", state.birthday),
        (r"(?:it is |today is )?my birthday(?: is)? today|today is my birthday|it is my birthday", state.birthday),
        (rf"(?P<no>do not |no longer )?live (?:in|at|near|outside|on) (?P<place>.+?){state.END}", state.home),
        (r"have (?:lived|been living) in (?P<place>.+)", state.home),
        (r"am living in (?P<place>.+)", state.home),
        (r"(?:have )?(?:just )?(?:recently )?(?:moved|relocated|settled)(?: back)?(?: house| away)?(?: from .+?)? (?:to|in) "
         r"(?P<place>.+)", state.home),
        (r"my (?:home|house|flat|apartment|address) is (?:in|at) (?P<place>.+)", state.home),
        (r"(?:am|come|am originally|originally come) from (?P<place>.+)", state.hometown),
        (r"(?:was )?(?:grew up|born and raised|raised|born) in (?P<place>.+)", state.hometown),
        (r"my home ?town is (?P<place>.+)", state.hometown),
        (rf"am (?:half |originally )?(?P<nation>{_NATIONS})", state.nation),
        (rf"(?P<no>(?:do not|no longer) )?(?:work|am working)(?: now)? as (?:an? |the )?(?P<job>[\w -]+?)(?: "
         rf"(?P<prep>at|for|in) (?P<place>.+?))?{state.END}", state.employer),
        (rf"work (?P<prep>at|for|in) (?P<place>[\w' -]+?) as (?:an? |the )?(?P<job>[\w -]+?){state.END}",
        state.employer),
        (rf"am an? (?P<age>{_NUMBER})[- ]years?[- ]old(?: [\w -]+?)?(?: (?:from|in) .*)?", state.age_job),
        (rf"(?P<no>(?:do not|no longer) )?(?:work|am working|am employed|intern|have worked|have been working) "
         rf"(?P<prep>at|for|in) (?P<place>.+?){state.END}", state.employer),
        (r"(?:have )?(?:just |recently )?(?:started|joined|begun)(?: working| a (?:new )?job| work)? ?(?P<prep>at|"
         r"for|in|with) (?P<place>.+)", state.employer),
        (r"(?:have )?(?:got|landed|found) a (?:new )?job (?P<prep>at|with|in) (?P<place>.+)", state.employer),
        (r"am an? (?:\w+ )?student (?:at|of) (?P<school>.+)", state.studies),
        (rf"am (?:a|an|the) (?P<sign>{_SIGNS})", state.sign),
        (rf"am (?P<no>not )?(?P<what>{_TRAIT}){state.END}", state.trait),
        (rf"am (?P<no>not |no longer )?(?:an? |now an? |working as an? )(?!big fan|huge fan|"
         rf"fan)(?P<job>{state.JOBS})(?: (?:at|for) (?P<place>.+?))?(?: now| by trade| by profession| anymore)?",
        state.job),
        (rf"(?:became|have become|got a job as|started as) an? (?P<job>{state.JOBS})(?: at (?P<place>.+))?", state.job),
        (r"my (?:job|profession|occupation) is (?:being )?(?:an? )?(?P<job>[\w -]{3,30})", state.job),
        (r"(?:study|am studying|major in|am majoring in|am doing a (?:degree|phd|masters?|master's) in)(?: "
         r"(?P<major>(?!at\b|in\b)[\w &-]{3,40}?))?(?: (?:at|in) (?P<school>.+))?", state.studies),
        (r"(?:go to|attend|am at|am a student at|am an? \w+ student at) (?P<school>(?:the )?[A-Z][\w ]+(?:University|"
         r"College|School|Oxford|Cambridge|MIT|Harvard|Stanford|Yale)|University of [\w ]+|the University of [\w ]+)",
        state.studies),
        (r"my major is (?P<major>.+)", state.studies),
        (rf"[Mm]y (?P<pet>{PET})(?:'s name is| is called| is named) {_NAME}", state.pet),
        (rf"(?:have|own|got|adopted|have got|have adopted|just got) (?:an?|one|this) (?:\w+ )?(?P<pet>{PET}),? "
         rf"(?:named|called) {_NAME}(?: and .+)?", state.pet),
        (rf"[Hh]ave (?:two|three|four|\d+) (?:\w+ )?(?P<pets>{PET})s,? (?:named |called )?(?P<names>[A-Z]\w+(?:(?:,| "
         rf"and|, and) [A-Z]\w+)+)", state.named_pets),
        (rf"(?:have|own|adopted|have got|have adopted) (?P<count>an?|one|two|three|four|five|\d+) (?P<kind>(?:\w+ "
         rf"){{0,2}})(?P<pet>(?:{PET})s?)(?: at home)?{state.END}", state.pet),
        (rf"[Mm]y (?:\w+ )?(?P<who>{PERSON})(?:'s name is| is called| is named|'s called) {_NAME}", state.person),
        (rf"(?:have|have got) (?:an?|one) (?:\w+ )?(?P<who>{PERSON}),? (?:named|called) {_NAME}", state.person),
        (rf"(?:have|have got) (?P<count>an?|one|two|three|four|five|\d+) (?:(?:older|younger|big|little|twin) "
         rf")?(?P<who>(?:{PERSON})(?:s|ren)?){state.END}", state.person),
        (rf"(?P<no>do not have (?:any|an?)|have no) (?P<who>(?:{PERSON})s?){state.END}", state.person),
        (r"[Mm]y (?:(?P<bad>least favou?rite)|(?:new |all[- ]time |absolute )?favou?rite) (?P<thing>(?!part|thing|one|bit|moment|"
         r"memory|way)[\w-]+(?: [\w-]+)?) (?:is|are|was always|has become|is now|became) (?:now |still |definitely |"
         r"probably )?(?P<target>.+)", state.favourite),
        (r"my hobb(?:y is|ies are) (?P<target>.+)", state.each("has {} as a hobby", "likes", 1)),
        (r"my (?P<what>phone number|email|height|weight|nickname|middle name|last name|surname|mother tongue|native "
         r"language|zodiac sign|star sign|blood type|dream|shoe size|pronouns|idol) (?:is|are) (?P<value>.+)",
        state.attribute),
        (rf"am (?P<no>not )?(?:really |very |deathly |severely |terribly |a bit |slightly )*allergic to "
         rf"(?P<target>.+?){state.END}", state.allergy),
        (r"have (?:an?|a \w+) allergy to (?P<target>.+)|have an? (?P<food>\w+) allergy",
        stating("is allergic to {target}{food}", "allergy", "{target}{food}")),
        (rf"have (?P<ill>{_AILMENT}){state.END}", state.health),
        (r"(?:have been |was )diagnosed with (?P<ill>[\w ]{3,30})|suffer from (?P<other>[\w ]{3,30})",
        stating("has {ill}{other}", "health", "{ill}{other}")),
        (r"am lactose intolerant", stating("is lactose intolerant", "health", "lactose intolerance")),
        (rf"(?!(?:do not|never|no longer|cannot|like|love|hate|am|want|have)\b)\w+ .*\b(?:{_HABIT_WHEN})|often "
         rf"(?!like|love|hate|am|have|feel|wonder|think|wanted)\w+ .+", state.habit),
        (r"(?:have )?(?:quit|stopped|gave up|given up)(?: (?P<verb>eating|drinking|liking|loving|enjoying))? "
         r"(?P<target>.+?)(?: (?:last|this|two|a) .*)?", state.given_up),
        (rf"(?:do not|never|no longer) (?P<verb>smoke|drink|exercise){state.END}", state.no_habit),
        (rf"(?:(?P<no>cannot)|can) (?:really )?(?P<what>{_SKILL})", state.skill),
        (r"play the (?P<target>\w+(?: \w+)?)", state.each("plays the {}", "skill", 1)),
        (r"prefer (?P<target>.+?) (?:to|over|rather than|instead of) .+", state.each("prefers {}", "likes", 1)),
        (rf"(?:speak|am fluent in) (?P<target>.+?)(?: fluently| a little)?{state.END}",
        state.each("speaks {}", "skill", 1)),
        (r"(?:am|have been|started|have started) (?:learning|studying) (?:how )?(?P<to>to )?(?P<what>.+?)(?: for .*| "
         r"lately| recently)?", state.learning),
        (rf"(?:have|own|bought|have got|just bought|have bought) (?P<count>an?|two|three|my own) (?P<thing>(?:[\w-]+ "
         rf"){{0,3}}(?:{_POSSESSION}))", state.possession),
        (r"am (?P<no>not )?(?:happily |recently |newly )?(?P<status>married|single|divorced|engaged|widowed|in a "
         r"relationship)(?: now| again| to .*)?", state.status),
        (r"(?:have )?(?:just )?(?P<status>got married|got divorced|got engaged|broke up with my \w+)(?: (?:yesterday|"
         r"last .*|this .*|today|recently|in .*))?", state.status),
        (r"am (?P<value>\d(?:'|\.)\d{1,2}\"?(?: ?m| ?ft)?|\d{3} ?cm)(?: tall)?", state.height),
        (r"cannot (?:really )?(?:stand|bear|take|tolerate|abide|do with|deal with) (?P<target>.+)",
        state.each("cannot stand {}", "likes", -1)),
        (r"cannot (?P<verb>eat|drink) (?P<target>.+)", state.consumes),
        (rf"(?:do not|never|no longer|do not ever) (?:really |ever |usually )?(?P<verb>eat|drink) "
         rf"(?P<target>.+?){state.END}", state.consumes),
        (r"(?:have )?(?:started|begun|begun to|started to|come to|grown to) (?:liking|loving|enjoying|like|love|"
         r"enjoy) (?P<target>.+)", state.each("likes {}", "likes", 1)),
        (r"do not mind (?P<target>.+)", state.each("does not mind {}", "likes", 1)),
        (r"do not care (?:much )?for (?P<target>.+)", state.each("does not care for {}", "likes", -1)),
        (rf"am (?:not|no longer)(?: really| exactly| much| even| at all)* (?:an?y? (?:big |huge |great )?fan of|into|"
         rf"fond of|keen on|interested in|crazy about|much of an?) (?P<target>.+?){state.END}",
        state.each("does not like {}", "likes", -1)),
        (rf"am(?: such)?(?: really| very| quite| super| totally| so| a bit| now)* (?:an? (?:big |huge |great |"
         rf"massive |die-hard |lifelong )?fan of|into|fond of|keen on|interested in|crazy about|mad about|obsessed "
         rf"with|addicted to|passionate about|a sucker for) (?P<target>.+?){state.END}",
        state.each("likes {}", "likes", 1)),
        (rf"am an? (?:big |huge |great |massive |total |real |true |such a )*(?P<target>(?!big|huge|great|massive|"
         rf"total)[\w ]+?) (?:fan|lover|enthusiast|addict|nerd){state.END}", state.each("likes {}", "likes", 1)),
        (r"am (?:really |very |so |super )?(?:scared|afraid|terrified) of (?P<target>.+)",
        state.each("is afraid of {}", "likes", -1)),
        (r"am (?:really |very |so )?(?:sick|tired) of (?P<target>.+)", state.each("is tired of {}", "likes", -1)),
        (rf"have (?:always |long |really )*(?P<like>{_PERFECT}|fallen in love with) (?P<target>.+?){state.END}",
        state.taste),
        (rf"have (?:always |long |really )*(?P<dislike>hated|disliked) (?P<target>.+?){state.END}", state.taste),
        (rf"(?P<no>have never|never) (?:really )?(?P<like>{_PERFECT}) (?P<target>.+?){state.END}", state.taste),
        (r"(?:love|like|enjoy|prefer) (?P<target>[\w ]+?) (?:the )?(?:more|better|most|best)(?: than .*)?",
        state.each("likes {}", "likes", 1)),
        (rf"{_NO}?(?:(?:really|absolutely|truly|also|still|always|totally|just|now|to) )*(?:{_LIKE}|{_DISLIKE}) "
         rf"(?P<target>.+?){state.END}", state.taste),
        (r"am (?P<name>[A-Z][a-z]+)(?: [A-Z][a-z]+)?(?:, an? .+)?",
        _only_a_name),
    )
)  # fmt: skip


def facts(clause: Clause, now: datetime) -> list[BareFact]:
    """The facts that ``clause`` states of its subject (none of a clause that is not said in earnest)."""
    if not clause.states_facts:
        return []
    return first_stated(PATTERNS, dict.fromkeys((clause.body, re.sub(r",$", "", clause.body))), now)
