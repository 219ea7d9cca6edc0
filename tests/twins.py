"""Stores that live through the same: one of files, one of rows in memory, and the slow oracle of lists. Another reads the files
as another process does.

A walk is made of random steps. Whatever a caller sees of the stores must be the same after each few of them.
"""

from __future__ import annotations

import pickle
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from moechat.clock import SetClock
from moechat.errors import MoeChatError
from moechat.model import Attachment, Episode, Event, Exchange, Fact, FactDraft, RefusedItem, Understanding
from moechat.store import disk, erasure, formats, records
from moechat.store.files import FileStore
from moechat.store.finding_files import notes_entry, notes_from
from moechat.store.formats import derived_id
from moechat.store.kinds import Store
from moechat.store.short_log import KEEP_WORDS
from moechat.store.table_store import MemoryStore, TableStore
from tests.houses import ZONE, moment
from tests.lists import ListStore
from tests.views import view

TALKS = ("", "", "计划", "Work, 2")
TEXTS = (
    "我喜欢绿茶", "I like TEA", "Éclair 很好吃", "昨天去了杭州", "ЖУК 在窗上", "好", "a: b\n  c: d", "  两个空格", "# 不是注释",
    "第一行\n\n第三行\n", "「引号」\"quotes\" 'single'", "🙂", "2025-05-20", "no", "", "我不喜欢茶了", "line 1", "计划去北京",
)  # fmt: skip
REPLIES = ("好。", "嗯，绿茶。", "Éclair!", "What TEA?", "  \n好", "杭州：西湖\n---\n断桥", "")
KEYWORDS = (("茶",), ("杭州", "西湖"), ("Éclair",), ())
TIMES = (
    "2025-03-01T08:00:00", "2025-03-01T08:00:00", "2025-03-01T23:59:59", "2025-03-02T00:00:00", "2024-12-31T12:00:00",
)  # fmt: skip

BY_ROW = ("exchanges.", "births", "episodes", "citing", "changes", "super", "reflections")


class Different(AssertionError):
    """The stores do not say the same."""


class Rows(MemoryStore):
    """Rows in memory that know what was forgotten when it comes back, as those of a database do."""

    bury = TableStore.bury
    written_anew = TableStore.written_anew


