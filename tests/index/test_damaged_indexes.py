"""Indexes are derived also when they are damaged: whatever happens to a file of one, that one is made anew."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.houses import CHARACTER, Home, answer, say_each, shown, understanding

QUESTION = "我的猫叫什么"
EVENT = {
    "text": "汤圆第一次看了医生", "sources": [1], "subject": "汤圆", "predicate": "看", "object": "医生", "importance": 6,
    "keywords": ["汤圆"], "topic": "宠物->猫",
}  # fmt: skip


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip_the_head(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(bytes(byte ^ 0xFF for byte in data[:64]) + data[64:])


def flip_everything(path: Path) -> None:
    path.write_bytes(bytes(byte ^ 0x5A for byte in path.read_bytes()))


def flip_the_tail(path: Path) -> None:
    data = path.read_bytes()
    half = len(data) // 2
    path.write_bytes(data[:half] + bytes(byte ^ 0xFF for byte in data[half:]))


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\x01" * 77)


def make_it_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "x").write_bytes(b"x")


def delete(path: Path) -> None:
    path.unlink()


def break_the_header(path: Path) -> None:
    """Of an archive of arrays: NumPy raises an error of the tokenizer over it."""
    path.write_bytes(path.read_bytes().replace(b",)", b",+", 1))


DAMAGES = (
    break_the_header, cut, empty, flip_the_head, flip_everything, flip_the_tail, zero, append, make_it_a_folder, delete,
)  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A house whose indexes hold words, vectors, episodes and topics."""
    folder = tmp_path_factory.mktemp("written")
    home = Home.build(folder)
    with home.agent(understanding(lambda count: answer(count, events=[EVENT]))) as agent:
        say_each(home, agent, "我养了一只猫，叫汤圆", "今天带汤圆去看了医生", "周末想去爬山")
        agent.settle_indexes()
    return folder


def index_files(folder: Path) -> Iterator[str]:
    """Those below ``.index`` that hold something, but for the cache, by name; a model's folder is called ``vectors``."""
    index = folder / "data" / "agents" / CHARACTER / ".index"
    for path in sorted(index.rglob("*")):
        if path.is_file() and path.suffix != ".lock" and not path.name.startswith("cache.db"):
            yield str(path.relative_to(index))


@pytest.mark.soak
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_each_file_of_an_index_in_each_way(
    written: Path, tmp_path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    for name in index_files(written):
        is_made_anew(written, tmp_path / "other", name, damage, caplog)


def test_each_file_of_an_index_in_some_way_and_each_way_on_some_file(
    written: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = list(index_files(written))
    assert {name.split("/")[0].split("-")[0] for name in names} >= {"lexical", "vectors", "manifest.json"}
    assert len(names) >= len(DAMAGES)
    for number, name in enumerate(names):
        is_made_anew(written, tmp_path / str(number), name, DAMAGES[number % len(DAMAGES)], caplog)


def is_made_anew(
    written: Path, folder: Path, name: str, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """A house like the written one recalls and is whole again after one file of its index was damaged."""
    if folder.exists():
        shutil.rmtree(folder)
    home = Home.build(folder)
    shutil.rmtree(home.data)
    shutil.copytree(written / "data", home.data)
    damage(home.folder / ".index" / name)
    caplog.clear()
    with caplog.at_level(logging.WARNING), home.open() as house:
        agent = house.agent()
        agent.settle_indexes()
        agent.jobs.embed_some()
        assert "汤圆" in shown(agent.recall(QUESTION)), name
        assert agent.topics.tree_text(100), name
        report = agent.verify()
        assert (report["problems"], report["without_vector"]) == ([], 0), name
        assert "make no sense" not in caplog.text, f"{name}: all indexes were made anew"
    with home.agent() as agent:
        assert agent.verify()["problems"] == [], f"{name}: it was not mended for good"
