"""What an English clause says of its subject: patterns over the clause's body, first come first served.

A pattern must fit the whole body, so that whatever it does not know stays untold. Bodies are in the first person; texts
come out in the third ("lives in New York").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from moechat.rules import findings_en as found
from moechat.rules.clause import OTHER, UNKNOWN, Clause, Found
from moechat.rules.clauses_en import PERSON, PET

_MONTH = rf"(?P<month>{'|'.join(f'{month[:3]}(?:{month[3:]})?' for month in found.MONTHS)})\.?"
_NUMBER = rf"\d{{1,3}}|(?:{'|'.join(found.TENS)})(?:[- ](?:{'|'.join(found.ONES)}))?|{'|'.join(found.ONES[3:])}"
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


def _only_a_name(match: re.Match[str], now: datetime) -> Iterator[Found]:
    """ "I'm Anna", but not "I'm German"."""
    if not _NO_NAME.fullmatch(match["name"]):
        yield from found.name(match, now)


PATTERNS: tuple[tuple[re.Pattern[str], found.Handler], ...] = tuple(
    (re.compile(pattern if "[A-Z]" in pattern else f"(?i:{pattern})"), handler)
    for pattern, handler in (
        (r"(?:[Mm]y|[Mm]y full|[Mm]y real|[Mm]y first) name is (?P<name>[A-Z\w][\w'-]*(?: [A-Z][\w'-]*){0,2})",
        found.name),
        (r"(?:am called|am named|go by|(?:[Yy]ou can |[Pp]lease |[Jj]ust )?[Cc]all me|(?:[Ee]veryone|[Ee]verybody|"
         r"[Pp]eople|[Mm]y friends|[Ff]riends) calls? me|changed my name to|have changed my name to) "
         r"(?P<name>[A-Z][\w'-]*(?: [A-Z][\w'-]*)?)(?: now)?", found.name),
        (rf"am (?P<age>{_NUMBER})(?: years old| years of age|(?= now$)|)(?: now)?", found.age),
        (rf"(?:have )?(?:just )?turn(?:ed)? (?P<age>{_NUMBER})(?: years old)?(?: (?:yesterday|today|last \w+|this "
         rf"\w+|recently|on \w+))?", found.age),
        (rf"(?:my birthday is|my birthday's|was born|my birthday falls)(?: on)?(?: the)? {_MONTH} "
         rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? \d{{4}})?", found.birthday),
        (rf"(?:my birthday is|my birthday's|was born|my birthday falls)(?: on)?(?: the)? (?P<day>\d{{1,2}})(?:st|nd|"
         rf"rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}})?", found.birthday),
        (r"(?:it is |today is )?my birthday(?: is)? today|today is my birthday|it is my birthday", found.birthday),
        (rf"(?P<no>do not |no longer )?live (?:in|at|near|outside|on) (?P<place>.+?){found.END}", found.home),
        (r"have (?:lived|been living) in (?P<place>.+)", found.home),
        (r"am living in (?P<place>.+)", found.home),
        (r"(?:have )?(?:just )?(?:recently )?(?:moved|relocated|settled)(?: back)?(?: house| away)?(?: from .+?)? (?:to|in) "
         r"(?P<place>.+)", found.home),
        (r"my (?:home|house|flat|apartment|address) is (?:in|at) (?P<place>.+)", found.home),
        (r"(?:am|come|am originally|originally come) from (?P<place>.+)", found.hometown),
        (r"(?:was )?(?:grew up|born and raised|raised|born) in (?P<place>.+)", found.hometown),
        (r"my home ?town is (?P<place>.+)", found.hometown),
        (rf"am (?:half |originally )?(?P<nation>{_NATIONS})", found.nation),
        (rf"(?P<no>(?:do not|no longer) )?(?:work|am working)(?: now)? as (?:an? |the )?(?P<job>[\w -]+?)(?: "
         rf"(?P<prep>at|for|in) (?P<place>.+?))?{found.END}", found.employer),
        (rf"work (?P<prep>at|for|in) (?P<place>[\w' -]+?) as (?:an? |the )?(?P<job>[\w -]+?){found.END}",
        found.employer),
        (rf"am an? (?P<age>{_NUMBER})[- ]years?[- ]old(?: [\w -]+?)?(?: (?:from|in) .*)?", found.age_job),
        (rf"(?P<no>(?:do not|no longer) )?(?:work|am working|am employed|intern|have worked|have been working) "
         rf"(?P<prep>at|for|in) (?P<place>.+?){found.END}", found.employer),
        (r"(?:have )?(?:just |recently )?(?:started|joined|begun)(?: working| a (?:new )?job| work)? ?(?P<prep>at|"
         r"for|in|with) (?P<place>.+)", found.employer),
        (r"(?:have )?(?:got|landed|found) a (?:new )?job (?P<prep>at|with|in) (?P<place>.+)", found.employer),
        (r"am an? (?:\w+ )?student (?:at|of) (?P<school>.+)", found.studies),
        (rf"am (?:a|an|the) (?P<sign>{_SIGNS})", found.sign),
        (rf"am (?P<no>not )?(?P<what>{_TRAIT}){found.END}", found.trait),
        (rf"am (?P<no>not |no longer )?(?:an? |now an? |working as an? )(?!big fan|huge fan|"
         rf"fan)(?P<job>{found.JOBS})(?: (?:at|for) (?P<place>.+?))?(?: now| by trade| by profession| anymore)?",
        found.job),
        (rf"(?:became|have become|got a job as|started as) an? (?P<job>{found.JOBS})(?: at (?P<place>.+))?", found.job),
        (r"my (?:job|profession|occupation) is (?:being )?(?:an? )?(?P<job>[\w -]{3,30})", found.job),
        (r"(?:study|am studying|major in|am majoring in|am doing a (?:degree|phd|masters?|master's) in)(?: "
         r"(?P<major>(?!at\b|in\b)[\w &-]{3,40}?))?(?: (?:at|in) (?P<school>.+))?", found.studies),
        (r"(?:go to|attend|am at|am a student at|am an? \w+ student at) (?P<school>(?:the )?[A-Z][\w ]+(?:University|"
         r"College|School|Oxford|Cambridge|MIT|Harvard|Stanford|Yale)|University of [\w ]+|the University of [\w ]+)",
        found.studies),
        (r"my major is (?P<major>.+)", found.studies),
        (rf"[Mm]y (?P<pet>{PET})(?:'s name is| is called| is named) {_NAME}", found.pet),
        (rf"(?:have|own|got|adopted|have got|have adopted|just got) (?:an?|one|this) (?:\w+ )?(?P<pet>{PET}),? "
         rf"(?:named|called) {_NAME}(?: and .+)?", found.pet),
        (rf"[Hh]ave (?:two|three|four|\d+) (?:\w+ )?(?P<pets>{PET})s,? (?:named |called )?(?P<names>[A-Z]\w+(?:(?:,| "
         rf"and|, and) [A-Z]\w+)+)", found.named_pets),
        (rf"(?:have|own|adopted|have got|have adopted) (?P<count>an?|one|two|three|four|five|\d+) (?P<kind>(?:\w+ "
         rf"){{0,2}})(?P<pet>(?:{PET})s?)(?: at home)?{found.END}", found.pet),
        (rf"[Mm]y (?:\w+ )?(?P<who>{PERSON})(?:'s name is| is called| is named|'s called) {_NAME}", found.person),
        (rf"(?:have|have got) (?:an?|one) (?:\w+ )?(?P<who>{PERSON}),? (?:named|called) {_NAME}", found.person),
        (rf"(?:have|have got) (?P<count>an?|one|two|three|four|five|\d+) (?:(?:older|younger|big|little|twin) "
         rf")?(?P<who>(?:{PERSON})(?:s|ren)?){found.END}", found.person),
        (rf"(?P<no>do not have (?:any|an?)|have no) (?P<who>(?:{PERSON})s?){found.END}", found.person),
        (r"[Mm]y (?:(?P<bad>least favou?rite)|(?:new |all[- ]time |absolute )?favou?rite) (?P<thing>(?!part|thing|one|bit|moment|"
         r"memory|way)[\w-]+(?: [\w-]+)?) (?:is|are|was always|has become|is now|became) (?:now |still |definitely |"
         r"probably )?(?P<target>.+)", found.favourite),
        (r"my hobb(?:y is|ies are) (?P<target>.+)", found.as_said("has {} as a hobby", "likes", 1)),
        (r"my (?P<what>phone number|email|height|weight|nickname|middle name|last name|surname|mother tongue|native "
         r"language|zodiac sign|star sign|blood type|dream|shoe size|pronouns|idol) (?:is|are) (?P<value>.+)",
        found.attribute),
        (rf"am (?P<no>not )?(?:really |very |deathly |severely |terribly |a bit |slightly )*allergic to "
         rf"(?P<target>.+?){found.END}", found.allergy),
        (r"have (?:an?|a \w+) allergy to (?P<target>.+)|have an? (?P<food>\w+) allergy",
        lambda match, now: iter([Found(
            f"is allergic to {match['target'] or match['food']}", "allergy", match["target"] or match["food"])])),
        (rf"have (?P<ill>{_AILMENT}){found.END}", found.health),
        (r"(?:have been |was )diagnosed with (?P<ill>[\w ]{3,30})|suffer from (?P<other>[\w ]{3,30})",
        lambda match, now: iter([Found(f"has {match['ill'] or match['other']}", "health", match["ill"] or match["other"])])),
        (r"am lactose intolerant", lambda match, now: iter([Found("is lactose intolerant", "health", "lactose intolerance")])),
        (rf"(?!(?:do not|never|no longer|cannot|like|love|hate|am|want|have)\b)\w+ .*\b(?:{_HABIT_WHEN})|often "
         rf"(?!like|love|hate|am|have|feel|wonder|think|wanted)\w+ .+", found.habit),
        (r"(?:have )?(?:quit|stopped|gave up|given up)(?: (?P<verb>eating|drinking|liking|loving|enjoying))? "
         r"(?P<target>.+?)(?: (?:last|this|two|a) .*)?", found.given_up),
        (rf"(?:do not|never|no longer) (?P<verb>smoke|drink|exercise){found.END}", found.no_habit),
        (rf"(?:(?P<no>cannot)|can) (?:really )?(?P<what>{_SKILL})", found.skill),
        (r"play the (?P<target>\w+(?: \w+)?)", found.as_said("plays the {}", "skill", 1)),
        (r"prefer (?P<target>.+?) (?:to|over|rather than|instead of) .+", found.as_said("prefers {}", "likes", 1)),
        (rf"(?:speak|am fluent in) (?P<target>.+?)(?: fluently| a little)?{found.END}",
        found.as_said("speaks {}", "skill", 1)),
        (r"(?:am|have been|started|have started) (?:learning|studying) (?:how )?(?P<to>to )?(?P<what>.+?)(?: for .*| "
         r"lately| recently)?", found.learning),
        (rf"(?:have|own|bought|have got|just bought|have bought) (?P<count>an?|two|three|my own) (?P<thing>(?:[\w-]+ "
         rf"){{0,3}}(?:{_POSSESSION}))", found.possession),
        (r"am (?P<no>not )?(?:happily |recently |newly )?(?P<status>married|single|divorced|engaged|widowed|in a "
         r"relationship)(?: now| again| to .*)?", found.status),
        (r"(?:have )?(?:just )?(?P<status>got married|got divorced|got engaged|broke up with my \w+)(?: (?:yesterday|"
         r"last .*|this .*|today|recently|in .*))?", found.status),
        (r"am (?P<value>\d(?:'|\.)\d{1,2}\"?(?: ?m| ?ft)?|\d{3} ?cm)(?: tall)?", found.height),
        (r"cannot (?:really )?(?:stand|bear|take|tolerate|abide|do with|deal with) (?P<target>.+)",
        found.as_said("cannot stand {}", "likes", -1)),
        (r"cannot (?P<verb>eat|drink) (?P<target>.+)", found.consumes),
        (rf"(?:do not|never|no longer|do not ever) (?:really |ever |usually )?(?P<verb>eat|drink) "
         rf"(?P<target>.+?){found.END}", found.consumes),
        (r"(?:have )?(?:started|begun|begun to|started to|come to|grown to) (?:liking|loving|enjoying|like|love|"
         r"enjoy) (?P<target>.+)", found.as_said("likes {}", "likes", 1)),
        (r"do not mind (?P<target>.+)", found.as_said("does not mind {}", "likes", 1)),
        (r"do not care (?:much )?for (?P<target>.+)", found.as_said("does not care for {}", "likes", -1)),
        (rf"am (?:not|no longer)(?: really| exactly| much| even| at all)* (?:an?y? (?:big |huge |great )?fan of|into|"
         rf"fond of|keen on|interested in|crazy about|much of an?) (?P<target>.+?){found.END}",
        found.as_said("does not like {}", "likes", -1)),
        (rf"am(?: such)?(?: really| very| quite| super| totally| so| a bit| now)* (?:an? (?:big |huge |great |"
         rf"massive |die-hard |lifelong )?fan of|into|fond of|keen on|interested in|crazy about|mad about|obsessed "
         rf"with|addicted to|passionate about|a sucker for) (?P<target>.+?){found.END}",
        found.as_said("likes {}", "likes", 1)),
        (rf"am an? (?:big |huge |great |massive |total |real |true |such a )*(?P<target>(?!big|huge|great|massive|"
         rf"total)[\w ]+?) (?:fan|lover|enthusiast|addict|nerd){found.END}", found.as_said("likes {}", "likes", 1)),
        (r"am (?:really |very |so |super )?(?:scared|afraid|terrified) of (?P<target>.+)",
        found.as_said("is afraid of {}", "likes", -1)),
        (r"am (?:really |very |so )?(?:sick|tired) of (?P<target>.+)", found.as_said("is tired of {}", "likes", -1)),
        (rf"have (?:always |long |really )*(?P<like>{_PERFECT}|fallen in love with) (?P<target>.+?){found.END}",
        found.taste),
        (rf"have (?:always |long |really )*(?P<dislike>hated|disliked) (?P<target>.+?){found.END}", found.taste),
        (rf"(?P<no>have never|never) (?:really )?(?P<like>{_PERFECT}) (?P<target>.+?){found.END}", found.taste),
        (r"(?:love|like|enjoy|prefer) (?P<target>[\w ]+?) (?:the )?(?:more|better|most|best)(?: than .*)?",
        found.as_said("likes {}", "likes", 1)),
        (rf"{_NO}?(?:(?:really|absolutely|truly|also|still|always|totally|just|now|to) )*(?:{_LIKE}|{_DISLIKE}) "
         rf"(?P<target>.+?){found.END}", found.taste),
        (r"am (?P<name>[A-Z][a-z]+)(?: [A-Z][a-z]+)?(?:, an? .+)?",
        _only_a_name),
    )
)  # fmt: skip


def facts(clause: Clause, now: datetime) -> list[Found]:
    """The facts that ``clause`` states of its subject (none of a clause that is not said in earnest)."""
    if clause.mood != "said" or clause.whose in (OTHER, UNKNOWN):
        return []
    for body in dict.fromkeys((clause.body, re.sub(r",$", "", clause.body))):
        for pattern, handler in PATTERNS:
            if (match := pattern.fullmatch(body)) and (stated := list(handler(match, now))):
                return stated
    return []
