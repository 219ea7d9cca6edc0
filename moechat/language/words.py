"""Words of a text, Chinese first: tokens to index and search by, keywords, clauses, and how long a text is for a model.

Nothing here raises on any string. jieba's dictionary is read at the first Chinese text, as far as it is needed.
"""

from __future__ import annotations

import importlib.resources
import logging
import math
import re
import threading
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moechat.when.names import HAN

LONGEST_TOKEN = 64
LONGEST_RUN = 400  # Characters without a mark that are segmented at once: the time grows with their square.
SEGMENTED = 4_000  # Chinese characters of a text that are segmented; of those beyond every two are a word.
COUNTED = 65536  # texts whose tokens are remembered
COUNTED_WHOLE, SAMPLES = 8_000, 8  # Of a longer text (in characters) as much is counted, in so many parts.

_CJK = HAN + "\u3040-\u30ff"
_SHORTENED = re.compile(r"\w*n['’]t$|['’](?:s|re|ve|ll|d|m)?$")  # don't, husband's
_RUNS = re.compile(rf"([{_CJK}]+)|([^\W_{_CJK}]+(?:[.:'’][^\W_{_CJK}]+)*)")
_LETTERS_OR_DIGITS = re.compile(r"\d+|[^\W\d_]+")
_CLAUSE_ENDS = re.compile(r"[。！？；，、!?;\n\r…]+|[,.](?!\d)|(?<!\d)[,.]")
_SPOKEN_AS_ONE = re.compile(rf"[{_CJK}]|\d{{1,3}}|[^\W\d_{_CJK}]+|[^\w\s]|_")
_counted: dict[tuple[int, int], int] = {}  # tokens by (hash, length) of a text


def _spaced(table: str) -> frozenset[str]:
    return frozenset(table.split())


STOP_EN = _spaced(
    """
    a about above after again against ah all also am an and any anyone anything are as at be because been before
    being below between both but by can could did do does doing don down during each else ever every few for from
    further get gets getting go goes going gonna got had has have having he hello her here hers herself hey hi him
    himself his how i if in into is isn it its itself just let ll like may maybe me might more most much must my
    myself no nor not now of off oh ok okay on once one only or other our ours out over own please quite re really s
    said same say says she should so some someone something such t than thank thanks that the their theirs them
    themselves then there these they thing things this those though through to too under until up us ve very was
    wasn we well were what when where which while who whom whose why will with would wow yeah yes yet you your yours
    yourself
    """
)
STOP_ZH = _spaced(
    """
    的 了 着 过 是 在 有 我 你 您 他 她 它 我们 你们 他们 她们 它们 咱们 自己 大家 这 那 哪 这个 那个 哪个 这些 那些
    哪些 这里 那里 哪里 这儿 那儿 哪儿 这样 那样 这么 那么 怎么 怎样 怎么样 什么 为什么 谁 几 多少 多 很 太 真 真的
    挺 非常 特别 十分 更 最 都 也 还 又 再 就 才 只 只是 已 已经 曾 曾经 正 正在 将 会 能 能够 可以 可 可能 应该 要
    想 得 地 之 与 和 跟 同 及 以及 或 或者 还是 但 但是 不过 而 而且 因为 所以 如果 要是 虽然 然后 于是 并 并且 把
    被 让 使 给 对 对于 关于 从 到 向 往 由 以 为 为了 用 上 下 里 中 内 外 前 后 时 时候 个 次 件 种 些 点 一 一个
    一些 一下 一点 一起 一样 一直 有点 有些 不 没 没有 不是 不会 不能 别 吗 呢 吧 啊 呀 哦 哈 哈哈 嗯 嘿 哇 哎 唉 啦
    嘛 喂 说 说过 去 来 做 看 好 好的 是不是 有没有 能不能 知道 觉得 认为 告诉 请 谢谢 请问 其实 当然 确实 现在 其中
    等 等等 所 于 则 且 则是 那时 每 每个 各 某 另 另外 比较
    """
)

