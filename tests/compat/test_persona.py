"""A saved persona becomes a character that can be talked to: nothing of it is lost, nothing of others is touched."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from moechat.clock import SetClock
from moechat.compat.generative_agents import AssociativeMemory, Persona, Scratch, new_retrieve, ranked
from moechat.compat.persona import import_persona, language_of, read_persona
from moechat.errors import DataError
from moechat.model import Episode
from moechat.settings.character import load_character
from moechat.settings.config import Config
from moechat.store.files import FileStore

ZONE = ZoneInfo("Asia/Shanghai")
BORN = datetime(2023, 2, 13, 9, 30)
SCRATCH = {
    "name": "Ann Lee", "age": 30, "innate": "patient, {{curious}}", "learned": "Ann Lee sells tea.",
    "currently": "Ann Lee plans a party.", "lifestyle": "Ann Lee rises at 6 am.", "recency_decay": 0.995,
    "recency_w": 1, "relevance_w": 2, "importance_w": 1, "curr_time": "February 14, 2023, 00:02:20", "chat": None,
}  # fmt: skip


def save(folder: Path, scratch: dict | None = None) -> Path:
    """Ann's memory: an event, a chat, the event of having chatted, two thoughts, one of them blank, a bare chat."""
    memory = AssociativeMemory()
    later = BORN + timedelta(days=30)
    address = ("the Ville:Hobbs Cafe:counter", "is", "idle")
    memory.add_event(BORN, None, *address, "counter is idle", ["counter", "idle"], 1, ("counter is idle", None), [])
    lines = [["Bo", "Hi Ann!"], ["Bo", "How are you?"], ["Ann Lee", "Fine."], ["Bo", "Good."], ["Ann", "Bye."]]
    chat = memory.add_chat(
        BORN, None, "Ann Lee", "chat with", "Bo", "small talk", ["Bo"], 4, ("small talk", None), lines
    )
    text = "Ann Lee talks with Bo"
    memory.add_event(BORN, None, "Ann Lee", "talk", "Bo", text, ["Bo"], 4, (text, None), [chat.node_id])
    blank = memory.add_thought(BORN, later, "Ann Lee", "is", "blank", "this is blank", [], 5, ("blank", None), [])
    told = ["node_1", chat.node_id, blank.node_id, "node_99"]
    memory.add_thought(BORN, later, "Ann Lee", "likes", "Bo", "Ann Lee likes Bo", ["Bo"], 9, ("likes", None), told)
    bare = "They spoke about rain."
    memory.add_chat(BORN, None, "Ann Lee", "chat with", "Cy", "a word with Cy", ["Cy"], 2, ("word", None), bare)
    memory.add_thought(BORN, later, "Ann Lee", "trusts", "Bo", "Bo can be trusted", ["Bo"], 12, ("t", None), ["node_5"])
    memory.save(folder / "associative_memory")
    (folder / "scratch.json").write_text(json.dumps(SCRATCH if scratch is None else scratch), "utf-8")
    return folder


@pytest.fixture
def ann(tmp_path: Path) -> Path:
    folder = tmp_path / "ann"
    folder.mkdir()
    return save(folder)


def opened(folder: Path) -> FileStore:
    return FileStore(folder, clock=SetClock(datetime(2023, 2, 15, tzinfo=ZONE)), zone=ZONE)


def episodes(store: FileStore) -> dict[str, Episode]:
    """By text."""
    return {episode.event.text: episode for _, _, episode in store.findings.changed(-1) if episode is not None}


# --- reading


def test_a_persona_is_read_with_its_scratch_and_can_retrieve(ann):
    persona = read_persona(ann)
    assert (persona.name, language_of(persona)) == ("Ann Lee", "en")
    assert (persona.scratch.recency_decay, persona.scratch.relevance_w, persona.scratch.age) == (0.995, 2, 30)
    assert persona.scratch.curr_time == datetime(2023, 2, 14, 0, 2, 20)
    persona.a_mem.embeddings["Bo"] = [1.0, 0.0]
    best = new_retrieve(persona, ["Bo"], 1)["Bo"]
    assert [node.last_accessed for node in best] == [persona.scratch.curr_time]


@pytest.mark.parametrize("place", ["", "associative_memory", ".."])
def test_any_folder_of_a_saved_persona_may_be_named(place, tmp_path):
    home = tmp_path / "Ann" / "bootstrap_memory"
    home.mkdir(parents=True)
    save(home)
    assert read_persona(home / place).name == "Ann Lee"


