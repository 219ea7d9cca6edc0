"""The files that a card comes in: PNG, JSON and CHARX. Read by what they hold, whatever they are called.

``read`` keeps the decoded object as it came, and beside it what the file holds besides: a picture without its card, a CHARX
whole. ``written`` puts a card back.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from moechat.cards import book, png
from moechat.cards import card as cards
from moechat.cards.card import Card
from moechat.errors import DataError
from moechat.store import zips

Kind = Literal["png", "json", "charx"]
KINDS: tuple[Kind, ...] = ("png", "json", "charx")
OLD, NEW = "chara", "ccv3"
CARD = "card.json"
_ICON_SCHEMES = ("embeded://", "embedded://", "__asset:")
_PICTURE = 32 << 20


@dataclass(frozen=True)
class CardFile:
    """A card as it came. ``picture`` is a PNG without a card in it, b"" where there is none; ``charx`` is the file itself."""

    kind: Kind
    card: Card
    picture: bytes = b""
    charx: bytes = b""


def read(data: bytes, file: Path | str) -> CardFile | None:
    """The card in a file's bytes; None where it is of another kind. Raises DataError where it is a card and cannot be read."""
    if data.startswith(png.SIGNATURE):
        card = _in_png(data, file)
        return None if card is None else CardFile("png", card, png.without(data, (OLD, NEW), file))
    if zips.is_zip(data):
        return _in_charx(data, file)
    value = cards.decoded(data, file) if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" else None
    return CardFile("json", value) if isinstance(value, dict) and cards.is_card(value) else None


def _in_png(data: bytes, file: Path | str) -> Card | None:
    """The card of a picture. ``ccv3`` comes before ``chara``, unless both are the same card: then the first is the one that
    was meant, and the other was made of it."""
    held = {key: _card(text, file) for key, text in png.texts(data, (OLD, NEW), file).items()}
    if len(held) < 2:
        return next(iter(held.values()), None)
    first = next(iter(held))
    is_same = (
        cards.upgraded(held[OLD], "v3") == cards.upgraded(held[NEW], "v3")
        or cards.for_older_readers(held[NEW]) == held[OLD]
    )
    return held[first] if is_same else held[NEW]


def _in_charx(data: bytes, file: Path | str) -> CardFile | None:
    archive = zips.Zip(data, file)
    if CARD not in archive.names:
        return None
    card = _card(archive.read(CARD, cards.LARGEST), file)
    return CardFile("charx", card, _icon(card, archive), data)


def _card(text: bytes, file: Path | str) -> Card:
    value = cards.decoded(text, file)
    if not cards.is_card(value):
        raise DataError(file, "holds something that is no character card: neither `data` nor a name and a description")
    card: Card = value
    return card


def _icon(card: Card, archive: zips.Zip) -> bytes:
    """The picture of a CHARX: its icon called main, else its first icon, where that is a PNG that lies in it."""
    assets = book.only(cards.data_of(card).get("assets"), list)
    icons = [one for one in assets if isinstance(one, dict) and one.get("type") == "icon"]
    for icon in sorted(icons, key=lambda one: one.get("name") != "main"):
        uri = str(icon.get("uri", ""))
        path = next((uri.removeprefix(scheme) for scheme in _ICON_SCHEMES if uri.startswith(scheme)), "")
        if path in archive.names:
            with contextlib.suppress(DataError):  # A picture that cannot be read is no reason to refuse the card.
                data = archive.read(path, _PICTURE)
                return png.without(data, (OLD, NEW), path)
    return b""


# ---- writing


def written(kind: Kind, card: Card, *, picture: bytes = b"", charx: bytes = b"") -> bytes:
    """The bytes of a file with this card. ``picture`` is a PNG (without one a plain one is made), ``charx`` the file whose other
    content is kept. Raises DataError."""
    if kind == "json":
        return _json(card, indent=2)
    if kind == "png":
        name = str(cards.field(card, "name") or "")
        return png.with_texts(picture or png.plain(name), _chunks(card), "the picture")
    files: dict[str, bytes] = {CARD: _json(card, indent=2)}
    if charx:
        archive = zips.Zip(charx, "card.charx")
        files |= {name: archive.read(name, zips.MAX_BYTES) for name in archive.names if name != CARD}
    elif picture:
        files["assets/icon/images/main.png"] = picture
    return zips.zipped(files)


def _chunks(card: Card) -> Mapping[str, bytes]:
    """The card as older and newer programs read it, the form that it has first."""
    if cards.form_of(card) == "v3":
        return {NEW: _json(card), OLD: _json(cards.for_older_readers(card))}
    return {OLD: _json(card), NEW: _json(cards.upgraded(card, "v3"))}


def _json(value: Any, indent: int | None = None) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=indent).encode("utf-8")
