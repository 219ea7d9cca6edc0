"""What the log says: the path of each talk, what is hidden, and what waits to be done.

The same class serves every kind of store; it is fed with the entries of a log (``log`` lists them) and knows no file.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice, pairwise

from moechat.errors import NotFound
from moechat.store.entries import PASSED_ON, Batch, Cast, Entry, Node, Reread, Rows, Talk, Variant
from moechat.store.formats import attachments_from, without_notice

log = logging.getLogger(__name__)


class Growth:
    """Fed by ``apply``, entry by entry, in log order.

    It has more than twenty methods because each kind of entry is applied by one of its own.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.parents: dict[str, str | None] = {}
        self.talks: dict[str, Talk] = {"": Talk("")}
        self.spoken = ""
        """The talk that was last spoken in."""
        self.cuts: set[str] = set()
        self.frozen: dict[str, Sequence[str]] = {}
        """The facts and events of the prompt's stable part, by the exchange with which a context begins."""
        self.gone_on: set[str] = set()
        """What was imported as whole talks: a context begins behind it, and is shown its end."""
        self.retracted: set[str] = set()
        self.unshown: set[str] = set()
        """Those of them that a program shows no more: nobody took them back here."""
        self.undropped: set[str] = set()
        """Those retracted exchanges from which something derived may still be there."""
        self.reread: Reread | None = None
        self.batches: dict[str, Batch] = {}
        self.forgets: dict[int, frozenset[str]] = {}
        """What is being forgotten: exchanges, episodes and facts by id, under the number of the forgetting."""
        self.forgettings = 0
        """How often something was forgotten."""
        self.masks = 0
        """Grows whenever what is hidden may have changed."""
        self._talk_of: dict[str, str] = {}
        self._number: dict[str, int] = {}  # Of the first ones, as far as somebody asked.
        self._past: dict[str, str] = {}
        self._open: dict[str, None] = {}
        self._unfiled: dict[str, None] = {}
        self._pending: dict[str, None] = {}
        self._unread: dict[str, None] = {}

    def apply(self, entries: Iterable[Entry]) -> None:
        """Apply entries.

        They have the forms of ``entries``. What is said of an exchange whose line was lost is passed over.
        """
        for entry in entries:
            try:
                _STEPS[entry["op"]](self, entry)
                for id_ in entry.get("ids", [entry.get("id")]) if entry["op"] in PASSED_ON else ():
                    self.talks[self.talk_of(id_)].changed(entry["op"], id_)
            except LookupError as error:
                log.warning("an entry of the log was passed over: %s of nothing that is there (%s)", entry["op"], error)

    # ---- entries

    def _exchange(self, entry: Entry) -> None:
        id_, parent, talk = entry["id"], entry["parent"], self._talk(entry.get("talk", ""))
        self._place(id_, parent, talk)
        name, attachments = self.talk_of(id_), attachments_from(entry.get("attachments"))
        node = Node(id_, self.parents[id_], entry["at"], entry["user"], name, entry.get("speaker", ""), attachments)
        node.stamp = entry.get("stamp", "")
        self.nodes[id_] = node
        self._sort(node)
        self.spoken, self.talks[name].away = name, False

    def _place(self, id_: str, parent: str | None, talk: Talk) -> None:
        """Give an exchange its place in a talk, once: what it follows came before it, so that no path is a circle."""
        if id_ in self.parents:
            return
        if parent is not None and parent not in self.parents:
            parent = talk.newest  # its line was lost: what came before stays on the path
        is_branch = parent != talk.newest or talk.leaf != talk.newest
        self.parents[id_] = parent
        if talk.name:
            self._talk_of[id_] = talk.name
        talk.newest = talk.leaf = id_
        if is_branch:  # At last: another thread may read meanwhile, and keeps what it read until this number changes.
            talk.forked = True
            self.masks += 1

    def _place_run(self, run: Mapping[str, str], parent: str | None, talk: Talk) -> None:
        """Give new exchanges (text hash by id) of a talk their places, each after the one before it. A log begins with years of
        them."""
        ids = list(run)
        self._place(ids[0], parent, talk)
        self.parents.update(zip(islice(ids, 1, None), ids, strict=False))
        if talk.name:
            self._talk_of.update(dict.fromkeys(run, talk.name))
        self._past.update(run)
        talk.newest = talk.leaf = ids[-1]

    def _variant(self, entry: Entry) -> None:
        node, variant = self.nodes[entry["id"]], _variant(entry)
        if variant.key and any(one.key == variant.key for one in node.variants):
            return
        before, number = node.variant, goes_on_with(variant.key)
        if variant.char and node.variants and node.variants[0].is_silence:
            node.variants, node.filed, node.understood = node.variants[1:], "", ""
        if variant.char and number is not None and number < len(node.variants):
            node.variants[number] = variant
        else:
            number = len(node.variants)
            node.variants.append(variant)
        if variant.char or len(node.variants) == 1:  # a reply that never came takes no other's place
            self._choose(node, number, before)

    def _choose(self, node: Node, number: int, before: Variant | None) -> None:
        chosen = node.variants[number]
        node.chosen = number
        if node.filed and before and (before.char, before.status) != (chosen.char, chosen.status):
            node.filed = node.understood = ""
        self._sort(node)

    def _select(self, entry: Entry) -> None:
        id_ = entry["id"]
        talk = self.talks[self.talk_of(id_)]
        if id_ in self.parents and id_ != talk.leaf:
            talk.leaf, talk.forked = id_, True
            self.masks += 1
        if "variant" in entry:
            self._choose(self.nodes[id_], entry["variant"], self.nodes[id_].variant)
        self.spoken = talk.name

    def _settle(self, entry: Entry) -> None:
        node = self.nodes[entry["id"]]
        node.settled = True
        self._sort(node)

    def _filed(self, entry: Entry) -> None:
        id_ = entry["id"]
        if id_ in self.nodes:
            self.nodes[id_].filed = entry["sha"]
            self._sort(self.nodes[id_])
        else:
            self._past[id_] = entry["sha"]

    def _edit(self, entry: Entry) -> None:
        node = self.node(entry["id"])
        node.filed = node.understood = ""
        node.folded = False
        node.at, node.user, node.speaker = entry["at"], entry["user"], entry.get("speaker", "")
        node.attachments, node.stamp = attachments_from(entry.get("attachments")), entry.get("stamp", node.stamp)
        if node.variant is None:
            node.variants, node.chosen = [_variant({"status": "done", **entry})], 0
        else:
            node.variant.char, node.variant.notice = without_notice(entry["char"])
            node.variant.status = entry.get("status", "done")
        self._sort(node)

    def _retract(self, entry: Entry) -> None:
        self.retracted.add(entry["id"])
        (self.unshown.add if entry.get("unshown") else self.unshown.discard)(entry["id"])
        self.undropped.add(entry["id"])
        self._hide(entry["id"])

    def _restore(self, entry: Entry) -> None:
        self.retracted.discard(entry["id"])
        self.unshown.discard(entry["id"])
        self.undropped.discard(entry["id"])
        node = self.node(entry["id"])
        node.understood = ""
        self.masks += 1
        self._sort(node)

    def _hide(self, id_: str) -> None:
        """What is hidden waits for nothing."""
        self.masks += 1
        self._unfiled.pop(id_, None)
        self._pending.pop(id_, None)
        self._unread.pop(id_, None)

    def _understood(self, entry: Entry) -> None:
        for id_ in entry["ids"]:
            if id_ in self.nodes:
                self.nodes[id_].understood = entry["by"]
            self._pending.pop(id_, None)
            self._unread.pop(id_, None)

    def _requeue(self, entry: Entry) -> None:
        for id_ in entry["ids"]:
            if id_ in self.parents:
                node = self.node(id_)
                node.understood = ""
                self._sort(node)

    def _past_rows(self, entry: Entry) -> None:
        """Rows of which each follows the one before it are placed together."""
        rows = entry["rows"]
        breaks = [i for i, (one, next_) in enumerate(pairwise(rows), 1) if next_[1] != one[0] or next_[3:] != one[3:]]
        for start, end in pairwise([0, *breaks, len(rows)]):
            run = {id_: sha for id_, _, sha, *_ in rows[start:end]}
            if len(run) == end - start > 1 and self.parents.keys().isdisjoint(run):
                self._place_run(run, rows[start][1], self._talk(*rows[start][3:]))
                continue
            for id_, parent, sha, *name in rows[start:end]:
                self._place(id_, parent, self._talk(*name))
                self._past[id_] = sha

    def _import(self, entry: Entry) -> None:
        """A batch stands as it was first named, and takes in what was not there."""
        goes_on = len(entry["rows"][0]) > 2
        new = {row[0]: row for row in entry["rows"]} if goes_on else dict(entry["rows"])
        if not self.parents.keys().isdisjoint(new):
            new = {id_: row for id_, row in new.items() if id_ not in self.parents}
        if not new or entry["batch"] in self.batches:
            return
        batch = Batch(entry["talk"], entry["at"], entry.get("by", ""), list(new), goes_on=goes_on)
        self.batches[entry["batch"]] = batch
        if goes_on:
            self._past_rows({"rows": list(new.values())})
            self.gone_on.update(new)
        else:
            talk = self._talk(entry["talk"])
            self._place_run(new, talk.newest, talk)
        self.masks += 1

    def _imported(self, entry: Entry) -> None:
        batch = self.batches[entry["batch"]]
        batch.done = True
        if not batch.goes_on:
            self.cuts.add(batch.ids[-1])  # what was said elsewhere is remembered, and no part of a context
        self.masks += 1
        if not batch.by:
            self._unread.update(dict.fromkeys(batch.ids))

    def _forget(self, entry: Entry) -> None:
        batch = self.batches.get(entry.get("batch", ""))
        ids = frozenset(entry["ids"]).union(batch.ids if batch else ())
        self.forgettings = max(self.forgettings, entry["n"])
        self.forgets[entry["n"]] = ids
        for id_ in ids:
            self._hide(id_)

    def _forgotten(self, entry: Entry) -> None:
        self.forgettings = max(self.forgettings, entry["n"])

    def _sort(self, node: Node) -> None:
        """Note what an exchange waits for."""
        is_hidden = node.id in self.retracted or any(node.id in ids for ids in self.forgets.values())
        stands = node.settled and not is_hidden
        self._unread.pop(node.id, None)  # what was imported and changed here is understood like any other
        for waiting, holds in (
            (self._open, not node.settled),
            (self._unfiled, stands and not node.filed),
            (self._pending, stands and not node.understood),
        ):
            if holds:
                waiting[node.id] = None
            else:
                waiting.pop(node.id, None)

    # ---- what the entries are about

    def _talk(self, name: str = "") -> Talk:
        return self.talks.setdefault(name, Talk(name))

    def node(self, id_: str) -> Node:
        """The exchange's node. A folded one is unfolded without its words, which stand in the day file."""
        if id_ not in self.nodes:
            understood = "" if id_ in self._pending or id_ in self._unread else "model"
            self.nodes[id_] = Node(
                id_, self.parents[id_], "", talk=self.talk_of(id_), settled=True, filed=self._past.get(id_, ""),
                understood=understood, folded=True,
            )  # fmt: skip
        return self.nodes[id_]

    def talk_of(self, id_: str) -> str:
        """The name of the talk that an exchange belongs to."""
        return self._talk_of.get(id_, "")