def test_without_a_scratch_the_folder_names_the_persona(tmp_path):
    home = tmp_path / "Ann" / "bootstrap_memory"
    home.mkdir(parents=True)
    save(home)
    (home / "scratch.json").unlink()
    persona = read_persona(tmp_path / "Ann")
    assert (persona.name, persona.scratch.recency_decay, persona.scratch.curr_time) == ("Ann", 0.99, None)


def test_a_folder_without_a_persona_says_what_to_name(tmp_path):
    with pytest.raises(DataError, match=r"holds no associative_memory/nodes\.json; name the folder"):
        read_persona(tmp_path)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"recency_decay": "slow"}, "recency_decay = 'slow': expects a number"),
        ({"recency_w": 10**400}, "recency_w = a number of"),
        ({"innate": ["kind"]}, "innate = ['kind']: expects text"),
        ({"curr_time": "noon"}, "curr_time = 'noon': expects a time"),
    ],
)
def test_a_broken_scratch_is_named_with_its_key(changed, told, ann):
    save(ann, SCRATCH | changed)
    with pytest.raises(DataError) as error:
        read_persona(ann)
    assert f"scratch.json: {told}" in str(error.value)


# --- importing


def test_every_node_that_says_something_is_an_episode(ann, data):
    report = import_persona(ann, data / "agents" / "ann", ZONE)
    assert (report.name, report.events, report.reflections, report.exchanges) == ("Ann Lee", 4, 2, 2)
    assert report.left_out == {"node_4": "it says nothing: this is blank"}
    assert len(episodes(opened(data / "agents" / "ann"))) == 6
    assert report.notices[0] == "node_5 rests on node_4, node_99 as well, which is not there or was left out"
    assert "2 thoughts are recalled until they expire, the last on 2023-03-15" in report.notices[1]


def test_the_character_has_its_persona_and_its_own_weights(ann, data):
    import_persona(ann, data / "agents" / "tea", ZONE)
    character = load_character(data / "agents" / "tea", Config())
    assert (character.name, character.language) == ("Ann Lee", "en")
    assert character.persona.splitlines() == [
        "Age: 30", "Character: patient, ", "Background: Ann Lee sells tea.",
        "At present: Ann Lee plans a party.", "Daily life: Ann Lee rises at 6 am.",
    ]  # fmt: skip
    stream = Config().for_character(character.overrides).recall.stream
    assert (stream.decay, stream.recency_unit) == (0.995, "rank")
    assert (stream.weights.recency, stream.weights.relevance, stream.weights.importance) == (0.5, 6, 2)


def test_an_event_keeps_when_where_and_how_much_it_mattered(ann, data):
    import_persona(ann, data / "agents" / "ann", ZONE)
    idle = episodes(opened(data / "agents" / "ann"))["counter is idle"]
    at = BORN.replace(tzinfo=ZONE)
    assert (idle.kind, idle.at, idle.by, idle.event.happened) == ("event", at, "model", (at, at))
    assert (idle.event.subject, idle.event.place, idle.event.importance) == ("counter", "Hobbs Cafe", 0.1)
    assert idle.event.keywords == ("counter", "idle")


def test_a_thought_is_a_reflection_on_its_evidence_and_expires(ann, data):
    import_persona(ann, data / "agents" / "ann", ZONE)
    found = episodes(opened(data / "agents" / "ann"))
    likes, trusts = found["Ann Lee likes Bo"], found["Bo can be trusted"]
    assert (likes.kind, likes.depth, trusts.depth) == ("reflection", 2, 3)
    assert likes.evidence == (found["counter is idle"].id, found["small talk"].id)
    assert trusts.evidence == (likes.id,)
    assert likes.expires == datetime(2023, 3, 15, 9, 30, tzinfo=ZONE)
    assert likes.event.sources == ("node_5", "node_2-1", "node_2-2")
    assert trusts.event.importance == 1


def test_thoughts_can_be_kept_for_good(ann, data):
    report = import_persona(ann, data / "agents" / "ann", ZONE, expires=False)
    assert {episode.expires for episode in episodes(opened(data / "agents" / "ann")).values()} == {None}
    assert len(report.notices) == 1


