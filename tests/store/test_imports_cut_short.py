"""An import that was cut short goes on by itself, whatever happens meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from filelock import FileLock

from moechat.errors import DataError, DiskError, Locked
from moechat.model import Exchange
from moechat.store import erasure
from moechat.store.files import FileStore
from moechat.store.formats import text_hash
from tests.houses import Home, told

ROWS = [("20240501-100000-b", "很久以前的话"), ("20240502-100000-b", "又一天的话")]


def begun(store: FileStore, home: Home) -> str:
    """An import of which the log knows, and no more: its process was killed then."""
    first = home.clock.now() - timedelta(days=400)
    rows = [Exchange(id_, first + timedelta(days=n), text, "好。", talk="从前") for n, (id_, text) in enumerate(ROWS)]
    store.stage("b", rows)
    with store.writing():
        store.record([{
            "op": "import", "batch": "b", "talk": "从前", "at": first.isoformat(), "by": "rules",
            "rows": [[row.id, text_hash(row)] for row in rows],
        }])  # fmt: skip
    store._staging["b"].release()  # as the system does when a process dies
    return str(rows[0].at.date())


def forget(store: FileStore, id_: str) -> None:
    erasure.forget(store, erasure.gone(store, exchanges=[id_], episodes=(), facts=()))
    erasure.erase(store, lambda: None)


def test_forgetting_something_else_leaves_it_to_go_on(home: Home, store: FileStore) -> None:
    begun(store, home)
    forget(store, told(store, home.clock, "别的话", settle=True))
    store.imports.finish()
    assert [one.user for one in store.exchanges.of([id_ for id_, _ in ROWS]).values()] == [text for _, text in ROWS]
    assert store.tree.hidden().isdisjoint(id_ for id_, _ in ROWS)


def test_taken_back_it_does_not_go_on(home: Home, store: FileStore) -> None:
    begun(store, home)
    erasure.take_back(store, "b")
    erasure.erase(store, lambda: None)
    store.resume()
    store.imports.finish()
    assert "b" not in store.tree.batches and store.exchanges.times() == []
    assert list((home.folder / "imports").glob("*.yaml")) == []


def test_a_broken_day_file_stops_no_opening_and_the_import_goes_on_when_it_is_mended(home: Home) -> None:
    store = home.store()
    day = begun(store, home)
    path = home.folder / "memorys" / f"{day}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("x: [\n", encoding="utf-8")
    store.close()
    with home.open() as house:
        agent = house.agent()
        agent.jobs.tick()
        assert {id_ for id_, _ in ROWS} <= agent.store.tree.hidden()
        assert [one for one in agent.problems() if "an import does not go on" in one and path.name in one]
        path.unlink()
        agent.jobs.tick()
        assert [one.user for one in agent.store.exchanges.of([id_ for id_, _ in ROWS]).values()] == [
            text for _, text in ROWS
        ]
        assert agent.store.tree.batches["b"].done
        assert not [one for one in agent.problems() if "an import" in one]


def test_what_another_process_finished_meanwhile_is_no_failure(home: Home) -> None:
    store, other = home.store(), home.store()
    begun(store, home)
    other.follow()
    store.imports.finish()
    other.imports.finish()  # it has not seen that the import is done, and the stage is gone
    assert other.tree.batches["b"].done


def test_a_stage_that_cannot_be_removed_is_held_by_nobody(home: Home, store: FileStore) -> None:
    begun(store, home)
    stage = home.folder / "imports" / "b.yaml"
    stage.unlink()
    stage.mkdir()  # no unlink removes it
    with pytest.raises(DiskError):
        store.unstage("b")
    with FileLock(stage.with_suffix(".lock"), timeout=0):
        pass


def test_what_is_gone_is_not_called_imported(home: Home, store: FileStore) -> None:
    begun(store, home)
    (home.folder / "imports" / "b.yaml").unlink()
    store.resume()
    assert not store.tree.batches["b"].done
    with pytest.raises(DataError, match="take-back b"):
        store.imports.finish()


def test_the_owners_lock_is_not_waited_for_beyond_patience(home: Home, store: FileStore) -> None:
    told(store, home.clock, "你好")
    with (
        FileLock(home.folder / ".lock"),
        pytest.raises(Locked, match="another process"),
        store.writing("test", patience_s=0.05),
    ):
        pass
    with store.writing("test"):
        pass


def test_who_waits_for_another_thread_is_not_sent_to_close_another_process(home: Home, store: FileStore) -> None:
    told(store, home.clock, "你好")

    def waits() -> str:
        with pytest.raises(Locked) as refused, store.writing("test", patience_s=0.05):
            pass
        return refused.value.reason

    with ThreadPoolExecutor(1) as pool, store.writing("test"):
        reason = pool.submit(waits).result()
    assert "this program itself" in reason and "process" not in reason
