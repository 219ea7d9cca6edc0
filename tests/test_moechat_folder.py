"""A folder of MoeChat's own, opened as it is (CONTRACTS.md, A)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import yaml

from moechat.agent import Agent
from moechat.house import House
from moechat.model import Message
from tests.houses import Home, day_files, edit, moment, recalled, say, shown, silent

# What MoeChat writes: epoch seconds, one literal block of three parts, no padding in the name.
DAY = """\
{morning}:
  text_tag: 用户说早上吃了小笼包
  msg: |-
    时间：2025-5-18 08:30:00

    {{{{user}}}}：早上吃了小笼包，蘸了醋

    {{{{char}}}}：听着就香
{evening}:
  text_tag: 日常闲聊
  msg: |
    时间：2025-5-18 20:00:00
    {{{{user}}}}：晚上在西湖边散步
    {{{{char}}}}：风舒服吗
"""
CORE = """\
a1b2:
  text: 第一次相遇
  time: '2025-05-01 10:00:00'
c3d4:
  text: likes New York pizza
  time: '2025-05-02 11:00:00'
"""
HISTORY = [{"role": "user", "content": "昨天说到哪了"}, {"role": "assistant", "content": "说到西湖，\n还有醋"}]
OLD_CONFIG = """\
Agent:
  char: 小满
  user: 阿明
  long_memory: true
  char_settings: 你是小满，住在老城区。
  is_up: true
  is_check_memorys: true
  mem_thresholds: 0.38
LLM:
  api: http://127.0.0.1:1/v1
  key: sk-secret
  model: gpt