# Forms that no suffix rule reaches, by their base.
_IRREGULAR_FORMS = """
be: am is are was were been being; begin: began begun; break: broke broken; bring: brought; build: built;
buy: bought; catch: caught; child: children kid kids; choose: chose chosen; come: came; do: did done does;
draw: drew drawn; dream: dreamt; drink: drank drunk; drive: drove driven; eat: ate eaten; fall: fell fallen;
feel: felt; fight: fought; find: found; fly: flew flown; foot: feet; forget: forgot forgotten; get: got gotten;
give: gave given; go: went gone; good: better best; grow: grew grown; have: had has; hear: heard; hold: held;
keep: kept; know: knew known; lead: led; learn: learnt; leave: left; lend: lent; life: lives; lose: lost;
make: made; man: men; mean: meant; meet: met; mom: mum mother mama; dad: father papa; mouse: mice; pay: paid;
person: people persons; ride: rode ridden; run: ran; say: said; see: saw seen; sell: sold; send: sent; show: shown;
sing: sang sung; sit: sat; sleep: slept; speak: spoke spoken; spend: spent; stand: stood; swim: swam swum;
take: took taken; teach: taught; tell: told; think: thought; throw: threw thrown; understand: understood;
wake: woke woken; wear: wore worn; win: won; wife: wives; woman: women; write: wrote written;
photo: photograph photographs picture pictures pic pics
"""
_IRREGULAR = {
    form: base.strip()
    for base, _, forms in (entry.partition(":") for entry in _IRREGULAR_FORMS.split(";"))
    for form in forms.split()
}
_VOWEL = re.compile(r"[aeiouy]")
_MEASURE = re.compile(r"(?:[aeiou]|(?<=[^aeiou])y)+[^aeiou]")
_SUFFIX_PAIRS = """
ational>ate ization>ize fulness>ful ousness>ous iveness>ive tional>tion biliti>ble entli>ent ation>ate alism>al
aliti>al iviti>ive ousli>ous fulli>ful ator>ate alli>al ness> ment> eli>e ful> li>
"""
# Longest first; what remains must keep a vowel and a consonant after it.
_SUFFIXES = tuple(pair.partition(">")[::2] for pair in _SUFFIX_PAIRS.split())
_PERSON_OR_QUESTION = frozenset("我你您什么谁哪吗呢")


def tokens(text: str, *, bigrams: bool = True) -> list[str]:
    """The tokens by which ``text`` is indexed and searched, in the order of the text, with repeats.

    Compatibility forms, case and Traditional characters are folded. Chinese gives words and, unless ``bigrams`` is off,
    every pair of neighbouring characters, so that a name no dictionary has is found by two of its characters. Latin
    words are stemmed; numbers stay.
    """
    result: list[str] = []
    for segments, word in _runs(text):
        if segments:
            result.extend(_with_pairs(segments) if bigrams else segments)
        else:
            result.extend(_latin(word))
    return result


def content_tokens(text: str) -> list[str]:
    """The tokens of ``text`` that say something about the matter: no stop words, and no character pairs with a pronoun or a
    question word in them. Other pairs stay, though they cross stop words: they find phrases."""
    result: list[str] = []
    for segments, word in _runs(text):
        if segments:
            pairs = _with_pairs(segments)[len(segments) :]
            result.extend(segments)
            result.extend(pair for pair in pairs if _PERSON_OR_QUESTION.isdisjoint(pair))
        else:
            result.extend(_latin(word))
    return [token for token in result if not is_stop_word(token)]


def fold(text: str) -> str:
    """``text`` with compatibility forms, case and Traditional characters folded (the length may change)."""
    folded = text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_traditional())
    return folded.casefold()


def is_stop_word(token: str) -> bool:
    """Whether a token of :func:`tokens` or :func:`words` says nothing about the matter."""
    return token in STOP_ZH or token in STOP_EN or token in _STOP_STEMS


def words(text: str) -> list[str]:
    """The words of ``text`` as they are read (folded, not stemmed, no bigrams), stop words included."""
    result: list[str] = []
    for segments, word in _runs(text):
        result.extend(segments or [word[:LONGEST_TOKEN]])
    return result


def keywords(text: str, top_k: int = 10) -> list[str]:
    """The ``top_k`` content words by frequency here × rarity in general, best first; ties in the order of the text.

    Rarity is jieba's own word count for Chinese. Latin words and words unknown to it count as rare: mostly names.
    """
    bare = (_SHORTENED.sub("", word) for word in words(text))
    counts = Counter(word for word in bare if word and not is_stop_word(word) and not word.isdecimal())
    order = {word: place for place, word in enumerate(counts)}
    ranked = sorted(counts, key=lambda word: (-counts[word] * _rarity(word), order[word]))
    return ranked[: max(top_k, 0)]


def clauses(text: str) -> list[str]:
    """``text`` cut at sentence and clause ends, without them; a point or comma inside a number does not cut."""
    return [clause for part in _CLAUSE_ENDS.split(text) if (clause := part.strip())]