class Twins:
    """A walk over all stores. ``seed`` decides every step; ``skip`` leaves some out, to find the shortest walk that fails."""

    def __init__(self, folder: Path, seed: int, *, skip: Collection[int] = ()) -> None:
        self.folder, self.seed, self.skip = folder, seed, skip
        self.clock = SetClock(moment("2025-05-20T15:00:00"))
        self.lists = ListStore(clock=self.clock, zone=ZONE)
        self.rows = Rows(clock=self.clock, zone=ZONE)
        self.files, self.other = self._opened(), self._opened()
        self.on_the_way: list[str] = []
        self.taken: dict[str, Exchange] = {}
        self.is_renumbered = False
        self.steps: list[str] = []
        self.random = random.Random(seed)

    def _opened(self) -> Any:
        return FileStore(self.folder, clock=self.clock, zone=ZONE)

    def close(self) -> None:
        self.files.close()
        self.other.close()
        self.rows.close()

    # ---- all of them

    def both(self, do: Callable[[Store], Any]) -> Any:
        """Do the same to all. They give the same, or raise the same."""
        outcomes = [_outcome(do, store) for store in (self.files, self.lists, self.rows)]
        if outcomes[0] != outcomes[1] or outcomes[1] != outcomes[2]:
            raise Different(f"{self.told()}\nfiles, lists, rows: {outcomes}")
        return outcomes[0]

    def by_hand(self, do: Callable[[Store], Any]) -> None:
        """Do to those without files what a hand did to the files."""
        for store in (self.lists, self.rows):
            do(store)

    def compare(self) -> None:
        self.files.follow(all_files=True)
        self.other.follow(all_files=True)
        self._compare("files", view(self.files))
        self._compare("another store", view(self.other))
        self._compare("rows", view(self.rows))

    def compare_with_another_process(self) -> None:
        """It begins anew, reads all, and says what it sees."""
        program = [sys.executable, "-m", *self._told_by(), self.clock.now().isoformat()]
        done = subprocess.run(program, capture_output=True, check=True, cwd=Path(__file__).parents[1])
        self._compare("another process", pickle.loads(done.stdout))  # noqa: S301 - our own words

    def _told_by(self) -> Sequence[str]:
        """The module that tells what a process of its own sees, and what it is told where to look."""
        return ["tests.twins", str(self.folder)]

    def _compare(self, name: str, actual: Mapping[str, object]) -> None:
        expected = view(self.lists)
        differences = [
            f"{key}\nlists: {str(one)[:400]}\n{name}: {str(two)[:400]}"
            for key in {**expected, **actual}
            if (one := self._read(key, expected)) != (two := self._read(key, actual))
        ]
        if differences:
            raise Different("\n".join([self.told(), *differences[:8]]))

    def _read(self, key: str, seen: Mapping[str, object]) -> object:
        """Row numbers begin anew with an index: what stands in order of rows alone may stand in another."""
        value = seen.get(key)
        in_rows = isinstance(value, list) and key.startswith(BY_ROW) and "before" not in key
        return sorted(value, key=repr) if self.is_renumbered and in_rows else value  # type: ignore[arg-type]

    def told(self) -> str:
        return f"seed {self.seed}, at step {len(self.steps) - 1}:\n" + "\n".join(self.steps[-60:])

    # ---- what there is

    def some(self, ids: Collection[str]) -> str:
        return self.random.choice(sorted(ids)) if ids else "none"

    def exchange(self) -> str:
        """Some exchange, often one of the last."""
        ids = list(self.lists.tree.parents)
        if self.random.random() < 0.1:
            ids += [exchange.id for exchange in self.filed()]
        return self.random.choice(ids[-6:] if self.random.random() < 0.5 else ids) if ids else "none"

    def idle(self) -> list[str]:
        return [id_ for id_ in self.lists.tree.parents if id_ not in self.on_the_way]

    def filed(self) -> list[Exchange]:
        return [row.exchange for row in self.lists.exchanges.filed()]

    def episodes(self) -> list[Episode]:
        findings = self.lists.findings
        return list(findings.by_ids([id_ for id_, *_ in findings.births()]).values())

    def memories(self) -> list[str]:
        facts = [fact.id for fact in self.lists.findings.facts()]
        return [*self.lists.tree.parents, *facts, *(episode.id for episode in self.episodes())]

    def hits(self) -> list[dict[str, Any]]:
        ids = self.memories()
        chosen = self.random.sample(ids, min(len(ids), self.random.randrange(4)))
        dropped = {"dropped": "budget"} if self.random.random() < 0.2 else {}
        return [{"id": id_, "layer": "diary", "recipe": "meaning", **dropped} for id_ in chosen]

    def text(self) -> str:
        return self.random.choice(TEXTS)

    # ---- talk

    def talk(self) -> None:
        self._begin(self.random.choice(TALKS))
        self.finish()
        if self.random.random() < 0.5:
            self.both(lambda store: store.log.settle(self.lists.tree.spoken))

    def begin(self) -> None:
        self._begin(self.random.choice(TALKS))

    def _begin(self, talk: str) -> None:
        text, at = self.text(), self.clock.now()
        speaker = self.random.choice(["", "", "小红"])
        attachments = (Attachment("image", "a.png", "h1", "一杯 Tea"),) if self.random.random() < 0.2 else ()
        id_ = self.both(lambda store: store.log.begin(text, at, talk=talk, speaker=speaker, attachments=attachments))
        self.on_the_way.append(id_)
        self._stream(id_)

    def _stream(self, id_: str) -> None:
        if self.random.random() < 0.9:
            hits = self.hits()
            self.both(lambda store: store.log.rest(id_, [str(hit["id"]) for hit in hits]))
            for piece in self.random.choices(["好", "茶 ", "\n", "TEA"], k=self.random.randrange(4)):
                self.both(lambda store, piece=piece: store.replies.write(id_, piece))

    def finish(self) -> None:
        """A reply ends that is on the way."""
        if not self.on_the_way:
            return
        id_ = self.on_the_way.pop(self.random.randrange(len(self.on_the_way)))
        char, hits = self.random.choice(REPLIES), self.hits()
        status = self.random.choice(["done", "done", "stopped", "failed"])
        error = "it broke" if status == "failed" else ""
        self.both(lambda store: store.log.finish(id_, char, status, error=error, hits=hits, notice="") and None)

    def answer_again(self) -> None:
        id_ = self.exchange()
        if self.both(lambda store: store.log.answer_again(id_)) is None:
            self.on_the_way.append(id_)
            self._stream(id_)
            if self.random.random() < 0.8:
                self.finish()

    def settle(self) -> None:
        talk = self.random.choice([None, *TALKS])
        self.both(lambda store: store.log.settle(talk))

    # ---- changes of mind

    def correct(self) -> None:
        id_, side = self.exchange(), self.random.choice([{"user": self.text()}, {"char": self.text()}])
        if id_ not in self.on_the_way:
            self.both(lambda store: store.log.correct(id_, **side))

    def select(self) -> None:
        id_ = self.exchange()
        self.both(lambda store: store.log.select(id_))

    def choose(self) -> None:
        id_ = self.some([n.id for n in self.lists.tree.nodes.values() if len(n.variants) > 1] or self.idle())
        number = self.random.randrange(3)
        self.both(lambda store: store.log.select(id_, number))

    def retract(self) -> None:
        id_ = self.exchange()
        if id_ not in self.on_the_way:
            self.both(lambda store: store.log.retract(id_))

    def restore(self) -> None:
        id_ = self.some(self.lists.tree.retracted) if self.random.random() < 0.9 else self.exchange()
        self.both(lambda store: store.log.restore(id_))

    def cut(self) -> None:
        id_ = self.exchange()
        self.both(lambda store: store.log.cut(id_))

    # ---- understanding

    def roll(self) -> None:
        """As the roll does: the rules read what is pending, or a model does."""
        pending = [id_ for id_ in self.lists.tree.pending() if id_ in self.lists.exchanges.by_ids([id_])]
        others = [exchange.id for exchange in self.filed()]
        ids = pending[: self.random.randrange(1, 5)] if self.random.random() < 0.8 else []
        ids = ids or self.random.sample(others, min(len(others), self.random.randrange(1, 3)))
        if not ids or not self.lists.tree.taken_out().isdisjoint(ids):
            return
        by: Any = self.random.choice(["rules", "model"])
        events = tuple(self._event(ids) for _ in range(self.random.randrange(3)))
        facts = [self._fact(ids, by) for _ in range(self.random.randrange(3))]
        restated = {fact.id: ids[:1] for fact in self.lists.findings.facts() if self.random.random() < 0.15}
        tags = {id_: self.random.choice(["说茶", "tea: 好", ""]) for id_ in ids}
        keywords = {id_: self.random.choice(KEYWORDS) for id_ in ids}
        made = Understanding(tags, keywords, tuple(fact.draft for fact in facts), events, by=by)
        if by == "model":
            made = self._judged(made, ids)
        is_last = by == "model" or self.random.random() < 0.3
        self.both(lambda store: store.findings.merge(ids, made, facts, restated, understood=is_last))

    def _judged(self, made: Understanding, ids: Sequence[str]) -> Understanding:
        """With what it says of what was found before in these exchanges, and with refusals."""
        findings = self.lists.findings
        found = [fact.id for fact in findings.facts() if not set(ids).isdisjoint(fact.draft.sources)]
        events = [episode.id for episode in findings.citing(ids)]
        kept = frozenset(id_ for id_ in [*found, *events] if self.random.random() < 0.4)
        pairs = zip(made.events, [id_ for id_ in events if id_ not in kept], strict=False)
        replaces: dict[FactDraft | Event, tuple[str, ...]] = {event: (id_,) for event, id_ in pairs}
        doubtful = frozenset(event for event in made.events if self.random.random() < 0.2)
        refused = (RefusedItem("fact", self.text(), "example", tuple(ids[:1])),) if self.random.random() < 0.2 else ()
        trusted = self.random.random() < 0.7
        return replace(made, kept=kept, replaces=replaces, doubtful=doubtful, trusted=trusted, refused=refused)

    def _event(self, ids: Sequence[str]) -> Event:
        sources = tuple(self.random.sample(list(ids), self.random.randrange(1, min(3, len(ids) + 1))))
        start = self.clock.now() - timedelta(days=self.random.randrange(3))
        happened = self.random.choice([None, (start, start), (start, start + timedelta(hours=5))])
        text = self.random.choice(["喝了绿茶", "吃了 Éclair", "去杭州", "drank TEA", "见了ЖУК"])
        return Event(
            text, sources, "用户", keywords=self.random.choice(KEYWORDS), happened=happened,
            topic=self.random.choice(["", "生活->茶"]), status=self.random.choice(["done", "planned"]),
            precision="day" if happened else "unknown", importance=self.random.choice([0.5, 0.25]),
        )  # fmt: skip

    def _fact(self, ids: Sequence[str], by: Any) -> Fact:
        sources = tuple(self.random.sample(list(ids), self.random.randrange(1, min(3, len(ids) + 1)))) if ids else ()
        text = self.random.choice(["用户喜欢绿茶", "用户住在杭州", "用户吃 Éclair", "user likes TEA", "用户住在: 北京"])
        older = [fact.id for fact in self.lists.findings.facts() if self.random.random() < 0.2]
        kind: Any = "ruling" if self.random.random() < 0.2 else "attribute"
        if kind == "ruling":
            text, older = f"不再如此：{text}", [*older[:1], *(one.id for one in self.episodes()[:1])]
        draft = FactDraft(text, sources, kind, keyword=self.random.choice(["", "住址", "Tea"]), target="x")
        links = tuple(id_ for id_ in older[:2] if id_ != derived_id(text, sources))
        at = self.lists.exchanges.get(sources[0]).at if sources else self.clock.now()
        consolidated, mark = self.random.random() < 0.1, self.random.choice(["", "care"])
        confirmed = self.random.choice([None, True, False])
        id_ = derived_id(text, sources)
        return Fact(id_, at, replace(draft, mark=mark), links, by, consolidated, confirmed)

    def reflect(self) -> None:
        if evidence := [episode for episode in self.episodes() if self.random.random() < 0.3][:3]:
            sources = tuple(dict.fromkeys(source for one in evidence for source in one.event.sources))
            event = Event(self.random.choice(["用户爱茶", "用户 often travels"]), sources)
            ids, expires = tuple(one.id for one in evidence), self.clock.now() + timedelta(days=30)
            id_ = derived_id(event.text, sources)
            thought = Episode(id_, self.clock.now(), event, "reflection", "model", ids, 1, expires)
            self.both(lambda store: store.findings.put([thought]))

    def by_owner(self) -> None:
        """The owner writes a fact or an event, or corrects one."""
        choice = self.random.randrange(4)
        ids = [e.id for e in self.filed()[-3:]] if self.random.random() < 0.6 else []
        fact, facts = self._fact(ids, "owner"), self.lists.findings.facts()
        if choice == 0:
            self.both(lambda store: store.findings.put([fact]))
        elif choice == 1 and facts:
            old = self.random.choice(facts)
            new = replace(old, draft=replace(old.draft, text=fact.text + "！"), by="owner")
            self.both(lambda store: store.findings.put([new]))
        elif choice == 2:
            key = formats.OWN + derived_id(fact.text, (self.clock.now().isoformat(),))
            event = self._event(ids or [key])
            episode = Episode(derived_id(event.text, event.sources), self.clock.now(), event, "event", "owner")
            self.both(lambda store: store.findings.put([episode]))
        elif choice == 3 and self.episodes():
            one = self.random.choice(self.episodes())
            others = [e.id for e in self.episodes() if e.id != one.id][:1]
            changed = replace(
                one, event=replace(one.event, text=one.event.text + "了"), by="owner", supersedes=tuple(others)
            )
            self.both(lambda store: store.findings.put([changed]))

    def drop_some(self) -> None:
        facts = [fact.id for fact in self.lists.findings.facts() if self.random.random() < 0.2]
        episodes = [episode.id for episode in self.episodes() if self.random.random() < 0.2]
        self.both(lambda store: store.findings.take_out(facts))
        self.both(lambda store: store.findings.take_out(episodes))

    def mark(self) -> None:
        """The archive, pins and uses, as the keeper writes them."""
        ids, op = self.memories(), self.random.choice(["archive", "restore", "pin", "unpin", "touch"])
        chosen = sorted(self.random.sample(ids, min(len(ids), 2)))
        entry = {"op": op, "ids": chosen} | ({"at": self.clock.now().isoformat()} if op == "touch" else {})

        def write(store: Store) -> None:
            with store.writing():
                store.state.write([entry])

        self.both(write)

    def queue(self) -> None:
        ids = [self.exchange()]
        if ids[0] in self.lists.tree and ids[0] not in self.on_the_way:
            self.both(lambda store: store.requeue(ids))

    # ---- imports and forgetting

    def import_talk(self) -> None:
        base = self.random.choice(TIMES)
        count = self.random.randrange(1, 5)
        days = self.random.choice([0, 0, 1])
        rows = [
            Exchange("", moment(base) + timedelta(days=days * n), self.text(), self.random.choice(REPLIES))
            for n in range(count)
        ]
        talk, by = self.random.choice(["旧", "旧 2", ""]), self.random.choice(["", "rules"])
        self.both(lambda store: store.imports.add(rows, talk=talk, by=by))

    def without_a_log(self) -> None:
        """Exchanges of an older program, which stand in their day files alone."""
        at = moment(self.random.choice(TIMES)) - timedelta(days=400 + self.random.randrange(3))
        row = Exchange(f"{at:%Y%m%d-%H%M%S}-{self.random.randrange(3)}", at, self.text(), "好")
        if not self.lists.exchanges.by_ids([row.id]) and row.id not in self.lists.state.missing:

            def add(store: Store) -> None:
                with store.writing():
                    store.days.add([row])

            self.both(add)

    def take_back(self) -> None:
        batch = self.some(self.lists.tree.batches)
        if self.both(lambda store: sorted(erasure.take_back(store, batch).ids)) and self.random.random() < 0.6:
            self.erase()

    def forget(self) -> None:
        exchanges = [self.exchange()] if self.random.random() < 0.6 else []
        facts = [fact.id for fact in self.lists.findings.facts() if self.random.random() < 0.1]
        episodes = [episode.id for episode in self.episodes() if self.random.random() < 0.1]

        def forget(store: Store) -> list[str]:
            lost = erasure.gone(store, exchanges=exchanges, episodes=episodes, facts=facts)
            erasure.forget(store, lost)
            return sorted([*lost.ids, *lost.kept])

        self.both(forget)
        if self.random.random() < 0.6:
            self.erase()

    def erase(self) -> None:
        self.both(lambda store: erasure.erase(store, lambda: None))

    # ---- by hand

    def edit_day(self) -> None:
        """A hand corrects what was said, takes it out of its file, or puts it there again."""
        tree, state = self.lists.tree, self.lists.state
        away = tree.retracted | tree.taken_out()
        rows = [e for e in self.filed() if e.id not in away and e.id not in self.on_the_way]
        if self.taken and self.random.random() < 0.5:
            id_ = self.some(self.taken)
            back = self.taken.pop(id_)
            if id_ in state.missing and id_ not in away:
                self._write_by_hand(disk.day_file(back.at, ZONE), id_, formats.exchange_entry(back))
                self.by_hand(lambda store: _found(store, back))
        elif rows:
            old = self.random.choice(rows)
            name = self.files.exchanges.by_ids([old.id])[old.id].file
            if self.random.random() < 0.3:
                self.taken[old.id] = old
                self._write_by_hand(name, old.id, b"")
                self.by_hand(lambda store: _missing(store, old.id))
                return
            new = replace(old, user=f"{self.text()}（改于第 {len(self.steps)} 步）")
            self._write_by_hand(name, old.id, formats.exchange_entry(new))
            self.by_hand(lambda store: store.log.correct(old.id, user=new.user))

    def edit_facts(self) -> None:
        facts, choice = self.lists.findings.facts(), self.random.randrange(3)
        if choice == 0:
            text = self.random.choice(["用户怕狗", "user plays Go"])
            self._write_by_hand(disk.CORE, f"hand-{len(text)}", f"hand-{len(text)}: {text}\n".encode())
            fact = Fact(f"hand-{len(text)}", None, FactDraft(text, ()), by="owner")
            self.by_hand(lambda store: store.findings.put([fact]))
        elif facts and choice == 1:
            old = self.random.choice(facts)
            new = replace(old, draft=replace(old.draft, text=old.text + "（改）"), by="owner")
            self._write_by_hand(disk.CORE, old.id, formats.fact_entry(replace(new, by=old.by)))
            self.by_hand(lambda store: store.findings.put([new]))
        elif facts:
            id_ = self.random.choice(facts).id
            self._write_by_hand(disk.CORE, id_, b"")
            self.by_hand(lambda store: store.findings.take_out([id_]))

    def edit_notes(self) -> None:
        if not (episodes := self.episodes()):
            return
        old = self.random.choice(episodes)
        ((_, name),) = self.files.cache.files_of("episodes", [old.id])
        _, parsed = records.read(self.folder / name)
        held, _ = formats.each(parsed, self.folder / name, ZONE, notes_from)
        noted = next(one for one in held if any(episode.id == old.id for episode in one.episodes))
        if self.random.random() < 0.5:
            new = replace(old, event=replace(old.event, text=old.event.text + "（改）"))
            episodes = tuple(new if episode.id == old.id else episode for episode in noted.episodes)
            self._write_by_hand(name, noted.key, notes_entry(replace(noted, episodes=episodes)))
            self.by_hand(lambda store: store.findings.put([replace(new, by="owner")]))
        else:
            left = replace(noted, episodes=tuple(episode for episode in noted.episodes if episode.id != old.id))
            self._write_by_hand(name, noted.key, b"" if left.is_empty else notes_entry(left))
            self.by_hand(lambda store: store.findings.take_out([old.id]))

    def _write_by_hand(self, name: str, key: str, block: bytes) -> None:
        path = self.folder / name
        data, parsed = records.read(path)
        if key in parsed.bounds:
            data = records.spliced(data, parsed.bounds, {key: block})
        else:
            data += block
        records.replace(path, data)
        self.files.follow(all_files=True)

    # ---- the program

    def crash(self) -> None:
        """Whatever was on the way ends in the middle; at times the index is gone as well."""
        self.on_the_way.clear()
        self.files.close()
        self.lists.close()
        self.rows.close()
        if self.random.random() < 0.4:
            self._lose_indexes()
        self.files = self._opened()
        self.both(lambda store: store.resume())

    def _lose_indexes(self) -> None:
        self.other.close()
        shutil.rmtree(self.folder / disk.INDEX, ignore_errors=True)
        self.is_renumbered = True
        self.other = self._opened()

    def change_places(self) -> None:
        """The other process writes from now on."""
        if not self.on_the_way:
            self.files, self.other = self.other, self.files
            self.files.follow()

    def compact(self) -> None:
        if self.random.random() < 0.5:
            self.clock.advance(days=self.random.choice([8, 30]))
        before = self.clock.now() - KEEP_WORDS
        self.both(lambda store: store.compact())
        self.both(lambda store: store.rewrite_log(before))

    def wait(self) -> None:
        self.clock.advance(**self.random.choice([{"seconds": 1}, {"minutes": 7}, {"hours": 11}, {"days": 2}]))

    # ---- a walk

    compared_every = 5

    @property
    def steps_by_weight(self) -> Mapping[Callable[[Any], None], float]:
        return STEPS

    def walk(self, count: int) -> int:
        """Take so many steps. Returns how many were taken. Raises Different."""
        for number in range(count):
            self.random.seed(f"{self.seed}.{number}")
            (step,) = self.random.choices(list(self.steps_by_weight), list(self.steps_by_weight.values()))
            if number in self.skip:
                continue
            self.steps.append(f"{number} {step.__name__}")
            try:
                step(self)
                if number % self.compared_every == 0 or number == count - 1:
                    self.compare()
            except Different:
                raise
            except Exception as error:
                raise Different(f"{self.told()}\n{type(error).__name__}: {error}") from error
        return len(self.steps)


