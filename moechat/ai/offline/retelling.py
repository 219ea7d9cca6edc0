"""Retelling: the user's words, turned so that they can be said to the user, as far as that is safe.

Pure text rules. What cannot be turned safely is left to be quoted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from moechat.when import LONGEST_READ

_LABEL = re.compile(r"([^：:\n]{1,30})(?:：|: )(.*)", re.S)
ENDS = " \t\n　。．.!！,，;；~～…"

_SPEAKER = re.compile(r"^(?P<who>[^：:\n]{1,40})[：:][ \t]*(?P<said>.*)$")
_USER = ("{{user}}", "user", "用户", "我")
_CHARACTER = ("{{char}}", "char", "assistant", "角色")
_OTHER_LABELS = ("时间", "time")

# 我们 may or may not mean the character too; with 你 in it, both persons would change; 自我 is no pronoun
_UNSAFE_ZH = re.compile(r"[你您咱俺]|我们|我俩|自我|[「『“\"]")
_UNSAFE_EN = re.compile(
    r"\b(?:you|your|yours|yourself|we|us|our|ours|ourselves)\b|[“\"]|\bI (?:is|has)\b", re.IGNORECASE
)
_PERSON_EN: Mapping[str, str] = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "i'm": "you're", "i've": "you've",
    "i'd": "you'd", "i'll": "you'll", "am": "are",
}  # fmt: skip
_WORD_EN = re.compile(r"\b(?:I was|I wasn't|I'(?:m|ve|d|ll)|I|me|my|mine|myself|am)\b", re.IGNORECASE)
_VERB_EN: Mapping[str, str] = {
    "is": "are", "has": "have", "was": "were", "does": "do", "doesn't": "don't", "isn't": "aren't", "wasn't": "weren't",
    "hasn't": "haven't", "goes": "go",
}  # fmt: skip
_SENTENCE = re.compile(r"[^。！？!?\n]*?(?:[。！？!?]+|(?<!\d)\.(?=\s|$)|\n|$)")


def second_person(text: str, language: str) -> str:
    """A clause of the user's told to the user (我讨厌香菜 → 你讨厌香菜); "" where that could change what it says."""
    text = text.strip(ENDS)
    if language == "zh":
        return "" if _UNSAFE_ZH.search(text) else text.replace("我", "你")
    text = text.replace("’", "'")
    if _UNSAFE_EN.search(text):
        return ""
    return _WORD_EN.sub(_turned, text)


def fact_to_user(text: str, user_name: str, language: str) -> str:
    """A fact about the user in the third person, told to the user (用户讨厌香菜 → 你讨厌香菜); "" for anyone else's."""
    text = text.strip(ENDS)
    names = "|".join(re.escape(name) for name in ("{{user}}", "用户", "The user", "User", user_name) if name)
    match = re.match(rf"(?:{names})(?P<own>的|'s|’s)?\s*(?P<rest>.+)", text, re.IGNORECASE)
    if match is None:
        return second_person(text, language) if re.match(r"我|I\b|My\b", text) else ""
    rest = match["rest"]
    if language == "zh":
        return f"你{match['own'] or ''}{rest}"
    if match["own"]:
        return f"you have {rest}" if rest.startswith("got ") else f"your {rest}"
    verb, _, after = rest.partition(" ")
    return f"you {_first_form(verb)} {after}".strip()


def said_by_user(text: str, user_name: str, character_name: str) -> str:
    """The user's side of an exchange as it is shown (``name：words``); all of a text that names no speaker."""
    theirs = {name.casefold() for name in (*_USER, user_name) if name}
    others = {name.casefold() for name in (*_CHARACTER, character_name, *_OTHER_LABELS) if name}
    kept, labelled, mine = [], False, False
    for line in text.splitlines():
        label = _SPEAKER.match(line)
        who = label["who"].strip().casefold() if label else ""
        if label and who in theirs | others:
            labelled, mine, line = True, who in theirs, label["said"]
        if mine:
            kept.append(line)
    return "\n".join(kept) if labelled else text


