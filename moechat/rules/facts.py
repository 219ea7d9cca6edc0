"""The facts that a message's clauses state, by the tables. Whatever a pattern takes for a name, a place or a thing must look
like one: a Chinese thing holds no pronoun, particle or adverb (by the kinds of jieba's dictionary), an English one no word of
the language's small words but those that join nouns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from moechat.model import FactDraft
from moechat.reading import frames
from moechat.reading.saying import mark
from moechat.rules import body, foods, plain_facts
from moechat.rules.clause import OTHER, UNKNOWN, USER, Clause
from moechat.rules.table import Language, Row, table
from moechat.rules.values import VALUES, YOUNGEST_USER, Speech, article, bare, is_name, names, thinned, trimmed

MAY_STATE = 0.02  # A value of a pattern that is less likely one by the frames is none.
_ABOUT_ME = re.compile(r"我|本人|\b(?:I|me|my)\b", re.I)
_PRESUMING = ("said", "plan", "question", "wish", "uncertain")  # Even a question presumes that my dog Rex is mine.
_BODY, _FAMILY = ("allergy", "过敏"), ("family", "家人")
_CARE = (*_BODY, "health", "健康", "diet", "饮食")


def stated(
    text: str, parts: Sequence[Clause], source: str, at: datetime, language: Language
) -> list[tuple[Clause, list[FactDraft]]]:
    """Each clause with the facts that it states, in order. ``at`` is when it was said, ``source`` the exchange's id."""
    patterns = table(language)
    laughs = any(patterns["laughs"].search(part.text) for part in parts)
    message = Speech(patterns, at, ", ".join(part.text for part in parts), laughs)
    drafts = [
        (part, [*_mentioned(part, message), *(_facts(part, message) or _facts(going_on, message))])
        for part in parts
        for going_on in [replace(part, whose=part.goes_on) if part.whose == UNKNOWN else part]
    ]
    of_body = [  # What a pattern hears in a clause is all of it.
        (part, draft)
        for part, draft in body.not_taken(text, parts, message)
        if not any(one.keyword in _BODY for where, each in drafts if where is part for one in each)
    ]
    for part, draft in [*of_body, *plain_facts.heard(text, parts, message)]:
        if not any(_says(one, draft, where is part) for where, each in drafts for one in each):
            drafts.append((part, [draft]))
    every = [draft for _, each in drafts for draft in each]
    return [  # Who is named in a later clause is no nameless one, and what belongs to another thing is told by that.
        (
            part,
            [
                replace(one, sources=(source,), mark=mark(one.text, one.keyword) if one.polarity > 0 else "")
                for one in dict.fromkeys(each)
                if message.nameless(one.target)
                and _is_heard(one, text)
                and not any(_covers(other, one) for other in every)
                and not (one.keyword in _CARE and one.entity == "user" and one.polarity > 0 and body.refuted(one, text))
                and (one.keyword not in _FAMILY or all(one.target != other.entity for other in every))
            ],
        )
        for part, each in drafts
    ]


def _is_heard(draft: FactDraft, text: str) -> bool:
    """Whether the frames, too, may hear something stated where a draft has its value; what is denied they do not tell, and what
    a body needs is kept where any hears it."""
    is_weighed = draft.polarity > 0 and draft.keyword not in _CARE
    chance = frames.chance(text, draft.target) if is_weighed else None
    return chance is None or chance[0] >= MAY_STATE


def _says(other: FactDraft, draft: FactDraft, is_beside: bool) -> bool:
    """Whether another fact says a fact already, or as much: who is a nurse works somewhere, who has a cat has one."""
    first, second = draft.target.casefold(), other.target.casefold()
    both = {draft.keyword, other.keyword}
    if (
        first in second
        or second in first
        or (draft.single and (draft.entity, draft.keyword) == (other.entity, other.keyword))
    ):
        return True
    return is_beside and both in ({"job", "employer"}, {"职业", "工作单位"}, {"pet"}, {"宠物"})


def _covers(wider: FactDraft, draft: FactDraft) -> bool:
    """Whether what a body does not take is part of another thing of that kind (海鲜过敏，不能吃虾), or a dish with it in."""
    if (
        draft.keyword not in _BODY
        or wider.keyword not in _BODY
        or wider.entity != draft.entity
        or "allerg" in draft.text
        or "过敏" in draft.text
    ):
        return False
    things, wide = foods.named(draft.target), foods.named(wider.target)
    part = bool(wide) and wide <= foods.held(draft.target)
    return (
        part
        and wider.text != draft.text
        and (wide != things or ("cannot" not in wider.text and "不能" not in wider.text))
    )


def _mentioned(clause: Clause, message: Speech) -> list[FactDraft]:
    """Those of the user's whom a clause in earnest only mentions: my tortoise Gerald is awake, my wife is late."""
    if clause.mood != "said" or clause.whose in (USER, OTHER, UNKNOWN) or clause.whose in message.names:
        return []
    zh = message.patterns.language == "zh"
    if zh and clause.name and not message.patterns["OTHERS"].fullmatch(clause.whose) and is_name(clause.name):
        return [message.named(clause.whose, clause.name)]
    if message.patterns["OWN"].fullmatch(clause.whose):
        text = f"用户有{clause.whose}" if zh else f"The user has {article(clause.whose)} {clause.whose}"
        return [FactDraft(text, (), "relation", "user", "家人" if zh else "family", clause.whose)]
    return []