def count_tokens(text: str) -> int:
    """About how many tokens a language model counts: .8 for a Chinese character, 1 for four letters or three digits."""
    key = hash(text), len(text)  # the text itself may have to be forgotten
    tokens = _counted.get(key)
    if tokens is None:
        if len(_counted) >= COUNTED:
            _counted.clear()
        tokens = _counted[key] = _tokens(text)
    return tokens


def _tokens(text: str) -> int:
    if len(text) > COUNTED_WHOLE:
        step, part = len(text) // SAMPLES, COUNTED_WHOLE // SAMPLES
        tokens = sum(_tokens(text[at * step : at * step + part]) for at in range(SAMPLES))
        return math.ceil(tokens * len(text) / COUNTED_WHOLE)
    total = 0.0
    for piece in _SPOKEN_AS_ONE.findall(text):
        if piece[0] >= "\u3040":
            total += 0.8 if len(piece) == 1 else len(piece) / 2
        elif piece.isalpha():
            total += 1 if len(piece) <= 6 else len(piece) / 4
        else:
            total += 1
    return math.ceil(total)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a folded English word, after M. F. Porter, "An algorithm for suffix stripping" (1980), shortened."""
    word = _IRREGULAR.get(word, word)
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        word = word[:-2]
    elif word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    word = _without_tense(word)
    if word.endswith("y") and len(word) > 2 and word[-2] not in "aeiou":
        word = word[:-1] + "i"
    for suffix, instead in _SUFFIXES:
        if word.endswith(suffix) and _MEASURE.search(word[: -len(suffix)]):
            word = word[: -len(suffix)] + instead
            break
    if word.endswith(("sion", "tion")) and _MEASURE.search(word[:-3]):
        word = word[:-3]
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _without_tense(word: str) -> str:
    for suffix in ("ing", "ed"):
        rest = word[: -len(suffix)]
        if word.endswith(suffix) and len(rest) > 1 and _VOWEL.search(rest):
            break
    else:
        return word
    if suffix == "ed" and word.endswith("eed"):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz":
        return rest[:-1]
    return rest


def _latin(word: str) -> list[str]:
    word = word[:LONGEST_TOKEN]
    if not word.isascii():
        word = "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
    if word.isalpha():
        return [stem(word)]
    if word.isdecimal():
        return [word.lstrip("0") or "0"]
    if "'" in word or "’" in word:
        return [stem(part) for part in re.split("['’]", word) if len(part) > 2 or (part and word.startswith(part))]
    parts = [stem(part) for part in _LETTERS_OR_DIGITS.findall(word)]
    return [word, *parts]


def _with_pairs(segments: Sequence[str]) -> list[str]:
    """Chinese words and the pairs of neighbouring characters that are not among them."""
    run = "".join(segments)
    whole_words = set(segments)
    return [*segments, *(run[i : i + 2] for i in range(len(run) - 1) if run[i : i + 2] not in whole_words)]


def _runs(text: str) -> Iterator[tuple[Sequence[str], str]]:
    """In the order of the text: the words of a run of Chinese characters, or a word of letters and digits."""
    left = SEGMENTED
    for run, word in _RUNS.findall(fold(text)):
        segments = _segment(run[:left]) if run else ()
        if len(run) > left:
            segments = (*segments, *(run[at : at + 2] for at in range(left, len(run), 2)))
        yield segments, word
        left = max(0, left - len(run))


@lru_cache(maxsize=256)  # Recall, rules and indexes take the same message apart.
def _segment(run: str) -> tuple[str, ...]:
    if len(run) == 1:
        return (run,)
    parts = (run[start : start + LONGEST_RUN] for start in range(0, len(run), LONGEST_RUN))
    return tuple(word[:LONGEST_TOKEN] for part in parts for word in _lexicon().cut(part))


def kinds(text: str) -> list[tuple[str, str]]:
    """The words of a short Chinese text, each with its kind by jieba's dictionary ("" where it is not in there)."""
    return [(word, _lexicon().kind(word)) for word in _segment(text)]


def _rarity(word: str) -> float:
    if not word[:1] >= "\u3040":
        return 8.0 if len(word) > 1 else 4.0
    lexicon = _lexicon()
    rarity = math.log(lexicon.total / max(lexicon.count(word), 20))
    return rarity if len(word) > 1 else rarity / 2


_loading = threading.Lock()


def _lexicon() -> Lexicon:
    with _loading:
        return _lexicon_once()


_lexicon_once = cache(lambda: Lexicon())


