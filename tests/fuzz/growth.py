"""Every reader of foreign text over longer and longer texts: ``python -m tests.fuzz.growth --seeds 200 --largest 512``.

A text is a piece of a word table, a mark, or a few of them, again and again: what makes a pattern begin at every place and find
its end nowhere. It is halved down to 1 KB. No reader may take more than ``MOST`` times as long over twice the text, nor more than
``MOST_S`` of CPU over 64 KB. What does is measured again, since a machine is noisy. Exit status 1 where one stays slow.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from starlette.datastructures import Headers

from moechat.access import guard, login
from moechat.ai.cleaner import Cleaner
from moechat.ai.spoken import spoken
from moechat.cards import book, card
from moechat.cards.macros import Macros, unknown
from moechat.compat import foreign_talk
from moechat.cue import Scene
from moechat.curation.talks import own_title
from moechat.errors import MoeChatError
from moechat.index import traits
from moechat.language import words
from moechat.memory import firing
from moechat.model import Lore
from moechat.reading import saying
from moechat.rules import foods, importance, topics
from moechat.serve import history, identity
from moechat.settings.character import encode_user, safe_folder
from moechat.topic_path import topic_path
from moechat.web import drawing, markdown
from moechat.when import LONGEST_READ, asks, resolve
from moechat.when.reader import CHINESE, ENGLISH
from tests.fuzz.parsers import PARSERS
from tests.fuzz.sentences import NOISE, NOW, READERS, Sentence
from tests.houses import ZONE, Home, say

KB = 1024
MOST, MOST_S, TURN_S, AT_KB = 2.3, 0.2, 1.5, 64
FREE_S = 0.03  # Shorter times are noise.
# Where a text takes no more than so many times what its half takes, what lies between that and so many KB is left out.
LEVEL, PAGES_KB = 1.2, 8
AGAIN, TIMES = 1000, 7  # The number of the first text of a second measure, and of how many runs it takes the least.
PACKAGE = Path(__file__).parents[2] / "moechat"
PIECES = (
    "“",
    "[",
    "<context>",
    "[User ID: , Nickname: a",
    "a*",
    "a ",
    "\n",
    "的",
    "1",
    "，我",
    "{{",
    "*a ",
    "<think>",
    "n't ",
    "1\n",
    "milk ",
    "|",
    "> ",
    "- ",
)
Read = Callable[[str], object]
IN_FILES = ("days", "notes", "facts of an owner", "log", "character", "world book", "talk file")
ONE_BY_ONE: Sequence[Read] = (
    words.tokens, words.content_tokens, words.keywords, words.clauses, words.count_tokens, traits.of, traits.asking,
    traits.side_meant, traits.names_told, importance.rate, importance.read_rating, topics.paths_in, saying.mark,
)  # fmt: skip


@dataclass(frozen=True)
class Text:
    """``piece`` again and again between a beginning and an end."""

    begin: str
    piece: str
    end: str = ""

    def of(self, size: int) -> str:
        return f"{self.begin}{self.piece * (size // len(self.piece) + 1)}"[: size - len(self.end)] + self.end


def texts(count: int, seed: int = 1) -> Iterator[Text]:
    """The pieces above, then others that are drawn from the package's own words and patterns."""
    yield from (Text("", piece) for piece in PIECES[:count])
    chance, own = random.Random(seed), set[str]()
    for path in sorted(
        [*PACKAGE.rglob("*.txt"), *PACKAGE.rglob("*.ini"), *PACKAGE.glob("when/*.py"), *PACKAGE.glob("rules/*.py")]
    ):
        own |= set(re.findall(r"[\u4e00-\u9fff]{1,3}|[A-Za-z']{2,9} ?|[^\w\s]|\d+", path.read_text("utf-8")))
    pool = [sorted(own), [*NOISE, *PIECES, *"!,. \t，。：；？'\"-_/\\"]]
    for _ in range(count - len(PIECES)):
        begin, piece, end = ("".join(chance.choice(chance.choice(pool)) for _ in range(most)) for most in
                             (chance.randint(0, 2), chance.choice((1, 1, 1, 2, 3)), chance.randint(0, 1)))  # fmt: skip
        yield Text(begin, piece, end)


