"""Commands for the talk: ``say``, ``recall``, ``log`` and ``talks``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from moechat.agent import Agent
from moechat.cli.session import agent_of, confirm, open_house, progress, tell, warn
from moechat.cli.when import span_as_json
from moechat.curation.talks import FoundWords, TalkSummary, talk_as_json
from moechat.errors import MoeChatError, NotFound
from moechat.model import Hit, Recollection
from moechat.turn import Delta, Ended, Recalled
from moechat.verbs import perform
from moechat.verbs.whole_talks import VERBS

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
                print("\n\n" * event.instead + event.text, end="", flush=True)
            elif isinstance(event, Ended):
                ended = event
        agent.finish(asks_model=args.understand)
        agent.back_up()  # Whoever talks by command alone has no other moment for it.
        tell(args, _turn_as_json(recollection, ended), f"\n\n{ended.notice}" if ended.notice else "")
        warn(agent.problems())
    if ended.error:
        warn([ended.error])
    return 1 if ended.error else 0


def recall(args: argparse.Namespace) -> None:
    if not args.text.strip():
        raise MoeChatError("the message is empty; write something first")
    with open_house(args, looks=True) as house:
        house.warm()
        agent = agent_of(house, args)
        recollection = agent.in_talk(args.talk or "").recall(args.text)
        warn([*agent.problems(), *recollection.notices])
    tell(args, _recollection_as_json(recollection), *_recollection_in_lines(recollection))


def _recollection_in_lines(recollection: Recollection) -> Iterator[str]:
    for span in recollection.spans:
        yield f"{span.phrase}: {span.start:%Y-%m-%d %H:%M} – {span.end:%Y-%m-%d %H:%M}"
    for span in recollection.empty_spans:
        yield f"{span.phrase}: no record"
    if recollection.unread_until:
        yield f"what was said before {recollection.unread_until:%Y-%m-%d %H:%M} is still being read"
    if recollection.is_silent:
        yield "nothing of the past belonged here"
    for hit in recollection.hits:
        moment = f"{hit.time:%Y-%m-%d %H:%M} " if hit.time else ""
        yield f"[{hit.layer} {hit.recipe} {hit.score:.3f}] {moment}{hit.text}"
    yield from (f"[{one.why}] {one.hit.text}" for one in recollection.dropped if one.why == "in_context")


def usage(args: argparse.Namespace) -> None:
    """What the models cost, a line for each day and use."""
    with open_house(args, looks=True) as house:
        agent = agent_of(house, args)
        days = [asdict(spent) for spent in agent.store.usage.days()]
        warn(agent.problems())
    if not args.json:
        print(f"{'day':10}  {'use':13}  {'calls':>6}  {'prompt':>9}  {'reply':>8}  {'cached':>6}  {'same':>5}")
    for spent in days:
        cached, same = share(spent["cached"], spent["reported"]), share(spent["same"], spent["compared"])
        counts = f"{spent['calls']:6}  {spent['prompt']:9}  {spent['reply']:8}"
        tell(args, spent, f"{spent['day']:10}  {spent['use']:13}  {counts}  {cached:>6}  {same:>5}")


def understand(args: argparse.Namespace) -> int:
    """What waits to be understood, and why; with --past and --wait it is wished for and waited for."""
    with open_house(args, looks=not (args.past or args.wait or args.stop)) as house:
        agent = agent_of(house, args)
        agent.layers.read_all()
        if args.past:
            agent.past.begin(args.days, again=args.again)
        if args.stop:
            agent.past.stop()
        if args.wait:
            house.warm()
            agent.finish()
            show, total = progress(quiet=args.json), agent.past.work().exchanges
            while agent.jobs.read_past():
                show(total - agent.past.work().exchanges, total)
        queued, work = len(agent.store.tree.pending()), agent.past.work()
        has_model = agent.reflection.model().understands
        warn(agent.problems())
    why = "until the next pause, or --wait" if has_model else "until a language model is connected"
    cost = f"about {work.calls} calls and {work.tokens} tokens ({work.spent} of {work.budget or 'any'} spent today)"
    tell(
        args, {"queued": queued, "has_model": has_model, "past": asdict(work)},
        f"queued: {queued} exchanges{f', {why}' if queued else ''}",
        f"read by the rules alone: {work.exchanges} exchanges of {work.days} days{f', {cost}' if work.calls else ''}",
        STANDING[work.standing],
    )  # fmt: skip
    return int(args.wait and work.standing in ("no_model", "failing"))


STANDING = {
    "nothing": "nothing of the past is to be read anew",
    "no_model": "connect a language model, and it can read them anew",
    "offered": "`moechat understand --past` has the model read them anew",
    "going": "read anew while `moechat web` or `serve` runs, the newest first; --wait waits for it, --stop ends it",
    "failing": "the model failed; it is asked again later",
    "budget": "today's budget is spent (understanding.past_tokens_a_day); it goes on tomorrow",
}


def share(part: int, whole: int) -> str:
    """In per cent; – where nobody counted."""
    return f"{part / whole:.0%}" if whole else "–"


def log(args: argparse.Namespace) -> None:
    with open_house(args, looks=args.action == "list") as house:
        agent = agent_of(house, args)
        agent.store.read_all()
        if args.action == "list":
            for row in agent.log():
                if args.talk in (None, row["talk"]):
                    talk = f" ({row['talk']})" if row["talk"] else ""
                    tell(args, row, f"{row['mark']} {row['id']} [{row['status']}]{talk} {row['text']}")
            warn(agent.problems())
            return
        _change_log(agent, args)
        agent.finish()
        row = next((row for row in agent.log() if row["id"] == args.id), {"id": args.id})
        tell(args, row, f"{args.action}: {args.id}")


def _print_talks(args: argparse.Namespace, summaries: Sequence[TalkSummary]) -> None:
    """Every talk, the one that was last spoken in last."""
    for talk in summaries:
        batches = "".join(f", imported {one.at:%Y-%m-%d} as {one.batch}" for one in talk.imports)
        last = f"last {talk.last:%Y-%m-%d %H:%M}" if talk.last else "nothing said"
        name = (talk.name or FIRST_TALK) + (f" “{talk.title}”" if talk.title not in ("", talk.name) else "")
        mark = "* " if talk.pinned else ""
        tell(args, talk_as_json(talk), f"{mark}{name} [{talk.exchanges} exchanges, {last}{batches}] {talk.first}")


def _print_found(args: argparse.Namespace, finding: FoundWords) -> None:
    """Where something was said, a line each; - marks what is on another branch."""
    if args.json:
        tell(args, finding.as_json())
        return
    for one in finding.places:
        mark, text = " " if one.on_path else "-", " ".join(one.text.split())
        print(f"{mark} {one.id} [{one.title or one.talk or FIRST_TALK}] {one.at:%Y-%m-%d %H:%M} {text}")
    if finding.total > len(finding.places):
        print(f"{finding.total} in all; --limit 0 shows them")


def talks(args: argparse.Namespace) -> int:
    """The verb over talks that the command names."""
    verb = VERBS[args.action]
    with open_house(args, looks=verb.reads) as house:
        if verb.replies:
            house.warm()
        agent = agent_of(house, args)
        agent.store.read_all()
        if args.action == "delete" and args.forget and not args.yes:
            agent.store.tree.require_talk(args.talk)
            if not confirm(f"erase all that was said in {args.talk or FIRST_TALK!r}, for good?"):
                return 1
        done = perform(verb, agent, {name: getattr(args, name) for name in verb.values.model_fields})
        if args.action == "list":
            _print_talks(args, done)
        elif args.action == "find":
            _print_found(args, done)
        elif args.action == "export":
            print(done, end="")
        elif verb.replies:
            agent.finish(asks_model=False)
            tell(args, {"reply": done}, done)
        else:
            line = f"{args.action}: {args.talk or FIRST_TALK}{'' if done is None else f' ({done})'}"
            tell(args, {"talk": args.talk, "done": done}, line)
        warn(agent.problems())
    return 0


def _change_log(agent: Agent, args: argparse.Namespace) -> None:
    if not args.id:
        raise NotFound(f"log {args.action} needs the id of an exchange; `moechat log list` shows them")
    match args.action:
        case "select" | "branch":
            agent.conversation.select(args.id, args.variant)
        case "correct":
            if not (args.text or "").strip():
                raise NotFound("log correct needs the corrected words after the id")
            agent.conversation.correct(args.id, **{"char" if args.reply else "user": args.text})
        case "retract":
            agent.conversation.retract(args.id)
        case "restore":
            agent.conversation.restore(args.id)


# ---- shapes


def _turn_as_json(recollection: Recollection, ended: Ended) -> dict[str, object]:
    row: dict[str, object] = {
        "reply": ended.exchange.char,
        "exchange_id": ended.exchange.id,
        "recalled": [_hit_as_json(hit) for hit in recollection.hits],
        "timing_ms": dict(recollection.timing_ms),
    }
    if ended.is_cut:
        row["cut"] = True
    if ended.cost:
        row["usage"] = asdict(ended.cost)
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
