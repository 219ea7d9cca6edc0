"""The log of one owner: what may happen to an exchange, and the entries that say so.

An entry is an object with ``op``; ``growth`` says what each means.

    exchange   id parent at user           a message has entered; its reply is on the way
               [talk speaker attachments stamp]  ... in which talk, said by whom, with what, under which random id
    variant    id char status              a reply ended (done, stopped, failed); answering again adds another
               [error hits spans notice key]  ... what went wrong, what it rests on by id, which times were understood;
                                           a key such as 0+1f2e: it takes the place of reply 0, with which it goes on
    choose     id variant                  this reply stands
    select     id                          the next message of its talk follows this exchange
    settle     id                          its answer stands
    filed      id sha                      it stands in its day file, with this text hash
    edit       id at user char             its words were corrected
               [speaker attachments]       ... as a whole
    retract    id [unshown]                its words were taken back (``unshown``: a program shows them no more)
    dropped    ids                         ... and what was derived from them is gone
    restore    id                          ... and given back
    cut        id                          the context begins anew after this exchange
    freeze     id ids                      in the context that begins with this exchange, the stable part of the prompt has
                                           these facts and events
    understood ids by                      the roll has understood these (``model`` or ``rules``)
    requeue    ids                         ... and these have to be understood again
    reread     since [again until]         talk from this date on that the rules alone have read (``again``: or a model) is
                                           requeued bit by bit, back from ``until`` (null: no more)
    past       rows                        settled exchanges folded together, without text: [id, parent, sha, (talk)] each
    import     batch talk at by rows       exchanges of another program: [id, sha] each, of whole talks [id, parent, sha, talk];
                                           ``by``: who has understood them
    imported   batch                       ... and all of them stand in their day files
    forget     n ids [batch]               exchanges, episodes and facts that are being erased, and hidden until then
    forgotten  n                           how often something was erased
    talk       talk [title pinned away]    what its owner calls a talk, and whether it is in the lists
               [cast]                      ... who is in it, where they are several
               [waiting passed]            ... exchanges that the memories of the others are still to be told of (operation by
                                           id: whatever changes one waits by itself), and those of which they have been
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from moechat.clock import local
from moechat.errors import DiskError, Locked, NotFound, Withheld
from moechat.model import Attachment, Exchange, Status
from moechat.store import disk
from moechat.store.entries import Entry, Node, Reread, Variant, edit_entry, exchange_entry, reread_entry, variant_entry
from moechat.store.formats import text_hash
from moechat.store.json_lines import Part
from moechat.store.protocols import Unit
from moechat.store.tree import goes_on_with

log = logging.getLogger(__name__)
PATIENCE_S = 1.0  # How long an ended reply waits for the owner's lock; then whoever holds it next stores it.
BROKEN_OFF = "broken off: the program ended before the reply did"


class Log:
    """The verbs of one owner's log. They are the same for every kind of store; ``unit`` gives the parts that differ.

    It has more than twenty methods because each thing that may happen to an exchange is one of its own.
    """

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._keys: dict[str, str] = {}

    # ---- one turn

    def begin(
        self,
        text: str,
        at: datetime,
        *,
        talk: str = "",
        speaker: str = "",
        attachments: Sequence[Attachment] = (),
        begins: bool = False,
        heard: str = "",
        passes: bool = False,
        key: str = "",
    ) -> str:
        """Record a message durably, and settle what came before in its talk. ``begins``: it follows nothing of the talk, another
        branch of it from its root on. ``heard``: its id in the memories of all who hear it; no reply is on the way, it is
        recorded once, and this memory ``passes`` it on to the others or is told by one. ``key``: see ``stamp_of``. Returns the
        new id."""
        unit = self._unit
        unit.foresee(heard or _id_at(unit, at))
        with unit.writing("begin"):
            if heard in unit.tree:
                return heard
            settled = self._settle_entries(talk)
            id_ = heard or _new_id(unit, at)
            node = Node(
                id_, None if begins else unit.tree.leaf(talk), at.isoformat(), text, talk, speaker, tuple(attachments)
            )
            node.stamp = stamp_of(key, id_)
            if heard:
                from_another = [] if passes else [{"op": "talk", "talk": talk, "passed": [id_]}]
                unit.record([*settled, exchange_entry(node), variant_entry(id_, Variant("", "done")), *from_another])
                self._follow_settling(settled)
                return id_
            unit.replies.start(id_)
            try:
                unit.record([*settled, exchange_entry(node)])
            except BaseException:
                unit.replies.release(id_)
                raise
            self._follow_settling(settled)
        return id_

    def answer_again(self, id_: str, *, goes_on: bool = False) -> None:
        """Another reply to the same message is on the way, or (``goes_on``) more of the chosen one. What follows stays.

        Raises MoeChatError where another process is answering it, NotFound where its words are gone.
        """
        with self._unit.writing("answer again"):
            self._require(id_)
            self._unit.exchanges.get(id_)
            self._unit.replies.start(id_)
            number = f"{max(self._unit.tree.node(id_).chosen, 0)}+" if goes_on else ""
            self._keys[id_] = number and f"{number}{secrets.token_hex(4)}"

    def rest(self, id_: str, ids: Collection[str]) -> None:
        """Say what the reply that is about to stream rests on: exchanges, episodes and facts by id."""
        key = self._keys.get(id_, "")
        if "+" in key:
            ids = {*ids, *(hit["id"] for hit in self._unit.tree.node(id_).hits if "id" in hit)}
        else:
            key = self._keys[id_] = secrets.token_hex(4)
        self._unit.replies.rest(id_, ids, key)

    def finish(
        self,
        id_: str,
        char: str,
        status: Status,
        *,
        error: str = "",
        hits: Sequence[Mapping[str, Any]] = (),
        spans: Sequence[Sequence[str]] = (),
        notice: str = "",
    ) -> Exchange:
        """A reply ended; it is durable when this returns, also while another process holds the owner's lock.

        ``notice`` is what was shown beside it. An exchange may be finished any number of times: each adds a reply, but for one
        that goes on: with words, which are the whole of it, it takes its own place, without any it stays as it is.
        Raises Withheld where what the reply rests on was forgotten, DiskError where it can be stored nowhere.
        """
        unit = self._unit
        key = self._keys.get(id_) or secrets.token_hex(4)
        reply = Variant(char, status, error, [dict(hit) for hit in hits], spans, notice, key)
        if goes_on_with(reply.key) is not None:
            if not char:
                self._keys.pop(id_, None)
                unit.replies.release(id_)
                return unit.exchanges.get(id_)
            reply.hits = [*reply.hits, *(hit for hit in unit.tree.node(id_).hits if hit not in reply.hits)]
        entry = variant_entry(id_, reply)
        keep = True
        try:
            with unit.writing("finish", patience_s=PATIENCE_S):
                if char:
                    unit.replies.require(id_)
                self._add_reply(id_, entry)
                unit.replies.drop(id_)
            keep = False
        except Withheld:
            keep = False  # nothing of it stays
            raise
        except (Locked, DiskError):
            unit.replies.end(id_, entry)
            self._keys.pop(id_, None)
            return replace(unit.tree.nodes[id_].exchange(), char=char, status=status)
        finally:
            unit.replies.release(id_, keep=keep)
        self._keys.pop(id_, None)
        return unit.exchanges.get(id_)

    def fold(self) -> None:
        """Take the replies that have ended out of their part files, under the lock."""
        unit = self._unit
        for ids in unit.tree.forgets.values():  # a kill may have come between the decision and this
            unit.replies.withhold(ids)
        for part in unit.replies.ended():
            is_there = part.id in unit.tree and part.id not in unit.tree.taken_out()
            if is_there and not (part.key and any(one.key == part.key for one in unit.tree.node(part.id).variants)):
                entry = part.entry or variant_entry(part.id, _broken_off(part, unit.tree.node(part.id)))
                if (
                    part.entry or part.text or "+" not in part.key
                ):  # One that goes on and said nothing more stands as it is.
                    self._add_reply(part.id, entry)
            unit.replies.drop(part.id)

    def _add_reply(self, id_: str, entry: Entry) -> None:
        unit = self._unit
        filed = unit.tree.node(id_).filed
        if unit.tree.node(id_).folded:
            if not (words := unit.exchanges.of([id_])):
                unit.read_all()
                words = unit.exchanges.of([id_])
            if not entry["char"] or not words:
                return  # the reply never came, or a hand has taken out what it answers
            unit.record([edit_entry(words[id_])])  # the log has the words of the first reply again
        unit.record([entry])
        if filed and not unit.tree.node(id_).filed:
            unit.findings.drop([id_])
            self.file_settled()

    def settle(self, talk: str | None = None) -> list[str]:
        """Settle all exchanges (of one talk, or of all) whose reply has ended. Returns their ids."""
        with self._unit.writing("settle"):
            entries = self._settle_entries(talk)
            if entries:
                self._unit.record(entries)
            self._follow_settling(entries)
        return [entry["id"] for entry in entries if entry["op"] == "settle"]

    def _settle_entries(self, talk: str | None) -> list[Entry]:
        """Open exchanges settle; one whose process died before its reply began is marked so. One that a day file has was settled
        before, and the log lost its end: what the day file has stands.
        """
        entries: list[Entry] = []
        ended = [node for node in self._unit.tree.open(talk) if not self._unit.replies.is_alive(node.id)]
        rows = self._unit.exchanges.by_ids([node.id for node in ended]) if ended else {}
        for node in ended:
            filed = rows[node.id].exchange if node.id in rows else None
            if not node.variants:
                reply = Variant(filed.char, "done") if filed and filed.char else Variant("", "failed", BROKEN_OFF)
                entries.append(variant_entry(node.id, reply))
            elif filed and text_hash(filed) != text_hash(node.exchange()):
                entries.append(edit_entry(filed))
            entries.append({"op": "settle", "id": node.id})
        return entries

    def _follow_settling(self, settled: Sequence[Entry]) -> None:
        """What stands in the log follows from it; what a full disk stops now is done when somebody settles next."""
        try:
            with disk.in_words():
                self._touch(settled)
                self.file_settled()
        except DiskError as problem:
            log.warning("settled exchanges wait in the log: %s", problem)

    def _touch(self, entries: Sequence[Entry]) -> None:
        """Count the use of the memories that settled replies rest on: every memory that entered a prompt, once per
        exchange. With an exchange, the events that cite it are counted, too.
        """
        unit = self._unit
        settled = [unit.tree.nodes[entry["id"]] for entry in entries if entry["op"] == "settle"]
        hits = (hit for node in settled for hit in node.hits)
        used = dict.fromkeys(hit["id"] for hit in hits if "id" in hit and "dropped" not in hit)
        citing = unit.findings.citing(list(used))
        used |= dict.fromkeys(episode.id for episode in citing if episode.kind == "event")
        unit.state.touch(list(used), unit.clock.now())

    # ---- changes of mind

    def select(self, id_: str, variant: int | None = None) -> None:
        """Make this exchange the leaf of its talk (branch here, or go back to a branch), or choose another of its replies,
        which keeps what follows."""
        unit = self._unit
        with unit.writing("select"):
            self._require(id_)
            if variant is None:
                unit.record([{"op": "select", "id": id_}])
                return
            node = unit.tree.node(id_)
            if not 0 <= variant < max(1, len(node.variants)):
                raise NotFound(f"exchange {id_} has {len(node.variants)} replies; variant {variant} is not there")
            if node.folded or variant == node.chosen:
                return
            filed = node.filed
            unit.record([{"op": "choose", "id": id_, "variant": variant}])
            if filed and not node.filed:
                unit.findings.drop([id_])
                self.file_settled()

    def correct(self, id_: str, *, user: str | None = None, char: str | None = None) -> None:
        """Change the words of a message or a reply; what follows stays, what was derived is dropped and queued anew."""
        unit = self._unit
        with unit.writing("correct"):
            old = unit.exchanges.get(id_)
            new = replace(old, user=old.user if user is None else user, char=old.char if char is None else char)
            if id_ not in unit.tree:
                unit.findings.drop([id_])
                unit.days.write(new)
                return
            unit.record([edit_entry(new)])
            unit.findings.drop([id_])
            self.file_settled()

    def tell_talk(self, talk: str, **changes: Any) -> None:
        """Give a talk another ``title`` or ``cast`` (as a row), say whether it is ``pinned`` or put ``away``, or which of its
        exchanges were ``passed`` on. Raises NotFound; one with a cast may begin so."""
        with self._unit.writing("tell talk"):
            if "cast" not in changes:
                self._unit.tree.require_talk(talk)
            self._unit.record([{"op": "talk", "talk": talk, **changes}])

    def retract(self, id_: str, *, unshown: bool = False) -> None:
        """Take an exchange back: nobody recalls it, and nothing that was derived from it stays."""
        with self._unit.writing("retract"):
            self._require(id_)
            self._unit.record([{"op": "retract", "id": id_} | ({"unshown": True} if unshown else {})])
            self.drop_retracted()

    def drop_retracted(self) -> None:
        """Drop what was derived from words that were taken back, where that is still to be done."""
        unit = self._unit
        if ids := sorted(unit.tree.undropped):
            unit.findings.drop(ids)
            unit.record([{"op": "dropped", "ids": ids}])

    def drop_outdated(self) -> None:
        """Drop what was derived from words that were taken back or corrected, where a kill or a full disk kept that from being
        done."""
        unit = self._unit
        waiting = {node.id: node.exchange() for node in unit.tree.unfiled()}
        rows = unit.exchanges.by_ids(list(waiting))
        outdated = [id_ for id_, row in rows.items() if row.sha != text_hash(waiting[id_])]
        unit.findings.drop(list(unit.findings.notes_of(outdated)))
        self.drop_retracted()

    def restore(self, id_: str) -> None:
        with self._unit.writing("restore"):
            self._require(id_)
            self._unit.record([{"op": "restore", "id": id_}])
            self.file_settled()

    def cut(self, id_: str) -> None:
        """The context begins anew after this exchange."""
        with self._unit.writing("cut"):
            if id_ in self._unit.tree and id_ not in self._unit.tree.cuts:
                self._unit.record([{"op": "cut", "id": id_}])

    def freeze(self, id_: str, ids: Sequence[str]) -> None:
        """The stable part of the prompt has these facts and events as long as the context begins with this exchange."""
        with self._unit.writing("freeze"):
            if id_ in self._unit.tree and id_ not in self._unit.tree.frozen:
                self._unit.record([{"op": "freeze", "id": id_, "ids": list(ids)}])

    def reread(self, wish: Reread | None, ids: Sequence[str] = ()) -> None:
        """What old talk a model is to read; None: no more. ``ids`` are queued with it, or nothing is."""
        with self._unit.writing("reread"):
            queue = [{"op": "requeue", "ids": list(ids)}] if ids else []
            self._unit.record([*queue, reread_entry(wish)])

    # ---- day files

    def file_settled(self) -> None:
        """Put every settled exchange that stands in the log alone into its day file."""
        unit = self._unit
        with unit.writing("file"):
            self.drop_outdated()
            for node in unit.tree.unfiled():
                exchange = node.exchange()
                if node.id not in unit.state.returned and unit.days.write(exchange):
                    unit.record([{"op": "filed", "id": node.id, "sha": text_hash(exchange)}])
                    if node.id in unit.state.missing:  # a hand had taken it out
                        unit.state.write([{"op": "found", "ids": [node.id]}])

    def _require(self, id_: str) -> None:
        unit = self._unit
        if id_ in unit.tree and id_ not in unit.tree.taken_out():
            return
        if id_ in unit.tree or not unit.exchanges.by_ids([id_]):
            raise NotFound(f"there is no exchange {id_!r}; `moechat log list` shows them")
        raise NotFound(f"exchange {id_!r} stands in a day file without a log entry; edit the day file instead")


def stamp_of(key: str, id_: str) -> str:
    """The random id that an exchange carries. Of one that was sent with a key, it tells whether another request is the same one
    sent again, to whichever process."""
    return hashlib.sha256(f"{key}\0{id_}".encode()).hexdigest()[:16] if key else secrets.token_hex(8)


def _id_at(unit: Unit, at: datetime) -> str:
    return local(at, unit.zone).strftime("%Y%m%d-%H%M%S")


def _new_id(unit: Unit, at: datetime) -> str:
    id_, n = (base := _id_at(unit, at)), 1
    while id_ in unit.tree or unit.exchanges.by_ids([id_]):
        n += 1
        id_ = f"{base}-{n}"
    return id_


def _broken_off(part: Part, node: Node) -> Variant:
    """What was shown of a reply whose process died."""
    if part.withheld:
        return Variant("", "failed", "withheld")
    broken = Variant(part.text, "stopped" if part.text else "failed", BROKEN_OFF)
    return replace(broken, key=part.key, hits=node.hits) if "+" in part.key else broken