def _messages(text: str) -> None:
    sent = [{"role": role, "content": text} for role in ("user", "assistant", "system")] * 2
    history.read([*sent, {"role": "user", "content": f"### Task:{text}", "name": text}])
    history.read([*sent, {"role": "system", "content": "Write the next reply only as 小满"}], me="小满")


def _cleaned(text: str) -> None:
    cleaner = Cleaner(name="小满", headings=["【回忆】"], lines=["【回忆】", "- 用户养了一只猫"])
    pieces = [piece for start in range(0, len(text), 64) for piece in cleaner.feed(text[start : start + 64])]
    list(spoken(iter(map(str, [*pieces, *cleaner.rest()]))))


def _card(text: str) -> None:
    entry = {"keys": [text], "content": f"@@depth 2\n{text}", "comment": text}
    fields = dict.fromkeys(card.V1_FIELDS, text) | {"character_book": {"entries": [entry]}}
    with contextlib.suppress(MoeChatError):
        raw = card.decoded(json.dumps({"spec": "chara_card_v2", "data": fields}).encode(), "a.json")
        book.entries_of(card.book_of(raw), "a.json")
        card.keys_of(raw), card.upgraded(raw, "v3")


def _fires(text: str) -> None:
    """A book of 300 entries whose keys are patterns, and the talk itself."""
    keys = (f"/{re.escape(text[:20])}+{number}(a+)+$/i" for number in range(300))
    lore = [Lore(id=str(at), keyword=key, text=text[:200], file="", regex=True) for at, key in enumerate(keys)]
    firing.judged(
        [*lore, Lore(id="x", keyword=text[:60], text=text, file="", whole_words=True)], text, Scene([("", text)])
    )


def _header(text: str) -> None:
    headers = Headers({"x-moechat-user": text.encode("ascii", "replace").decode()})
    with contextlib.suppress(MoeChatError):
        identity.caller(headers, {"user": text}, {})
    (
        login.browser_name(text),
        login.language_of(text),
        guard.name_of(text),
        guard._word_in(f"word={text}".encode()),
    )


def _name(text: str) -> None:
    for read in (lambda: safe_folder(Path(), text), lambda: encode_user(text)):
        with contextlib.suppress(MoeChatError):
            read()
    topic_path(text)