def test_a_conversation_is_kept_word_for_word_and_by_speaker(ann, data):
    import_persona(ann, data / "agents" / "ann", ZONE)
    store = opened(data / "agents" / "ann")
    said = store.exchanges.of(["node_2-1", "node_2-2"])
    assert [(e.user, e.char) for e in said.values()] == [
        ("Bo: Hi Ann!\nBo: How are you?", "Fine."), ("Bo: Good.", "Bye.")
    ]  # fmt: skip
    found = episodes(store)
    assert found["small talk"].event.sources == tuple(said)
    assert found["Ann Lee talks with Bo"].event.sources == ("node_3", *said)
    assert found["a word with Cy: They spoke about rain."].event.sources == ("node_6",)


def test_whoever_speaks_first_the_order_stays(tmp_path, data):
    memory = AssociativeMemory()
    lines = [["Ann", "Hi"], ["Bo", "Hi"]]
    memory.add_chat(BORN, None, "Ann", "chat with", "Bo", "talk", [], 4, ("talk", None), lines)
    memory.save(tmp_path / "Ann")
    import_persona(tmp_path / "Ann", data / "agents" / "ann", ZONE)
    said = opened(data / "agents" / "ann").exchanges.of(["node_1-1", "node_1-2"]).values()
    assert [(e.user, e.char) for e in said] == [("", "Hi"), ("Bo: Hi", "")]


def test_an_existing_character_is_never_touched(ann, data):
    there = data / "agents" / "ann"
    there.mkdir()
    (there / "character.yaml").write_text("name: Ann\n", "utf-8")
    with pytest.raises(DataError, match=r"already there.*-c NAME"):
        import_persona(ann, there, ZONE)
    assert [path.name for path in there.iterdir()] == ["character.yaml"]


def test_what_cannot_be_read_leaves_no_character_behind(ann, data):
    nodes = json.loads((ann / "associative_memory" / "nodes.json").read_text("utf-8"))
    nodes["node_1"]["created"] = "9999-12-31 23:59:60"
    (ann / "associative_memory" / "nodes.json").write_text(json.dumps(nodes), "utf-8")
    with pytest.raises(DataError):
        import_persona(ann, data / "agents" / "ann", ZONE)
    assert list((data / "agents").iterdir()) == []


def test_a_character_that_cannot_be_written_whole_is_not_there_at_all(ann, data, monkeypatch):
    def full(*_, **__):
        raise OSError("the disk is full")

    monkeypatch.setattr(FileStore, "close", full)
    with pytest.raises(OSError, match="disk is full"):
        import_persona(ann, data / "agents" / "ann", ZONE)
    assert list((data / "agents").iterdir()) == []


def test_an_empty_memory_makes_a_character_without_memories(tmp_path, data):
    (tmp_path / "Ann").mkdir()
    (tmp_path / "Ann" / "nodes.json").write_text("{}", "utf-8")
    report = import_persona(tmp_path / "Ann", data / "agents" / "ann", ZONE, language="zh")
    assert (report.events, report.reflections, report.exchanges) == (0, 0, 0)
    assert load_character(data / "agents" / "ann", Config()).language == "zh"


@pytest.mark.parametrize(
    ("folder", "language", "counts"),
    [("en_klaus_mueller_step-3-20_no_embeddings", "en", (484, 109)), ("zh_tamara_taylor", "zh", (136, 16))],
)
def test_the_saved_personas_come_whole_and_read_again_without_a_problem(folder, language, counts, shared, data):
    saved, made = shared / "data" / "generative_agents" / folder, data / "agents" / "made"
    report = import_persona(saved, made, ZONE)
    assert ((report.events, report.reflections), report.left_out) == (counts, {})
    store, nodes = opened(made), read_persona(saved).a_mem.id_to_node
    assert store.problems == []
    found = [episode for _, _, episode in store.findings.changed(-1) if episode is not None]
    assert len({episode.id for episode in found}) == len(found) == len(nodes)
    known = {episode.id for episode in found}
    assert all(known.issuperset(episode.evidence) for episode in found)
    assert sum(len(e.evidence) for e in found) == sum(
        len(node.filling or ()) for node in nodes.values() if node.type == "thought"
    )
    assert load_character(made, Config()).language == language


def test_one_node_alone_scores_half_of_everything_with_the_defaults_of_the_seed() -> None:
    scratch = Scratch(curr_time=BORN + timedelta(days=1))
    assert (scratch.recency_w, scratch.relevance_w, scratch.importance_w, scratch.recency_decay) == (1, 1, 1, 0.99)
    memory = AssociativeMemory()
    memory.add_event(BORN, None, "Ann", "drinks", "tea", "a", ["tea"], 5, ("a", [1.0, 0.0]), [])
    assert [score for _, score in ranked(Persona("Ann", memory, scratch), "a")] == [2.75]