LLM2: {api: x, key: y, model: z}
"""


class Poison:
    """Unpickled, it would leave a mark."""


def fingerprints(folder: Path, *, ours: tuple[str, ...] = ()) -> dict[str, str]:
    """All files but our own, by content."""
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and ".index" not in p.parts and p.name not in ("log.jsonl", "state.jsonl", ".lock", *ours)
    }


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home.build(tmp_path)
    folder = home.folder
    (folder / "character.yaml").unlink()
    (folder / "memorys").mkdir()
    epochs = {
        name: int(moment(at).timestamp())
        for name, at in (("morning", "2025-05-18T08:30:00"), ("evening", "2025-05-18T20:00:00"))
    }
    (folder / "memorys" / "2025-5-18.yaml").write_text(DAY.format(**epochs), encoding="utf-8")
    (folder / "core_mem.yml").write_text(CORE, encoding="utf-8")
    (folder / "history.yaml").write_text(yaml.safe_dump(HISTORY, allow_unicode=True), encoding="utf-8")
    (folder / "data_base" / "tmp").mkdir(parents=True)
    (folder / "data_base" / "world.yaml").write_text("断桥: 西湖上的一座桥，小满常去。\n", encoding="utf-8")
    mark = tmp_path / "unpickled"
    poison = f"cos\nsystem\n(S'touch {mark}'\ntR.".encode()
    for name in ("memorys/2025-5-18.pkl", "core_mem.pkl", "data_base/tmp/label_vectors.pkl", "data_base/tmp/world.pkl"):
        (folder / name).write_bytes(poison)
    home.config.write_text(OLD_CONFIG + "time: {zone: Asia/Shanghai}\nrecall: {deadline_ms: 20000}\n", encoding="utf-8")
    return home


@pytest.fixture
def agent(house: House) -> Agent:
    agent = house.agent()
    agent.settle_indexes()
    return agent


def test_it_opens_with_its_persona_from_the_agent_section(agent: Agent) -> None:
    assert (agent.character.name, agent.character.user_name, agent.character.persona) == (
        "小满",
        "阿明",
        "你是小满，住在老城区。",
    )
    assert not agent.problems()
    assert any("LLM" in notice for notice in agent.config.notices)


def test_its_days_are_found_by_time(agent: Agent) -> None:
    found = recalled(agent, "前天我们聊了什么")
    assert "小笼包" in shown(found, "diary")
    assert "散步" in shown(found, "diary")
    assert "{{" not in shown(found)
    assert [h.time for h in found.hits if "小笼包" in h.text] == [moment("2025-05-18T08:30:00")]
    assert not found.empty_spans


def test_the_threshold_of_another_embedding_filters_nothing_where_only_a_day_is_asked_about(agent: Agent) -> None:
    assert agent.config.Agent.is_check_memorys and agent.config.Agent.mem_thresholds is None
    assert any("mem_thresholds 0.38" in notice for notice in agent.config.notices)
    found = shown(recalled(agent, "5月18日我们聊了什么"), "diary")
    assert "小笼包" in found and "散步" in found


def test_its_days_are_found_by_meaning_its_facts_and_lore_too(agent: Agent) -> None:
    assert "蘸了醋" in shown(recalled(agent, "小笼包蘸什么好吃"), "diary")
    assert "likes New York pizza" in shown(recalled(agent, "do you know any New York pizza"), "core")
    assert "小满常去" in shown(recalled(agent, "断桥在哪"), "lore")


def test_its_inline_tags_are_kept_and_two_lines_or_blank_lines_between_the_parts_read_alike(agent: Agent) -> None:
    rows = [row for row in agent.store.exchanges.filed() if row.file == "memorys/2025-5-18.yaml"]
    assert [(r.exchange.user, r.exchange.char, r.tag) for r in rows] == [
        ("早上吃了小笼包，蘸了醋", "听着就香", "用户说早上吃了小笼包"),
        ("晚上在西湖边散步", "风舒服吗", "日常闲聊"),
    ]


def test_its_files_are_never_written_and_its_pickles_never_read(home: Home, tmp_path: Path) -> None:
    before = fingerprints(home.folder)
    with home.open() as house:
        agent = house.agent()
        say(agent, "你好呀，我喜欢打羽毛球")
        say(agent, "前天我们聊了什么")
        agent.finish()
        agent.verify()
    after = fingerprints(home.folder)
    theirs = {name for name in before if name not in ("core_mem.yml", "history.yaml")}
    assert {name: after.get(name) for name in theirs} == {name: before[name] for name in theirs}
    assert (home.folder / "core_mem.yml").read_text(encoding="utf-8").startswith(CORE), "facts are added behind its own"
    assert not (tmp_path / "unpickled").exists()


def test_a_folder_that_is_only_looked_at_stays_as_it_was(home: Home) -> None:
    before = fingerprints(home.folder)
    with home.open(looks=True) as house:
        house.agent().recall("前天我们聊了什么")
        assert house.agent().verify()["problems"] == []
    assert fingerprints(home.folder) == before
    assert not (home.folder / "log.jsonl").exists()


def test_a_date_may_have_both_files(home: Home) -> None:
    home.clock.at = moment("2025-05-18T21:00:00")
    with home.open() as house:
        agent = house.agent()
        say(agent, "现在回家了")
        agent.finish()
        assert [p.name for p in day_files(home.folder)] == ["2025-05-18.yaml", "2025-5-18.yaml"]
        home.clock.advance(days=1)
        found = shown(recalled(agent, "昨天我们聊了什么"))
        assert "小笼包" in found
        assert "现在回家了" in found


def test_of_a_date_with_two_digits_both_files_stand_side_by_side(home: Home) -> None:
    old = home.folder / "memorys" / "2025-5-18.yaml"
    text = old.read_text(encoding="utf-8")
    old.unlink()
    epoch = int(moment("2025-11-21T08:30:00").timestamp())
    theirs = home.folder / "memorys" / "2025-11-21.yaml"
    theirs.write_text(
        text.split("\n", 1)[0].split(":")[0].replace(text.split(":")[0], str(epoch))
        + ":"
        + text.split(":", 1)[1].split("\n17")[0]
        + "\n",
        encoding="utf-8",
    )
    before = theirs.read_bytes()
    home.clock.at = moment("2025-11-21T12:00:00")
    with home.open() as house:
        agent = house.agent()
        say(agent, "中午好，我吃了面")
        agent.finish()
        say(agent, "再说一句")
        agent.finish()
        assert theirs.read_bytes() == before
        assert [p.name for p in day_files(home.folder)] == ["2025-11-21.2.yaml", "2025-11-21.yaml"]
        home.clock.advance(days=1)
        found = shown(recalled(agent, "昨天我们聊了什么"))
        assert "小笼包" in found
        assert "吃了面" in found
        assert agent.verify()["problems"] == []


def test_correcting_one_of_its_records_is_refused_in_words_and_a_hand_edit_is_taken(home: Home, agent: Agent) -> None:
    id_ = str(int(moment("2025-05-18T08:30:00").timestamp()))
    before = (home.folder / "memorys" / "2025-5-18.yaml").read_bytes()
    with pytest.raises(Exception, match="never written by us"):
        agent.conversation.correct(id_, user="改")
    assert (home.folder / "memorys" / "2025-5-18.yaml").read_bytes() == before
    edit(home.folder / "memorys" / "2025-5-18.yaml", "蘸了醋", "蘸了很多辣椒油")
    assert "辣椒油" in shown(recalled(agent, "小笼包蘸什么"))


def test_old_records_are_not_queued_to_be_understood(agent: Agent) -> None:
    assert agent.store.tree.pending() == []
    assert not list((agent.store.folder / "memorys").glob("*.notes.yaml"))


# ---- history.yaml


def prompts_of(model) -> list[list[Message]]:
    return [list(request.messages) for request in model.requests]


def test_history_seeds_the_first_context_only_and_is_never_an_exchange(home: Home) -> None:
    model = silent()
    seed = [Message(m["role"], m["content"]) for m in HISTORY]  # type: ignore[arg-type]
    with home.open(model) as house:
        agent = house.agent()
        say(agent, "继续吧")
        say(agent, "然后呢")
        first, second = prompts_of(model)
        assert [m for m in first if m in seed] == seed
        assert [m for m in second if m in seed] == seed
        assert [m.role for m in second][1:5] == ["user", "assistant", "user", "assistant"]
        assert [row["text"] for row in agent.log()] == ["继续吧", "然后呢"]
        assert "说到西湖" not in shown(agent.recall("昨天说到哪了"))
        home.clock.advance(hours=13)
        say(agent, "又来了")
        assert not [m for m in prompts_of(model)[-1] if m in seed], "it left with the first context"


def test_history_is_written_after_each_settled_turn_and_read_no_more_once_there_is_a_log(home: Home) -> None:
    with home.open() as house:
        agent = house.agent()
        say(agent, "继续吧")
        agent.finish()
    path = home.folder / "history.yaml"
    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert told == [*HISTORY, {"role": "user", "content": "继续吧"}, {"role": "assistant", "content": "嗯，我记住了。"}]
    path.write_text("- {role: user, content: 手写的假历史}\n", encoding="utf-8")
    model = silent()
    with home.open(model) as house:
        say(house.agent(), "在吗")
        assert not [m for m in prompts_of(model)[0] if "假历史" in m.content]


def test_a_broken_history_is_named_and_left_alone(home: Home) -> None:
    path = home.folder / "history.yaml"
    path.write_text("- role: user\n  content: [\n", encoding="utf-8")
    before = path.read_bytes()
    with home.open() as house:
        agent = house.agent()
        say(agent, "在吗")
        agent.finish()
        assert any("history.yaml, line" in problem for problem in agent.problems())
    assert path.read_bytes() == before


def test_context_length_counts_what_history_held(home: Home) -> None:
    home.config.write_text(
        home.config.read_text(encoding="utf-8").replace("  user: 阿明", "  user: 阿明\n  context_length: 1"),
        encoding="utf-8",
    )
    model = silent()
    with home.open(model) as house:
        say(house.agent(), "继续吧")
    said = [m.content for m in prompts_of(model)[0] if m.role != "system"]
    assert said == ["说到西湖，\n还有醋", "继续吧"]