def _past(folder: Path) -> Read:
    def read(text: str) -> None:
        half = text[: len(text) // 2]
        (folder / "talk.txt").write_text(f"2021-03-04 20:15 阿明: {half}\n小满: {half}\n", "utf-8", "replace")
        with contextlib.suppress(MoeChatError):
            foreign_talk.read(folder / "talk.txt", ZONE, foreign_talk.Names("阿明", "小满"))

    return read


def _file(name: str, folder: Path) -> Read:
    """A parser over its first example, the text in the place of its longest words."""
    parser = next(one for one in PARSERS if one.name == name)
    example = parser.examples[0].decode()
    longest = max(re.findall(r"[\u4e00-\u9fff]{2,}|[a-z]{2,}", example), key=len, default=example)

    def read(text: str) -> None:
        with tempfile.TemporaryDirectory(dir=folder) as own, contextlib.suppress(*parser.refusals):
            parser.read(example.replace(longest, text, 1).encode("utf-8", "replace"), Path(own))

    return read


def _places(text: str) -> None:
    """A hundred places of a page, each looked at for a time: while one is, the interpreter serves nobody else."""
    for language in (CHINESE, ENGLISH):
        for place in range(0, min(len(text), LONGEST_READ), LONGEST_READ // 100):
            language._any_pattern.match(text, place)


@contextlib.contextmanager
def doors() -> Iterator[Mapping[str, Read]]:
    """Every reader by its name; a whole turn, with all that happens behind it, is one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home = Home.build(folder / "home", embedding={"provider": "hash"})
        with home.connected(model=None) as house:

            def turn(text: str) -> None:
                owner = "".join(sorted(set(text[-300:])))  # who sends one text, in all its lengths
                owner = f"{crc32(owner.encode(errors='replace'))}"
                say(house.agent(user=owner), text.replace("\0", "") + "a")
                home.clock.advance(hours=3)
                house.agent(user=owner).finish()

            yield {
                "turn": turn,
                "messages": _messages,
                "markdown": markdown.html,
                "memory": lambda text: drawing.to_person(text, "阿明"),
                "macros": lambda text: (Macros({"char": "a", "user": "b"}, NOW).fill(text), unknown(text)),
                "reply": _cleaned,
                "card": _card,
                "book": _fires,
                "header": _header,
                "name": _name,
                "past": _past(folder),
                "foods": foods.held,
                "title": lambda text: own_title((text,)),
                "places": _places,
                "times": lambda text: asks(text, resolve(text, NOW)),
                **{read.__name__: read for read in ONE_BY_ONE},
                **{
                    name: lambda text, read=read: read(Sentence(text, "我住在杭州", NOW))
                    for name, read in READERS.items()
                    if name not in ("times", "words", "traits", "ratings")
                },  # type: ignore[misc]
                **{f"file of {name}": _file(name, folder) for name in IN_FILES},
            }


def cpu_s(read: Read, text: str, times: int = 1, first: int = 0) -> float:
    """The least of a few runs, each over a text of its own, by its number: caches are no reader. Nor is the collecting of what
    all else left behind: it waits, as in ``timeit``."""
    taken = []
    gc.disable()
    try:
        for number in range(first, first + times):
            begun = time.process_time()
            read(f"{number:04}{text}" if number else text)
            taken.append(time.process_time() - begun)
    finally:
        gc.enable()
    return min(taken)


def calls(read: Read, text: str) -> int:
    """How many functions a reader calls, those in C among them: the same on every machine."""
    count = 0

    def one_more(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(one_more)
    try:
        read(text)
    finally:
        sys.setprofile(None)
    return count


def slow(name: str, read: Read, text: Text, largest_kb: int) -> str:
    """What is too slow about a reader over a text, "" for nothing. A turn is many readers, one after another.

    The longest text comes first, then its halves, until the time is too short to be weighed. Where half of a text takes as long
    as the whole, a reader reads no more than some of it: what lies between that and a few pages is left out."""
    most_s = TURN_S if name == "turn" else MOST_S
    kb, double_s = largest_kb, 0.0
    while kb:
        taken = cpu_s(read, text.of(kb * KB), first=kb if kb < largest_kb else 0)
        if (kb == AT_KB and taken > most_s) or double_s > max(MOST * taken, FREE_S):
            taken = cpu_s(read, text.of(kb * KB), TIMES, AGAIN + kb)
            if kb == AT_KB and taken > most_s:
                return f"{taken:.2f} s over {kb} KB"
            if (double_s := cpu_s(read, text.of(2 * kb * KB), TIMES, AGAIN + 2 * kb)) > max(MOST * taken, FREE_S):
                return f"{taken:.3f} s, then {double_s:.3f} s over {2 * kb} KB"
        if taken <= FREE_S / MOST:
            break
        is_level = kb > PAGES_KB and taken * LEVEL > double_s > 0
        kb, double_s = AT_KB if kb > AT_KB and taken > most_s else PAGES_KB if is_level else kb // 2, taken
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the number of the first text: a long run may go in parts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--largest", type=int, default=512, help="KB")
    parser.add_argument("--only", default="", help="the readers whose name has that in it")
    arguments = parser.parse_args()
    faults = 0
    with doors() as every:
        chosen = {name: read for name, read in every.items() if arguments.only in name}
        for read in chosen.values():
            read("我住在杭州, I live in Leeds")  # what it loads is loaded
        for text in list(texts(arguments.seeds, arguments.seed))[arguments.first :]:
            for name, read in chosen.items():
                if fault := slow(name, read, text, arguments.largest):
                    faults += 1
                    print(f"{name}: {fault}: {text}", flush=True)
    print(f"{len(chosen)} readers, {arguments.seeds - arguments.first} texts, {faults} too slow")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