@cache
def _traditional() -> dict[int, str]:
    """Traditional → Simplified characters: OpenCC's table, read as a file (its converter takes a text phrase by phrase)."""
    table = importlib.resources.files("opencc") / "dictionary" / "TSCharacters.txt"
    pairs = (line.split() for line in table.read_text(encoding="utf-8").splitlines())
    return {ord(pair[0]): pair[1] for pair in pairs if len(pair) >= 2 and len(pair[0]) == 1}


_STOP_STEMS = frozenset(stem(word) for word in STOP_EN)


# ---- jieba's dictionary


Bytes = NDArray[np.uint8]
LONGEST_COUNT = 9  # No count of a word has more digits.


class Lexicon:
    """Cuts a text into words as jieba does with all of its dictionary, of which it reads the words that begin with one of the
    text's characters: all of it takes half a second and 80 MB, and a short talk needs a hundredth. Safe to use from several
    threads."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import jieba
        jieba.setLogLevel(logging.ERROR)
        self._text = importlib.resources.files("jieba").joinpath("dict.txt").read_bytes().rstrip(b"\n") + b"\n"
        table = np.frombuffer(self._text, np.uint8)
        self._runs = _lines_of(table)
        self._segmenter: Any = jieba.Tokenizer()
        # Not initialize(): that trusts a marshal file in the shared temporary folder.
        self._segmenter.total = self.total = _sum_of_counts(table)
        self._segmenter.initialized = True
        self._lock = threading.Lock()
        self._read: set[str] = set()

    def cut(self, text: str) -> list[str]:
        for char in set(text) - self._read:
            self._take_in(char)
        words: list[str] = self._segmenter.lcut(text)
        return words

    def count(self, word: str) -> int:
        """How often the dictionary counts a word, 0 where it does not know it."""
        if word[:1] not in self._read:
            self._take_in(word[:1])
        count: int = self._segmenter.FREQ.get(word, 0)
        return count

    def kind(self, word: str) -> str:
        """What the dictionary takes a word for (n noun, v verb, r pronoun, ns place …), "" where it does not know it."""
        key = int.from_bytes(word[:1].encode("utf-8", "replace"), "little")
        line = f"{word} ".encode("utf-8", "replace")
        for start, end in self._runs.get(key, ()):
            at = start if self._text.startswith(line, start, end) else self._text.find(b"\n" + line, start, end) + 1
            if at:
                return self._text[at : self._text.index(b"\n", at)].rsplit(b" ", 1)[1].decode()
        return ""

    def _take_in(self, char: str) -> None:
        """Add the words that begin with a character, and their beginnings, to those that jieba looks at."""
        counts: dict[str, int] = {}
        for start, end in self._runs.get(int.from_bytes(char.encode("utf-8", "replace"), "little"), ()):
            for line in self._text[start:end].decode("utf-8").splitlines():
                word, count, *_ = line.split(" ")
                counts[word] = int(count)
                for i in range(1, len(word)):
                    counts.setdefault(word[:i], 0)
        with self._lock:
            self._segmenter.FREQ.update(counts)
            self._read.add(char)


def _lines_of(table: Bytes) -> dict[int, list[tuple[int, int]]]:
    """Where the lines (word, count, kind) stand that begin with a character, by its UTF-8 bytes as a number."""
    starts = np.concatenate([[0], np.flatnonzero(table == ord("\n"))[:-1] + 1])
    lead = table[starts]
    sizes = np.select([lead < 0x80, lead < 0xE0, lead < 0xF0], [1, 2, 3], 4)
    chars = np.zeros(len(starts), np.uint32)
    for i in range(4):
        chars += np.where(i < sizes, table[np.minimum(starts + i, len(table) - 1)].astype(np.uint32) << 8 * i, 0)
    first = np.concatenate([[0], np.flatnonzero(np.diff(chars)) + 1])
    begins = starts[first].tolist()
    runs: dict[int, list[tuple[int, int]]] = {}
    for char, start, end in zip(chars[first].tolist(), begins, [*begins[1:], len(table)], strict=True):
        runs.setdefault(char, []).append((start, end))
    return runs


def _sum_of_counts(table: Bytes) -> int:
    """All the counts that stand between the two blanks of each line."""
    blanks = np.flatnonzero(table == ord(" "))
    before, after = blanks[0::2], blanks[1::2]
    total = 0
    for i in range(1, LONGEST_COUNT + 1):
        places = (after - i)[after - i > before]
        total += int((table[places] - np.uint8(ord("0"))).sum()) * 10 ** (i - 1)
    return total
