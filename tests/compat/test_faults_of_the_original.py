"""Faults of the original that no test of a room holds: what CONTRACTS.md (A) lists besides stands in the room that it is of."""

from __future__ import annotations

import pickle
from pathlib import Path

from moechat.memory.world_book import WorldBook
from tests.houses import Home, answer, fact, recalled, say, shown, understanding


def test_pickles_in_a_shared_folder_are_never_loaded(home: Home, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "boom",))

    for name in ("memorys/2025-05-20.pkl", "memorys/2025-5-20.pkl", "core_mem.pkl", "data_base/tmp/x.pkl", "log.pkl"):
        path = home.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(Bomb()))
    with home.open() as house:
        agent = house.agent()
        say(agent, "昨天我们聊了什么")
        agent.finish()
        agent.verify()
    assert not (tmp_path / "boom").exists()


def test_no_module_of_the_package_can_unpickle_or_evaluate(root: Path) -> None:
    import ast

    for path in (root / "moechat").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "marshal", "shelve", "dill", "joblib"}, path
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", "")
                assert called not in ("eval", "exec"), path
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant), path
                assert node.value.value is False, path


def test_spaces_stay_in_facts(home: Home) -> None:
    def make(count: int) -> str:
        return answer(count, facts=[fact("The user likes New York", 1, keyword="likes", target="New York")])

    with home.open(understanding(make)) as house:
        agent = house.agent()
        say(agent, "I like New York")
        agent.finish()
        assert any("New York" in f.text for f in agent.layers.core.current())
    assert "New York" in (home.folder / "core_mem.yml").read_text(encoding="utf-8")


def test_a_deleted_world_book_file_is_answered_no_more(home: Home) -> None:
    folder = home.folder / "data_base"
    folder.mkdir()
    (folder / "a.yaml").write_text("断桥: 西湖上的桥\n", encoding="utf-8")
    with home.open() as house:
        agent = house.agent()
        assert "西湖上的桥" in shown(recalled(agent, "断桥在哪"))
        (folder / "a.yaml").unlink()
        assert "西湖上的桥" not in shown(recalled(agent, "断桥在哪"))
    assert not WorldBook(folder, None).entries