STEPS: dict[Callable[[Twins], None], float] = {
    Twins.talk: 20, Twins.begin: 4, Twins.finish: 3, Twins.answer_again: 5, Twins.settle: 3, Twins.correct: 5,
    Twins.select: 4, Twins.choose: 3, Twins.retract: 4, Twins.restore: 3, Twins.cut: 2, Twins.roll: 12,
    Twins.reflect: 2, Twins.by_owner: 5, Twins.drop_some: 1, Twins.mark: 4, Twins.queue: 1, Twins.import_talk: 3,
    Twins.without_a_log: 2, Twins.take_back: 2, Twins.forget: 4, Twins.erase: 1, Twins.edit_day: 4, Twins.edit_facts: 3,
    Twins.edit_notes: 3, Twins.crash: 3, Twins.change_places: 3, Twins.compact: 2, Twins.wait: 6,
}  # fmt: skip


def _found(store: Store, back: Exchange) -> None:
    with store.writing():
        store.days.add([back])
        store.state.write([{"op": "found", "ids": [back.id]}])


def _missing(store: Store, id_: str) -> None:
    with store.writing():
        store.days.remove([id_])
        store.state.write([{"op": "missing", "ids": [id_], "at": store.clock.now().isoformat()}])


def _outcome(do: Callable[[Store], Any], store: Store) -> Any:
    try:
        return do(store)
    except MoeChatError as error:
        return type(error).__name__


def walked(folder: Path, seed: int, *, skip: Collection[int] = (), is_told: bool = False) -> int:
    """One walk from its beginning to its end, ``is_told`` by another process as well. Returns the number of steps."""
    twins = Twins(folder, seed, skip=skip)
    try:
        count = twins.walk(8 + random.Random(seed).randrange(33))
        if is_told:
            twins.compare_with_another_process()
        return count
    finally:
        twins.close()


def tell(folder: Path, now: str) -> None:
    """What a process of its own sees, as bytes."""
    store = FileStore(folder, clock=SetClock(datetime.fromisoformat(now)), zone=ZONE)
    sys.stdout.buffer.write(pickle.dumps(view(store)))
    store.close()


if __name__ == "__main__":
    tell(Path(sys.argv[1]), sys.argv[2])
