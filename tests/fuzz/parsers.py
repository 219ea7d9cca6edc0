"""Every parser of what people share or edit, by name: what it reads, from good examples on, and how it is called.

A parser may refuse whatever it is given, by one of the package's own errors. Anything else it raises is a fault.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from moechat.ai import cleaner, wire
from moechat.ai.cleaner import Cleaner, Instead
from moechat.ai.scripted import ScriptedModel
from moechat.ai.wire import Unfit
from moechat.author.official import Official
from moechat.author.world_files import LoreFiles
from moechat.clock import SetClock
from moechat.compat import comparison, foreign_talk
from moechat.compat.insights import parse_insights
from moechat.compat.past import Names
from moechat.compat.persona import import_persona
from moechat.errors import DataError, FieldError, MoeChatError, NotFound
from moechat.language.association import read_table
from moechat.model import Exchange, Message
from moechat.rules.importance import read_rating
from moechat.serve.memory_routes import Listing
from moechat.serve.questions import Expand, Query
from moechat.settings import config
from moechat.settings.character import load_character
from moechat.settings.home import defaults_folder
from moechat.settings.prompts import Prompts
from moechat.store import entries, formats, plain, records, reflections, short_log, upgrade
from moechat.store.days import HistoryFile
from moechat.store.files import FileStore
from moechat.store.finding_files import notes_entry, notes_from
from moechat.store.json_lines import JsonLines, ReplyFiles, encode
from moechat.store.plain import json_value
from moechat.store.state import State
from moechat.store.tree import Tree
from moechat.topics import MemoryRuntime, MemoryRuntimeStateCodec
from moechat.understanding import extraction
from tests.houses import ZONE, moment

NOW = moment("2025-06-01T12:00:00")
FORMATS = Path(__file__).parents[1] / "formats"
Read = Callable[[bytes, Path], object]


@dataclass(frozen=True)
class Parser:
    """``read`` gets the bytes and an empty folder. ``form`` says how its examples can be taken apart: ``json``, ``lines`` (of
    JSON), ``yaml`` or ``text``. ``share`` is how many inputs it gets in comparison to the others: slow ones get fewer."""

    name: str
    read: Read
    examples: Sequence[bytes]
    form: str = "yaml"
    share: float = 1.0
    refusals: tuple[type[Exception], ...] = (MoeChatError,)


# ---- an owner's memory


def _records(read: Callable[..., object]) -> Read:
    def parsed(data: bytes, folder: Path) -> object:
        file = folder / "2025-05-20.yaml"
        values, problems = formats.each(records.parse(data, file), file, ZONE, read)  # type: ignore[arg-type]
        return values, [str(problem) for problem in problems]

    return parsed


def _exchange(where: formats.Where) -> object:
    exchange, tag = formats.exchange_from(where)
    return formats.text_hash(exchange), formats.exchange_entry(exchange), tag


def _notes(where: formats.Where) -> object:
    noted = notes_from(where)
    return notes_entry(noted), [episode.since for episode in noted.episodes]


def _fact(where: formats.Where) -> object:
    fact = formats.fact_from(where)
    return formats.fact_entry(fact), fact.since


def _log(data: bytes, folder: Path) -> None:
    """Read, asked everything that an opening asks, written short, and read again to the same."""
    lines = _lines(folder / "log.jsonl", data, entries.LOG)
    tree = Tree()
    tree.apply(lines.unread()[1])
    for talk in list(tree.talks):
        tree.context(talk), tree.open(talk), tree.pending(talk)
    tree.hidden(), tree.unfiled(), tree.unread()
    for node in list(tree.nodes.values()):
        node.folded or formats.text_hash(node.exchange())
    again = Tree()
    again.apply(json.loads(line) for line in encode(short_log.written(tree, NOW)).splitlines())
    assert again.parents == tree.parents, "written short, the log says something else"
    [str(problem) for problem in lines.problems]


def _state(data: bytes, folder: Path) -> None:
    lines = _lines(folder / "state.jsonl", data, entries.STATE)
    state = State(lines)
    state.follow()
    for id_ in [*state.access, *state.gains]:
        state.strength(id_), state.recalled(id_), state.updated(id_)
    encode(state.entries())


def _lines(path: Path, data: bytes, forms: entries.Entries) -> JsonLines:
    path.write_bytes(data)
    return JsonLines(path, forms.check)


def _reflected(data: bytes, folder: Path) -> None:
    path = folder / "reflection.jsonl"
    path.write_bytes(data)
    file = reflections.ReflectionFile(JsonLines(path, reflections.REFLECTED.check))
    file.follow()
    file.write(file.value)


def _refused(data: bytes, folder: Path) -> None:
    path = folder / "refused.jsonl"
    path.write_bytes(data)
    lines = JsonLines(path, entries.REFUSED.check)
    lines.rewrite(map(formats.refused_data, map(formats.refused_from_json, lines.unread()[1])))


def _part(data: bytes, folder: Path) -> None:
    (folder / "x.jsonl").write_bytes(data)
    list(ReplyFiles(folder).parts())


def _history(data: bytes, folder: Path) -> None:
    (folder / "history.yaml").write_bytes(data)
    HistoryFile(folder).read()
    HistoryFile(folder).write([Message("user", "你好")])


def _format(data: bytes, folder: Path) -> None:
    (folder / "format").write_bytes(data)
    upgrade.require_readable(folder)


def _owner(name: str) -> Read:
    """One file of a whole memory is replaced; it is opened, brought up to date, talked to, and checked."""

    def opened(data: bytes, folder: Path) -> None:
        owner = folder / "owner"
        shutil.copytree(_OWNER, owner)
        (owner / name).write_bytes(data)
        store = FileStore(owner, clock=SetClock(NOW), zone=ZONE)
        try:
            store.resume()
            with contextlib.suppress(DataError):
                store.imports.finish()
            id_ = store.log.begin("你好", NOW)
            store.log.finish(id_, "嗯", "done")
            store.log.settle()
            store.rewrite_log(NOW)
            store.hidden(), store.verify(), store.findings.facts(), store.findings.reflections()
            [str(problem) for problem in store.problems]
        finally:
            store.close()

    return opened


# ---- the author's, settings, and what is imported


def _config(data: bytes, folder: Path) -> None:
    (folder / "config.yaml").write_bytes(data)
    config.load(folder / "config.yaml")


def _character(data: bytes, folder: Path) -> None:
    (folder / "character.yaml").write_bytes(data)
    character = load_character(folder, _CONFIG)
    _CONFIG.for_character(character.overrides)


def _lore(data: bytes, folder: Path) -> None:
    (folder / "world.yaml").write_bytes(data)
    files = LoreFiles(folder, folder / ".lock")
    held = files.listed()
    [str(problem) for problem in files.problems]
    files.add({"keyword": "新词", "text": "一句话", "file": "world.yaml"})
    if held:
        files.update(held[0].id, {"text": "另一句话"})
        files.delete(held[-1].id)


def _official(name: str) -> Read:
    def read(data: bytes, folder: Path) -> None:
        (folder / name).write_bytes(data)
        official = Official(folder, zone=ZONE, names=lambda: {"user": "阿明", "char": "小满"})
        official.search("灯塔 lighthouse")
        [str(problem) for problem in official.problems]

    return read


def _prompt(data: bytes, folder: Path) -> None:
    (folder / "zh").mkdir()
    (folder / "zh" / "diary.txt").write_bytes(data)
    Prompts([folder], "zh").fill("diary", char="小满", user="阿明", entries="一句话")


def _associations(data: bytes, folder: Path) -> None:
    (folder / "associations.tsv").write_bytes(data)
    read_table(plain.text(folder / "associations.tsv"), folder)


def _talk(data: bytes, folder: Path) -> None:
    (folder / "talk.jsonl").write_bytes(data)
    read = foreign_talk.read(folder / "talk.jsonl", ZONE, Names("阿明", "小满"))
    [formats.exchange_entry(exchange) for exchange in read.exchanges], [str(problem) for problem in read.problems]


def _topics(data: bytes, folder: Path) -> None:
    (folder / "topics.json").write_bytes(data)
    codec, runtime = MemoryRuntimeStateCodec(), MemoryRuntime(zone=ZONE)
    codec.restore(folder / "topics.json", runtime)
    codec.encode(runtime), runtime.get_topic_tree()


def _persona(name: str) -> Read:
    def read(data: bytes, folder: Path) -> None:
        saved = folder / "saved"
        saved.mkdir()
        for key, text in _PERSONA.items():
            (saved / key).write_text(text, encoding="utf-8")
        (saved / name).write_bytes(data)
        import_persona(saved, folder / "character", ZONE)

    return read


# ---- what models and programs send


def _answer(data: bytes, folder: Path) -> None:
    text = data.decode(errors="surrogateescape")
    extraction.understand(
        ScriptedModel("", lambda _: text), _EXCHANGES, names=("阿明", "小满"), now=NOW, prompts=_PROMPTS
    )


def _stream(data: bytes, folder: Path) -> None:
    list(wire.events(data.decode(errors="replace").splitlines()))


def _reply(data: bytes, folder: Path) -> None:
    wire.whole(json_value(data))


def _cleaned(text: str, size: int) -> tuple[str, str]:
    """(what is shown, what was thought) of a text that comes in pieces of so many characters."""
    cleaner = Cleaner(name="小满", headings=["【回忆】"], lines=["【回忆】", "- 用户养了一只猫"])
    shown = ""
    for start in range(0, len(text), size):
        for piece in cleaner.feed(text[start : start + size]):
            shown = "" if isinstance(piece, Instead) else shown + piece
    return shown + "".join(cleaner.rest()), cleaner.thoughts


def _words(data: bytes, folder: Path) -> None:
    text = data.decode(errors="replace")
    whole, *in_pieces = [_cleaned(text, size) for size in (len(text) + 1, 1, 7)]
    assert in_pieces == [whole, whole]


def _json_object(data: bytes, folder: Path) -> None:
    cleaner.json_object(data.decode(errors="surrogateescape"))


def _numbers(data: bytes, folder: Path) -> None:
    text = data.decode(errors="surrogateescape")
    read_rating(text), parse_insights(text)


def _body(model: type) -> Read:
    adapter = TypeAdapter(model)
    return lambda data, folder: adapter.validate_json(data)


def _filter(data: bytes, folder: Path) -> None:
    comparison.parse(data.decode(errors="surrogateescape"), ("recency", "importance", "relevance", "score"))


def _of(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(FORMATS.glob(pattern))]


def _json(*values: object) -> bytes:
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)


_OWNER = FORMATS / "format-1-zh" / "owner"
_CONFIG = config.Config()
_PROMPTS = Prompts([defaults_folder() / "prompts"], "zh")
_AT = "2025-05-20T15:00:00+08:00"
_EXCHANGES = [Exchange("a", datetime.fromisoformat(_AT), "我养了一只猫，叫年糕。", "好可爱")]
_DEFAULTS = defaults_folder()
_NODE = {
    "node_count": 1, "type_count": 1, "type": "event", "depth": 0, "created": "2023-02-13 09:30:00", "expiration": None,
    "subject": "Ann Lee", "predicate": "talk", "object": "Bo", "description": "Ann Lee talks with Bo",
    "embedding_key": "Ann Lee talks with Bo", "poignancy": 4, "keywords": ["Bo"], "filling": [],
}  # fmt: skip
_CHAT = _NODE | {"node_count": 2, "type": "chat", "filling": [["Bo", "Hi Ann!"], ["Ann Lee", "Fine."]]}
_THOUGHT = _NODE | {
    "node_count": 3, "type": "thought", "depth": 1, "filling": ["node_1"], "expiration": "2023-03-13 09:30:00",
}  # fmt: skip
_PERSONA = {
    "nodes.json": json.dumps({"node_1": _NODE, "node_2": _CHAT, "node_3": _THOUGHT}),
    "kw_strength.json": json.dumps({"kw_strength_event": {"bo": 1}, "kw_strength_thought": {"bo": 2}}),
    "embeddings.json": json.dumps({"Ann Lee talks with Bo": [0.1, 0.2, 0.3]}),
    "scratch.json": json.dumps(
        {
            "name": "Ann Lee", "age": 30, "innate": "patient", "learned": "Ann Lee sells tea.", "recency_decay": 0.995,
            "recency_w": 1, "curr_time": "February 14, 2023, 00:02:20", "chat": None,
        }
    ),
}  # fmt: skip
_LOG = [
    {"op": "exchange", "id": "a", "parent": None, "at": _AT, "user": "你好", "attachments": [{"kind": "image", "name": "x"}]},
    {"op": "variant", "id": "a", "char": "嗯", "status": "done", "hits": [{"id": "b", "score": 0.5, "features": {"x": 1}}],
     "spans": [["昨天", _AT, _AT, "day"]], "key": "k"},
    {"op": "settle", "id": "a"}, {"op": "filed", "id": "a", "sha": "s"}, {"op": "select", "id": "a", "variant": 0},
    {"op": "past", "rows": [["p", None, "s"], ["q", "p", "s", "talk"]]},
    {"op": "exchange", "id": "b", "parent": "a", "at": _AT, "user": "后来", "talk": "t", "speaker": "s"},
    {"op": "edit", "id": "a", "at": _AT, "user": "你好", "char": "嗯"}, {"op": "retract", "id": "b"},
    {"op": "dropped", "ids": ["b"]}, {"op": "restore", "id": "b"}, {"op": "cut", "id": "a"},
    {"op": "understood", "ids": ["a"], "by": "model"}, {"op": "requeue", "ids": ["a"]},
    {"op": "reread", "since": "2025-05-01", "until": [1.5, "a"]},
    {"op": "import", "batch": "x1", "talk": "t", "at": _AT, "by": "", "rows": [["i", ""], ["j", ""]]},
    {"op": "imported", "batch": "x1"}, {"op": "forget", "n": 1, "ids": ["b"]}, {"op": "forgotten", "n": 1},
]  # fmt: skip
_STATE = [
    {"op": "touch", "ids": ["a"], "at": _AT}, {"op": "access", "rows": {"a": [_AT, 2]}},
    {"op": "restate", "born": {"a": _AT}, "at": _AT}, {"op": "gain", "rows": {"a": [3, _AT]}},
    {"op": "carry", "from": "a", "to": "b"}, {"op": "archive", "ids": ["a"]}, {"op": "pin", "ids": ["a"]},
    {"op": "missing", "ids": ["a"], "at": _AT}, {"op": "topic", "from": "a->b", "to": "c"}, {"op": "cleaned", "at": _AT},
]  # fmt: skip
_EPISODE = {
    "id": "e", "at": _AT, "kind": "reflection", "by": "model", "text": "x", "spo": ["a", "b", "c"], "importance": 0.5,
    "keywords": ["k"], "place": "", "topic": "a->b", "sources": ["a"], "happened": [_AT, _AT], "insight": "", "scene": "",
    "related": [], "profile": [0.5, 0.3, 0.5], "evidence": ["f"], "depth": 1, "expires": _AT, "status": "done",
}  # fmt: skip
_REFLECTED = {
    "until": 1.5, "open": ["a"], "made": [{"id": "r", "evidence": {"e": "h"}, "sources": ["a"], "expires": 5.0}],
    "again": ["b"], "unstored": [_EPISODE],
}  # fmt: skip
_TOPICS = {
    "topics": [
        {"path": "生活->猫", "slice": ["u1", "s1"], "time": 1747724400.0, "related": ["家"], "profile": [0.55, 0.35, 0.5]}
    ],
    "paths": ["家"], "dates": {"2025-05-20": [["u1", "s1"]]},
}  # fmt: skip
_ANSWER = {
    "exchanges": [{"id": 1, "tag": "用户养了一只猫", "keywords": ["猫"]}],
    "facts": [{"text": "用户养了一只猫", "kind": "attribute", "entity": "user", "sources": [1], "polarity": 1, "single": False}],
    "events": [{"text": "用户养了猫", "importance": 5, "happened": "2025-05-20/2025-05", "sources": [1], "activation": 0.5}],
    "verbs": [{"number": 1, "verb": "never_true", "quote": "不是"}], "scene_changed": False,
}  # fmt: skip
_CHUNK = {"choices": [{"delta": {"content": "嗯", "reasoning": ""}, "finish_reason": "stop"}], "error": None}
_REPLY = {"choices": [{"message": {"content": [{"type": "text", "text": "嗯"}]}}]}
_WORDS = [
    text.encode() for text in (
        "<think>他养了一只猫。</think>小满：嗯，我记得\n【回忆】\n- 用户养了一只猫\n它叫年糕。", "[THINK]a[/THINK]b",
        "想一想</think> [小满] 好", "**小满**: 好 <thought> x </thought> <b>粗</b>", "【回忆】\n- 用户养了一只猫\n\n嗯",
    )
]  # fmt: skip
_LORE = [
    *_of("original/owner/data_base/*.yaml"), *[p.read_bytes() for p in sorted(_DEFAULTS.rglob("data_base/*.yaml"))][:2],
    "灯塔:\n  text: 山上的灯塔\n  keys: [塔, lighthouse]\n  constant: true\n猫: &c 一只猫\n狗: *c\n".encode(),
]  # fmt: skip
_DAYS = [*_of("*/owner/memorys/2025-*[0-9].yaml")]
_NOTES = _of("*/owner/memorys/*.notes.yaml")
_CORE = _of("*/owner/core_mem.yml")
_BODY = (ValidationError,)

PARSERS: Sequence[Parser] = (
    Parser("days", _records(_exchange), _DAYS),
    Parser("notes", _records(_notes), _NOTES),
    Parser("facts of an owner", _records(_fact), _CORE),
    Parser("log", _log, [_json(*_LOG), *_of("*/owner/log.jsonl")], "lines"),
    Parser("state", _state, [_json(*_STATE), *_of("*/owner/state.jsonl")], "lines"),
    Parser("reflected", _reflected, [_json(_REFLECTED)], "lines"),
    Parser("refused", _refused, [_json({"at": _AT, "kind": "fact", "text": "x", "why": "sources", "sources": ["a"]})], "lines"),
    Parser("part of a reply", _part, [_json({"ids": ["a"], "key": "k"}, "嗯", "好", _LOG[1] | {"id": "x"})], "lines"),
    Parser("history", _history, _of("*/owner/history.yaml")),
    Parser("number of a format", _format, [b"2\n"], "text"),
    Parser("whole memory, its log", _owner("log.jsonl"), _of("format-1-zh/owner/log.jsonl"), "lines", 0.03),
    Parser("whole memory, a day", _owner("memorys/2025-05-20.yaml"), _DAYS, share=0.03),
    Parser("whole memory, notes", _owner("memorys/2025-05-20.notes.yaml"), _NOTES, share=0.03),
    Parser("whole memory, facts", _owner("core_mem.yml"), _CORE, share=0.03),
    Parser("whole memory, reflected", _owner("reflection.jsonl"), [_json(_REFLECTED)], "lines", 0.03),
    Parser("config", _config, [(_DEFAULTS / "config.yaml").read_bytes(), b"chat: {base_url: x, model: y}\n"], share=0.05),
    Parser("character", _character, [p.read_bytes() for p in sorted(_DEFAULTS.rglob("character.yaml"))], share=0.3),
    Parser("world book", _lore, _LORE, share=0.2, refusals=(MoeChatError, FieldError, NotFound)),
    Parser("events", _official("events.yaml"), [p.read_bytes() for p in _DEFAULTS.rglob("events.yaml")], share=0.2),
    Parser("facts", _official("facts.yaml"), [p.read_bytes() for p in _DEFAULTS.rglob("facts.yaml")], share=0.2),
    Parser("prompt", _prompt, [p.read_bytes() for p in sorted(_DEFAULTS.rglob("prompts/zh/*.txt"))][:4], "text"),
    Parser("associations", _associations, ["猫\t鱼\t9\n狗\t骨头\t12\n".encode()], "text"),
    Parser("talk file", _talk, [_json({"time": "2021-03-04T20:15:00", "who": "user", "text": "好"})], "lines"),
    Parser("topic file", _topics, [_json(_TOPICS)], "json"),
    *(Parser(f"persona, {name}", _persona(name), [text.encode()], "json", 0.02) for name, text in _PERSONA.items()),
    Parser("answer of a model", _answer, [_json(_ANSWER), b"```json\n" + _json(_ANSWER) + b"```"], "json", 0.1),
    Parser("object of a model", _json_object, [_json(_ANSWER)], "json", 0.3, (ValueError,)),
    Parser("stream of a model", _stream, [b"data: " + _json(_CHUNK) + b"data: [DONE]\n"], "text", refusals=(Unfit, ValueError)),
    Parser("words of a model", _words, _WORDS, "text"),
    Parser("reply of a model", _reply, [_json(_REPLY)], "json", refusals=(Unfit, ValueError)),
    Parser("ratings and insights", _numbers, ["7/10\n1. 他喜欢茶 (because of 1, 3)".encode()], "text"),
    Parser("body of /query", _body(Query), [_json({"query": "x", "limit": 5, "score_threshold": 0.5})], "json", refusals=_BODY),
    Parser("body of /expand_words", _body(Expand), [_json({"sentence": "x", "filter_values": [0]})], "json", refusals=_BODY),
    Parser("query of /memories", _body(Listing), [_json({"type": "fact", "limit": 5})], "json", refusals=_BODY),
    Parser("filter", _filter, [b"relevance > 0.5 and not (recency <= .1 | score == 1)"], "text"),
)  # fmt: skip