def goes_on_with(key: str) -> int | None:
    """The number of the reply that one of this key goes on with, and whose place it takes; None where it is one of its own."""
    number, plus, _ = key.partition("+")
    return int(number) if plus and number.isdecimal() and len(number) < 9 else None


def _variant(entry: Entry) -> Variant:
    char, note = without_notice(entry["char"])
    return Variant(
        char, entry["status"], entry.get("error", ""), Rows(entry.get("hits", ())), entry.get("spans", ()),
        entry.get("notice", note), entry.get("key", ""),
    )  # fmt: skip


def _reread(entry: Entry) -> Reread | None:
    if entry["since"] is None:
        return None
    until = entry.get("until")
    return Reread(entry["since"], entry.get("again", False), (until[0], until[1]) if until else None)


_STEPS: dict[str, Callable[[Growth, Entry], None]] = {
    "exchange": Growth._exchange,
    "variant": Growth._variant,
    "select": Growth._select,
    "choose": lambda tree, entry: tree._choose(node := tree.nodes[entry["id"]], entry["variant"], node.variant),
    "settle": Growth._settle,
    "filed": Growth._filed,
    "edit": Growth._edit,
    "retract": Growth._retract,
    "restore": Growth._restore,
    "dropped": lambda tree, entry: tree.undropped.difference_update(entry["ids"]),
    "cut": lambda tree, entry: tree.cuts.add(entry["id"]),
    "freeze": lambda tree, entry: tree.frozen.update({entry["id"]: entry["ids"]}),
    "understood": Growth._understood,
    "requeue": Growth._requeue,
    "reread": lambda tree, entry: setattr(tree, "reread", _reread(entry)),
    "past": Growth._past_rows,
    "import": Growth._import,
    "imported": Growth._imported,
    "forget": Growth._forget,
    "forgotten": Growth._forgotten,
    "talk": lambda tree, entry: tree._talk(entry["talk"]).take(entry),
}


