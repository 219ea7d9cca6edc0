"""Time expressions, Chinese and English: a text and a moment give spans. It imports nothing else of MoeChat.

``resolve`` reads the times of a text, ``asks`` tells whether a message asks about them, ``shown`` writes a moment the way
it stands before a memory. ``WIDTHS`` are the widths of vague words in days.
"""

from moechat.when.moving import moved, moves
from moechat.when.periods import Anchors
from moechat.when.reader import LONGEST_READ, SecondReader, Use, both_ends, resolve, second_reader
from moechat.when.shapes import WIDTHS
from moechat.when.span import Precision, Span, precision_of, shown
from moechat.when.tense import asks

__all__ = [
    "LONGEST_READ",
    "WIDTHS",
    "Anchors",
    "Precision",
    "SecondReader",
    "Span",
    "Use",
    "asks",
    "both_ends",
    "moved",
    "moves",
    "precision_of",
    "resolve",
    "second_reader",
    "shown",
]
