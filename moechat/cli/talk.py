"""Commands for the talk: ``say``, ``recall`` and ``log``."""

from __future__ import annotations

import argparse

from moechat.agent import Agent
from moechat.cli.session import agent_of, open_house, print_json, warn
from moechat.cli.when import span_as_json
from moechat.curation.talks import talk_as_json, talks
from moechat.errors import MoeChatError, NotFound
from moechat.model import Hit, Recollection
from moechat.turn import Delta, Ended, Recalled

FIRST_TALK = "(first)"
"""How the talk without a name is listed."""


def say(args: argparse.Namespace) -> int:
    with open_house(args) as house:
        house.warm()
        agent = agent_of(house, args)
        recollection = Recollection()
        for event in agent.in_talk(args.talk or "").talk(args.text):
            if isinstance(event, Recalled):
                recollection = event.recollection
            elif isinstance(event, Delta) and not args.json:
                print(event.text, end="", flush=True)
            elif isinstance(event, Ended):
                ended = event
        agent.finish()
        if args.json:
            print_json(_turn_as_json(recollection, ended))
        else:
            print(f"\n\n{ended.notice}" if ended.notice else "")
        warn(agent.problems())
    if ended.error:
        warn([ended.error])
    return 1 if ended.error else 0


def recall(args: argparse.Namespace) -> int:
    if not args.text.strip():
        raise MoeChatError("the message is empty; write something first")
    with open_house(args, looks=True) as house:
        house.warm()
        agent = agent_of(house, args)
        recollection = agent.in_talk(args.talk or "").recall(args.text)
        warn([*agent.problems(), *recollection.notices])
    if args.json:
        print_json(_recollection_as_json(recollection))
        return 0
    for span in recollection.spans:
        print(f"{span.phrase}: {span.start:%Y-%m-%d %H:%M} – {span.end:%Y-%m-%d %H:%M}")
    for span in recollection.empty_spans:
        print(f"{span.phrase}: no record")
    if recollection.unread_until:
        print(f"what was said before {recollection.unread_until:%Y-%m-%d %H:%M} is still being read")
    for hit in recollection.hits:
        moment = f"{hit.time:%Y-%m-%d %H:%M} " if hit.time else ""
        print(f"[{hit.layer} {hit.recipe} {hit.score:.3f}] {moment}{hit.text}")
    for dropped in recollection.dropped:
        if dropped.why == "in_context":
            print(f"[{dropped.why}] {dropped.hit.text}")
    return 0


def log(args: argparse.Namespace) -> int:
    with open_house(args, looks=args.action in LISTS) as house:
        agent = agent_of(house, args)
        agent.store.read_all()
        if args.action in LISTS:
            LISTS[args.action](agent, args)
            warn(agent.problems())
            return 0
        _change_log(agent, args)
        agent.finish()
        row = next((row for row in agent.log() if row["id"] == args.id), {"id": args.id})
        print_json(row) if args.json else print(f"{args.action}: {args.id}")
    return 0


def _list(agent: Agent, args: argparse.Namespace) -> None:
    for row in agent.log():
        if args.talk is not None and row["talk"] != args.talk:
            continue
        talk = f" ({row['talk']})" if row["talk"] else ""
        print_json(row) if args.json else print(f"{row['mark']} {row['id']} [{row['status']}]{talk} {row['text']}")


def _talks(agent: Agent, args: argparse.Namespace) -> None:
    """Every talk, the one that was last spoken in last."""
    for talk in talks(agent.store):
        if args.json:
            print_json(talk_as_json(talk))
            continue
        batches = "".join(f", imported {one.at:%Y-%m-%d} as {one.batch}" for one in talk.imports)
        last = f"last {talk.last:%Y-%m-%d %H:%M}" if talk.last else "nothing said"
        print(f"{talk.name or FIRST_TALK} [{talk.exchanges} exchanges, {last}{batches}] {talk.first}")


LISTS = {"list": _list, "talks": _talks}


def _change_log(agent: Agent, args: argparse.Namespace) -> None:
    if not args.id:
        raise NotFound(f"log {args.action} needs the id of an exchange; `moechat log list` shows them")
    match args.action:
        case "select" | "branch":
            agent.select(args.id, args.variant)
        case "correct":
            if not (args.text or "").strip():
                raise NotFound("log correct needs the corrected words after the id")
            agent.correct(args.id, **{"char" if args.reply else "user": args.text})
        case "retract":
            agent.retract(args.id)
        case "restore":
            agent.restore(args.id)


# ---- shapes


def _turn_as_json(recollection: Recollection, ended: Ended) -> dict[str, object]:
    row: dict[str, object] = {
        "reply": ended.exchange.char,
        "exchange_id": ended.exchange.id,
        "recalled": [_hit_as_json(hit) for hit in recollection.hits],
        "timing_ms": dict(recollection.timing_ms),
    }
    return row | {key: text for key, text in (("error", ended.error), ("notice", ended.notice)) if text}


def _hit_as_json(hit: Hit) -> dict[str, object]:
    return {
        "layer": hit.layer,
        "recipe": hit.recipe,
        "id": hit.id,
        "time": hit.time.isoformat() if hit.time else None,
        "text": hit.text,
        "score": round(hit.score, 6),
        "features": {name: round(float(value), 6) for name, value in hit.features.items()},
        "tokens": hit.tokens,
    }


def _recollection_as_json(recollection: Recollection) -> dict[str, object]:
    return {
        "spans": [span_as_json(span) for span in recollection.spans],
        "hits": [_hit_as_json(hit) for hit in recollection.hits],
        "dropped": [{"id": d.hit.id, "text": d.hit.text, "why": d.why} for d in recollection.dropped],
        "timing_ms": dict(recollection.timing_ms),
        "empty_spans": [span_as_json(span) for span in recollection.empty_spans],
        "unread_until": recollection.unread_until and recollection.unread_until.isoformat(),
        "notices": list(recollection.notices),
    }