class Tree(Growth):
    """All exchanges of an owner, in talks. Fed by ``apply``. It has more than twenty methods because each question is one."""

    def __init__(self) -> None:
        super().__init__()
        self._masked: tuple[int, frozenset[str], frozenset[str]] = (0, frozenset(), frozenset())

    # ---- exchanges

    def __contains__(self, id_: object) -> bool:
        return id_ in self.parents

    def filed_hash(self, id_: str) -> str:
        """The text hash of what was filed, "" where nothing was."""
        return self.nodes[id_].filed if id_ in self.nodes else self._past.get(id_, "")

    def leaf(self, talk: str = "") -> str | None:
        """The exchange of a talk that its next message follows, None where nothing was said."""
        return self.talks[talk].leaf if talk in self.talks else None

    def require_talk(self, name: str) -> None:
        """Raises NotFound where there is no such talk."""
        if name not in self.talks:
            raise NotFound(f"there is no talk {name[:60]!r}; `moechat talks list` shows them")

    def cast(self, talk: str) -> Cast | None:
        """Who is in a talk, where they are several."""
        return self.talks[talk].cast if talk in self.talks else None

    def is_character(self, talk: str, name: str) -> bool:
        """Whether somebody in a talk of several is a character."""
        cast = self.cast(talk)
        return cast is not None and any(one.name == name for one in cast.members)

    def ancestors(self, id_: str | None) -> Iterator[str]:
        """The exchange itself, its parent and so on to the root."""
        while id_ in self.parents:
            yield id_
            id_ = self.parents.get(id_)

    def path(self, talk: str = "") -> Iterator[str]:
        """The ids on the selected path of a talk, newest first."""
        return self.ancestors(self.leaf(talk))

    def context(self, talk: str = "") -> list[str]:
        """Ids on the path of a talk after its last cut, oldest first, without what is hidden."""
        ids: list[str] = []
        hidden = self.hidden()
        for id_ in self.path(talk):
            if id_ in self.cuts or id_ in self.gone_on:
                break
            if id_ not in hidden:
                ids.append(id_)
        return ids[::-1]

    # ---- what is hidden

    def off_path(self) -> frozenset[str]:
        """Exchanges of other branches than the selected one of their talk."""
        return self._masks()[1]

    def is_forgotten(self, batch: str) -> bool:
        """Whether an import is being taken back."""
        ids = self.batches[batch].ids
        return any(not lost.isdisjoint(ids) for lost in self.forgets.values())

    def hidden(self) -> frozenset[str]:
        """What no recipe may see: other branches, what was retracted, what is being forgotten or imported.

        The same object as long as it is the same.
        """
        return self._masks()[2]

    def _masks(self) -> tuple[int, frozenset[str], frozenset[str]]:
        if self._masked[0] != self.masks:
            masks, forked = self.masks, {talk.name: talk.leaf for talk in list(self.talks.values()) if talk.forked}
            off = {id_ for id_ in list(self.parents) if self.talk_of(id_) in forked} if forked else set[str]()
            for leaf in forked.values():
                off.difference_update(self.ancestors(leaf))
            self._masked = (masks, frozenset(off), frozenset(off | self.retracted | self.taken_out()))
        return self._masked

    def taken_out(self) -> frozenset[str]:
        """What nobody may see any more, or not yet: being forgotten, being imported."""
        importing = (batch.ids for batch in list(self.batches.values()) if not batch.done)
        return frozenset().union(*list(self.forgets.values()), *importing)

    # ---- what waits

    def open(self, talk: str | None = None) -> list[Node]:
        """Exchanges (of one talk, or of all) that have not settled, oldest first."""
        nodes = [self.nodes[id_] for id_ in list(self._open)]
        return [node for node in nodes if talk is None or node.talk == talk]

    def unfiled(self) -> list[Node]:
        """Settled exchanges that stand in the log alone."""
        return [self.nodes[id_] for id_ in self._oldest_first(self._unfiled)]

    def pending(self, talk: str | None = None) -> list[str]:
        """Settled exchanges that nobody has understood yet, oldest first."""
        return [id_ for id_ in self._oldest_first(self._pending) if talk is None or self.talk_of(id_) == talk]

    def unread(self) -> list[str]:
        """Imported exchanges that the rules have not read yet, oldest first. No model is asked about them."""
        return self._oldest_first(self._unread)

    def numbered(self) -> list[str]:
        """All exchanges in the order in which the log names them."""
        return list(self.parents)

    def _oldest_first(self, ids: Iterable[str]) -> list[str]:
        ids = list(ids)
        if len(ids) > 1 and (first := len(self._number)) < len(self.parents):
            new = list(self.parents)[first:]  # a list at once: another thread may add to it meanwhile
            self._number.update(zip(new, count(first), strict=False))
        return sorted(ids, key=self._number.__getitem__) if len(ids) > 1 else ids
