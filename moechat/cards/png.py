"""PNG pictures that carry a card: its chunks are read, taken out, and put in.

A card lies in ``tEXt`` chunks, as base64 of UTF-8 JSON. Chunks that are compressed are never unpacked. Every other chunk stays
as it is, byte for byte.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from moechat.errors import DataError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MAX_CHUNKS = 100_000
_HEAD = struct.Struct(">I4s")
_COMPRESSED = (b"zTXt", b"iTXt")


class PngChunk(NamedTuple):
    """A chunk: its type, its content, and all of its bytes."""

    type: bytes
    content: bytes
    whole: bytes


def texts(data: bytes, keywords: tuple[str, ...], file: Path | str) -> dict[str, bytes]:
    """What stands under these keywords (in any case), decoded from base64, in the order of the file; the last of each counts.

    Raises DataError where the file is cut off, or a card in it is damaged or compressed.
    """
    held: dict[str, bytes] = {}
    for chunk in chunks(data, file):
        keyword = _keyword(chunk)
        if keyword not in keywords:
            continue
        if chunk.type in _COMPRESSED:
            raise DataError(file, "its card is compressed, which no card should be; export it again where it came from")
        if zlib.crc32(chunk.type + chunk.content) != struct.unpack(">I", chunk.whole[-4:])[0]:
            raise DataError(file, "its card is damaged (its checksum is wrong); get the file again")
        try:
            held[keyword] = base64.b64decode(chunk.content.partition(b"\0")[2], validate=False)
        except (binascii.Error, ValueError):
            raise DataError(file, "its card is damaged (no base64); get the file again") from None
    return held


def without(data: bytes, keywords: tuple[str, ...], file: Path | str) -> bytes:
    """The picture without the texts of these keywords. Raises DataError."""
    return SIGNATURE + b"".join(chunk.whole for chunk in chunks(data, file) if _keyword(chunk) not in keywords)


def with_texts(data: bytes, held: Mapping[str, bytes], file: Path | str) -> bytes:
    """The picture with these texts before its end, in their order. Raises DataError."""
    pieces = [SIGNATURE]
    for chunk in chunks(data, file):
        if chunk.type == b"IEND":
            pieces += [_chunk(b"tEXt", k.encode() + b"\0" + base64.b64encode(text)) for k, text in held.items()]
        pieces.append(chunk.whole)
    return b"".join(pieces)


def chunks(data: bytes, file: Path | str) -> Iterator[PngChunk]:
    """The chunks of a picture, up to its end. Raises DataError where it is no PNG or cut off."""
    if not data.startswith(SIGNATURE):
        raise DataError(file, "is no PNG picture")
    place = len(SIGNATURE)
    for _ in range(MAX_CHUNKS):
        if place + 12 > len(data):
            raise DataError(file, "the picture is cut off; get the file again")
        length, kind = _HEAD.unpack_from(data, place)
        end = place + 12 + length
        if end > len(data):
            raise DataError(file, "the picture is cut off; get the file again")
        yield PngChunk(kind, data[place + 8 : end - 4], data[place:end])
        if kind == b"IEND":
            return
        place = end
    raise DataError(file, f"has more than {MAX_CHUNKS:,} chunks; that is no picture")


def plain(name: str, width: int = 256, height: int = 384) -> bytes:
    """A picture of one soft colour, for a character that has none; the same name gives the same."""
    colour = bytes(160 + byte % 80 for byte in blake2b(name.encode("utf-8", "replace"), digest_size=3).digest())
    rows = (b"\0" + colour * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b"")


def _keyword(chunk: PngChunk) -> str:
    """The keyword of a text, in lower case; "" of any other chunk."""
    if chunk.type not in (b"tEXt", *_COMPRESSED):
        return ""
    return chunk.content[:80].partition(b"\0")[0].decode("latin-1").lower()


def _chunk(kind: bytes, content: bytes) -> bytes:
    return _HEAD.pack(len(content), kind) + content + struct.pack(">I", zlib.crc32(kind + content))