def _facts(clause: Clause, message: Speech) -> list[FactDraft]:
    """The facts of the lines that fit the clause, if their values are what they should be."""
    if clause.mood not in _PRESUMING and not (clause.mood == "hearsay" and clause.whose not in (USER, OTHER, UNKNOWN)):
        return []
    patterns = message.patterns
    body = trimmed(clause.body, patterns)
    if clause.whose not in (USER, OTHER, UNKNOWN):
        if patterns["OTHERS"].fullmatch(clause.whose):
            return []
        if clause.mood == "said" and (naming := patterns["naming"].fullmatch(body)):
            return [message.named(clause.whose, name) for name in names(naming, message)]
    drafts: list[FactDraft] = []
    fitted: set[int] = set()  # Of the lines below one @ the first that fits counts.
    lead = patterns["lead"].match(clause.text)
    whole = clause.text[lead.end() :] if lead else clause.text
    forms = [(bare(whole), bare(clause.body)), (trimmed(whole, patterns), body)]
    if patterns.language == "zh":
        forms.append((thinned(forms[1][0], patterns), thinned(body, patterns)))
    cued: dict[int, bool] = {}
    for row in patterns.rows["facts"]:
        if row.group not in cued:
            cued[row.group] = row.cue.search(clause.text) is not None
        if not cued[row.group] or row.group in fitted or not _applies(row, clause, message):
            continue
        mine = "mine" in row.marks
        owned = replace(clause, whose=USER) if mine else clause
        open_slot = "things" in row.pattern.groupindex  # A thing may itself begin with an adverb.
        for spoken in dict.fromkeys(
            form[not mine and "text" not in row.marks] for form in forms[: 2 if open_slot else 3]
        ):
            if (match := row.pattern.fullmatch(spoken)) and (made := list(_made(row, match, owned, message))):
                fitted.add(row.group)
                drafts += made
                break
    return drafts


def _applies(row: Row, clause: Clause, message: Speech) -> bool:
    marks, patterns = row.marks, message.patterns
    if "mine" not in marks and ("other" in marks) != (clause.whose in (OTHER, UNKNOWN)):
        return False
    if ("own" in marks and clause.whose != USER) or ("theirs" in marks and clause.whose == USER):
        return False
    if clause.mood != "said" and "presumed" not in marks and not (clause.mood == "plan" and "planned" in marks):
        return False
    if ("lasting" in marks and patterns["moment"].search(clause.text)) or ("care" in marks and message.laughs):
        return False
    if row.what in _BODY and clause.whose == USER and patterns["given"].search(clause.text):
        return False
    if "told" in marks and not _ABOUT_ME.search(clause.text):
        return False
    return all(message.holds(word) for word in ("hello", "actually") if word in marks)


def _made(row: Row, match: re.Match[str], clause: Clause, message: Speech) -> Iterator[FactDraft]:
    patterns, gap = message.patterns, " " if message.patterns.language == "en" else ""
    groups = {name: text or "" for name, text in match.groupdict().items()}
    kind = next((kind for kind in VALUES if groups.get(kind)), "")
    values = VALUES[kind](match, message) if kind else []
    denied = match.groupdict().get("no") is not None
    whose = clause.whose if clause.whose not in (OTHER, UNKNOWN) else groups.get("whose", "")
    whose = re.sub(r"^(?:我家?的?|my \w+ (?=[A-Z]))", "", whose)
    for value in values:
        if kind == "age" and clause.whose == USER and int(value) < YOUNGEST_USER:
            return
        filled = {
            **groups,
            kind: value,
            "day": value,
            "full": value,
            "a": article(value),
            "a2": article(groups.get("was", "")),
        }
        if "verb" in groups:
            verb = groups["verb"].lower()
            filled["verb"] = verb if verb.endswith(("y", "est", "d")) else f"{verb}e"
        if "who" in groups:
            filled |= {"who": groups["who"].lower(), "a": article(groups.get("size") or groups["who"])}
            if groups.get("name") or groups.get("names"):
                message.names[filled["who"]] = value
        if groups.get("pet") and groups.get("name"):
            message.names[groups["pet"].lower()] = value
        text = (row.denied if denied and row.denied else row.text).format(
            **{**dict.fromkeys(("count", "do", "size"), ""), **filled}
        )
        text = re.sub(r" {2,}", " ", text)
        keyword = row.what.format(**filled).replace("é", "e")
        if row.what == "{who}":
            keyword = message.relation(keyword)
        yield FactDraft(
            text=f"{whose if clause.whose in (OTHER, UNKNOWN) else message.subject(clause.whose)}{gap}{text}",
            sources=(),
            kind="relation" if "named" in row.marks else "attribute",
            entity=whose if clause.whose in (OTHER, UNKNOWN) else message.entity(clause),
            keyword=keyword,
            target=value,
            polarity=(-1 if denied else 1) * (-1 if "minus" in row.marks else 1),
            single="one" in row.marks or bool(patterns["PARTNER"].fullmatch(keyword)),
        )
