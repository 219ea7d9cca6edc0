"""A guard over a reply on its way: what is no reply is not shown, and what goes astray is cut.

It reads what the cleaner lets through. While nothing was shown yet, a reply that is a web page, JSON, a call of tools, the
user's own words, her own of before, or in another language is raised as a Failure, so that one may ask again in silence. Later
it can only be cut: where it speaks for the user, writes a token of a chat template, or goes round in circles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from moechat.ai.chat_model import ChatRequest
from moechat.ai.cleaner import Instead, json_object
from moechat.ai.failure import Failure, Language
from moechat.ai.reply_stream import ReplyOutcome
from moechat.sentences import sentence
from moechat.settings.character import USER_NAMES
from moechat.when.names import HAN_CHARACTER, has_han

AGAIN = frozenset({"empty", "no_reply"})  # Failures after which the model is asked once more.
TELLING = 10  # From this many characters on (twice that where they are letters), the same words again are no accident.
LETTERS = 40  # Among so many letters that begin a reply, one is of the user's script; a whole reply may have fewer.
LOOP_CHARS, LOOP_TIMES, LOOP_UNIT = 160, 4, 200  # A circle: so many characters, so many rounds, the longest round.
LOOK_BACK = 2  # A sentence that stands in each of so many replies before is left out.
_OPENINGS = {"<!doctype": "page", "<html": "page", "<tool_call": "calls", "<function": "calls"}
_JSON = re.compile(r'(?:```(?:json)?\s*)?\{\s*(?:"|\Z)|`{1,3}(?:j(?:s(?:on?)?)?)?\s*\Z', re.IGNORECASE)
_TEMPLATE = re.compile(r"<[|｜][^<>\s]{1,40}[|｜]>|<(?:start|end)_of_turn>|\[/?INST\]", re.IGNORECASE)
_TEMPLATE_BEGUN = re.compile(r"(?:<(?:[|｜se][^<>\s]{0,40})?|\[/?(?:I(?:N(?:ST?)?)?)?)\Z", re.IGNORECASE)
_SENTENCE = re.compile(r"[^。！？!?\n]*?(?:[。！？!?]+[”」』\"')）]*|\.(?=\s)|\n)")
_NO_PROSE = re.compile(r"[|{}\[\]【】<>:：*]")  # A line of state that a card asks for in each reply has these.
_NAMES_A_LANGUAGE = re.compile(
    r"[英日法德俄韩粤汉中][语文]|翻译|\b(?:translat|english|chinese|japanese|french|german|spanish|korean|russian)",
    re.IGNORECASE,
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)


def guarded(
    pieces: Iterable[str], request: ChatRequest, outcome: ReplyOutcome, *, model: str, is_last: bool
) -> Iterator[str]:
    """The pieces that may be shown. ``outcome`` is complete once they have ended; ``is_last``: nobody asks again, so that what
    is a reply after all is shown. Raises Failure of ``AGAIN``, only while nothing was shown."""
    watch = _Watch(request, model, is_last=is_last)
    for piece in pieces:
        if isinstance(piece, Instead):
            watch = _Watch(request, model, is_last=is_last)
            yield Instead("")
        yield from watch.feed(piece)
        if watch.is_over:
            return
    yield from watch.feed("", is_end=True)
    if outcome.calls and not watch.text.strip() and not request.wishes.get("tools"):
        raise watch.no_reply("calls")


class _Watch:
    """``text`` is what was said so far, of which ``_at`` characters are shown; ``is_over``: nothing more may be."""

    def __init__(self, request: ChatRequest, model: str, *, is_last: bool) -> None:
        self._request, self._model, self._is_last = request, model, is_last
        character = request.character
        self._language: Language = character.language if character else "en"
        own = {*request.others, request.called, character.user_name if character else ""} - {""}
        names = sorted(map(re.escape, own | {*USER_NAMES.values(), "Human"}))
        self._label = re.compile(rf"^[ \t]*\**(?:{'|'.join(names)})\**[ \t]*[:：]\**(?![ \t]*\n)", re.I | re.M)
        self._labels = [f"{name}：" for name in (*own, *USER_NAMES.values(), "Human")]
        self._said = [one.content.strip() for one in request.messages if one.role == "assistant"]
        self._stale = _in_each(self._said[-LOOK_BACK:])
        self.text, self.is_over = "", False
        self._at = self._sentence = self._looked = 0

    def no_reply(self, why: str) -> Failure:
        return Failure("no_reply", self._language, model=self._model, detail=sentence("no_reply", why, self._language))

    def feed(self, piece: str, *, is_end: bool = False) -> Iterator[str]:
        """What may be shown now."""
        self.text += piece
        if self._at == 0 and not self._may_begin(is_end=is_end):
            return
        cut, why = self._cut()
        if cut is not None:
            self.text, self.is_over = self.text[:cut].rstrip(), True
            if not self.text.strip():
                raise self.no_reply(why)
        elif (circle := self._circle()) is not None:
            self.text, self.is_over = self.text[:circle], True
            if self._at > circle:
                self._at = circle
                yield Instead(self.text)
                return
        before = self.text
        sure = self._sure(is_end=is_end or self.is_over)
        if is_end and not self.text.strip() and before.strip():  # Nothing but what she always says.
            if not self._is_last:
                raise self.no_reply("again")
            self.text, sure = before, len(before)
        shown, self._at = self.text[self._at : sure], max(self._at, sure)
        if shown:
            yield shown

    # ---- the beginning

    def _may_begin(self, *, is_end: bool) -> bool:
        """Whether it is clear that this begins a reply. Raises Failure where it begins none."""
        bare, message = self.text.strip(), self._request.text.strip()
        if not bare:
            return False
        low = bare.casefold()
        if why := next((why for opening, why in _OPENINGS.items() if low.startswith(opening)), ""):
            raise self.no_reply(why)
        if not is_end and any(opening.startswith(low) for opening in _OPENINGS):
            return False
        if _JSON.match(bare) and not self._wants_json():
            if not is_end:
                return False
            if bare[-1] in "}`" and _is_object(bare):
                raise self.no_reply("json")
        if self._is_last:
            return True
        for words, why in ((message, "echo"), (self._said[-1] if self._said else "", "again")):
            if is_telling(words) and words.startswith(bare):
                if not is_end:
                    return False
                if words == bare:
                    raise self.no_reply(why)
        return self._is_in_language(bare, is_end=is_end)

    def _wants_json(self) -> bool:
        wishes = self._request.wishes
        return "json" in self._request.text.casefold() or bool(wishes.get("response_format") or wishes.get("tools"))

    def _is_in_language(self, bare: str, *, is_end: bool) -> bool:
        """Whether the reply is in the language of the message; False while that is open. It is not asked where the message is in
        another language than the character's or names one, nor where she spoke another before. Raises Failure."""
        message = self._request.text
        is_han = has_han(message)
        if (
            is_han != (self._language == "zh")
            or not any(map(str.isalpha, message))
            or _NAMES_A_LANGUAGE.search(message)
        ):
            return True
        if any(not _has_letters_of(one, is_han=is_han) for one in self._said[-1:]):
            return True
        letters = [char for char in _CODE.sub("", bare) if char.isalpha()]
        if not letters or _has_letters_of("".join(letters), is_han=is_han):
            return bool(letters) or is_end
        if len(letters) >= (LETTERS if is_han and not is_end else LETTERS // 2):
            raise self.no_reply("language")
        return is_end

    # ---- on the way

    def _cut(self) -> tuple[int | None, str]:
        """Where the reply ends before its time, and why: at a line of the user's, or at a token of a template."""
        line = self.text.rfind("\n", 0, self._at) + 1
        places = [(match.start(), "user") for match in [self._label.search(self.text, line)] if match]
        places += [(match.start(), "template") for match in [_TEMPLATE.search(self.text, self._at)] if match]
        return min((one for one in places if one[0] >= self._at), default=(None, ""))

    def _sure(self, *, is_end: bool) -> int:
        """Up to where the text may be shown: not what may become a user's label, a token, or a sentence that she always says."""
        if self._stale:
            self._leave_out(is_end=is_end)
        if is_end:
            return len(self.text)
        ends = [len(self.text)]
        if begun := _TEMPLATE_BEGUN.search(self.text):
            ends.append(begun.start())
        line = self.text.rfind("\n") + 1
        tail = self.text[line:].strip(" \t*").replace(":", "：").casefold()
        if line >= self._at and any(f"{label.casefold()}**".startswith(tail) for label in self._labels):
            ends.append(line)
        tail = self.text[self._sentence :].strip()
        if self._sentence >= self._at and any(sentence.startswith(tail) for sentence in self._stale):
            ends.append(self._sentence)
        return max(self._at, min(ends))

    def _leave_out(self, *, is_end: bool) -> None:
        while match := _SENTENCE.match(self.text, self._sentence):
            self._judge(match.end())
        if is_end:
            self._judge(len(self.text))

    def _judge(self, end: int) -> None:
        """A sentence up to ``end``: it goes where she always says it, and nothing of it is shown."""
        if self._sentence >= self._at and self.text[self._sentence : end].strip() in self._stale:
            self.text = self.text[: self._sentence] + self.text[end:]
        else:
            self._sentence = end

    def _circle(self) -> int | None:
        """Where the first round of a circle ends, if the text has come to go round in one."""
        text = self.text
        if len(text) - self._looked < LETTERS:
            return None
        self._looked = len(text)
        for unit in range(1, LOOP_UNIT + 1):
            start = len(text) - max(LOOP_CHARS, LOOP_TIMES * unit)
            if start >= 0 and text[start + unit :] == text[start:-unit] and re.search(r"\w", text[-unit:]):
                while start and text[start - 1] == text[start - 1 + unit]:
                    start -= 1
                return start + unit
        return None


def is_telling(words: str) -> bool:
    return len(words) >= (TELLING if has_han(words) else 2 * TELLING)


def _in_each(replies: Sequence[str]) -> frozenset[str]:
    """The telling sentences that stand in each of the replies, where there are enough of them."""
    if len(replies) < LOOK_BACK:
        return frozenset()
    sentences = [{one.strip() for one in _SENTENCE.findall(f"{reply}\n")} for reply in replies]
    return frozenset(one for one in set.intersection(*sentences) if is_telling(one) and not _NO_PROSE.search(one))


def _has_letters_of(text: str, *, is_han: bool) -> bool:
    """Whether a text has letters of one of the two scripts: of Japanese and Korean, which write some Chinese characters, none."""
    if re.search(r"[\u3040-\u30ff\uac00-\ud7af]", text):
        return False
    return bool(HAN_CHARACTER.search(text)) if is_han else bool(re.search(r"[A-Za-z]", text))


def _is_object(text: str) -> bool:
    try:
        return bool(json_object(text))
    except ValueError:
        return False