def retold(text: str, words: set[str], character_name: str, user_name: str, language: str) -> str:
    """An entry of the world book, told: its first sentence, and the one that shares most with ``words``.

    The character's own name becomes 我 or I.
    """
    from moechat.language.words import tokens

    text = text[:LONGEST_READ].replace("{{user}}", user_name or "you").replace("{{char}}", character_name)
    if (named := _LABEL.match(text)) and set(tokens(named[1])) & set(tokens(named[2])):
        text = named[2]  # the keyword before a description that says itself what it is about
    if len(character_name) > 1:
        text = text.replace(character_name, "我") if language == "zh" else _by_oneself(text, character_name)
    sentences = [s.strip() for s in _SENTENCE.findall(text) if s.strip()]
    if not sentences:
        return text.strip()
    best = max(sentences[1:], key=lambda s: len(words & set(tokens(s))), default="")
    chosen = [sentences[0]] + ([best] if best and words & set(tokens(best)) else [])
    return ("" if language == "zh" else " ").join(chosen)


def _by_oneself(text: str, name: str) -> str:
    """English about ``name``, told by that person: Wren's dog → my dog, Wren mends → I mend, brings Wren → brings me."""
    name = re.escape(name)
    text = re.sub(rf"\b{name}['’]s\b", "my", text)
    text = re.sub(rf"\b{name} ((?!as\b|this\b)\w+[^s\W]s|is|has|was)\b", lambda verb: f"I {_own_form(verb[1])}", text)
    text = re.sub(rf"(^|[.!?;,] |\b(?:and|but|that|when|where|because|if) ){name}\b", r"\1I", text)
    text = re.sub(rf"\b{name}\b", "me", text)
    return re.sub(r"(?:^|(?<=[.!?] ))(?:my|me)\b", lambda word: word[0].capitalize(), text)


def of_oneself(persona: str, name: str, user_name: str, language: str) -> list[str]:
    """What a persona says of its character in the third person, told by itself; without the sentences about anyone else."""
    result = []
    for sentence in re.split(r"[。；;\n]" if language == "zh" else r"(?<=[.!?;])\s+|\n(?=[A-Z])", persona):
        text = re.sub(r"\s+", " ", sentence).strip(ENDS)
        if not text or (user_name and user_name in text):
            continue
        if language == "zh":
            text = re.sub("^我，", "我", re.sub(rf"{re.escape(name)}|[她他](?!们)", "我", text))
            result.append(text if "我" in text[:2] else f"我{text}")
        elif match := re.match(rf"(?:{re.escape(name)}(?: [A-Z]\w+)?(?:, [^,]+)?,?|She|He) (?P<rest>.+)", text):
            verb = lambda m: f"{m[1]}{_own_form(m[2])} "  # noqa: E731
            rest = re.sub(r"(^|, | and |, and |; )(\w+[^s\W]s|is|has|was) (?=\w)", verb, match["rest"])
            result.append("I " + re.sub(r"\b(?:her|his)\b", "my", re.sub(r"\b(?:she|he)\b", "I", rest)))
    return result


def _turned(match: re.Match[str]) -> str:
    word = match[0].lower()
    if word.startswith("i was"):
        return "you were" + word[5:]
    return _PERSON_EN.get(word, match[0])  # İ is matched as an i


def _own_form(verb: str) -> str:
    """The verb after I: is → am, mends → mend."""
    return {"is": "am", "was": "was"}.get(verb.lower()) or _first_form(verb)


def _first_form(verb: str) -> str:
    """hates → hate, tries → try, has → have."""
    low = verb.lower()
    if low in _VERB_EN:
        return _VERB_EN[low]
    if low.endswith("ies") and len(low) > 4:
        return verb[:-3] + "y"
    if low.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return verb[:-2]
    return verb[:-1] if low.endswith("s") and not low.endswith(("ss", "us")) else verb
