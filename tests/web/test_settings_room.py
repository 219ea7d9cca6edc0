"""The settings in the page: what is typed is kept in config.yaml, what a hand writes there holds at the next message."""

from __future__ import annotations

from pathlib import Path

import pytest

from moechat.errors import ConfigError, DataError, NotFound
from moechat.house import House
from moechat.settings.config import DIAL
from moechat.settings.service_keys import FILE
from moechat.store.usage import TurnCost
from moechat.web import settings_room
from moechat.web.clicks import Action, Visit
from moechat.web.settings_room import SettingsLook, SettingsOutcome
from moechat.web.words import Words
from tests.houses import Home, edit, say
from tests.model_server import ModelServer
from tests.settings.test_service_keys import KEY, Ring
from tests.settings.test_service_keys import ring as ring

ZH = Words("zh")


def drawn(house: House, look: SettingsLook | None = None) -> str:
    return settings_room.drawn(Visit(house, house.agent(), ZH), look or SettingsLook())


def do(house: House, action: Action, look: SettingsLook | None = None) -> SettingsOutcome:
    return settings_room.act(Visit(house, house.agent(), ZH), look or SettingsLook(), action)


def test_sampling_is_saved_with_the_comments_kept_and_a_bad_value_is_refused(home: Home) -> None:
    home.config.write_text("# mine\nchat:\n  # keep this\n  temperature: 0.5\n", encoding="utf-8")
    with home.open() as house:
        do(house, {"do": "tune", "temperature": "0.9", "top_p": "0.8", "max_tokens": "", "context_tokens": "8000"})
        chat = house.config.chat
        assert (chat.temperature, chat.context_tokens, chat.extra) == (0.9, 8000, {"top_p": 0.8})
        text = home.config.read_text(encoding="utf-8")
        assert "# mine" in text and "# keep this" in text
        html = drawn(house)
        assert 'value="0.9"' in html and 'value="8000"' in html


def test_one_dial_says_how_readily_the_past_is_brought_up(tmp_path: Path) -> None:
    home = Home.build(tmp_path, Agent={"mem_thresholds": 0.9})
    with home.open() as house:
        agent = house.agent()
        say(agent, "昨天和室友吃了火锅，我讨厌香菜")
        agent.finish()
        do(house, {"do": "dial", "value": "sometimes"})  # what was set by hand would stand in its way
        agent.conversation.follow()
        usual = agent.layers.recipes.threshold("events")
        do(house, {"do": "dial", "value": "rarely"})
        agent.conversation.follow()
        assert agent.layers.recipes.threshold("events") > usual
        assert "brings_up: rarely" in home.config.read_text("utf-8")
        do(house, {"do": "dial", "value": "often"})
        agent.conversation.follow()
        assert agent.layers.recipes.threshold("events") < usual
        look, _ = do(house, {"do": "try", "sentence": "我讨厌吃什么"})
        html = drawn(house, look)
        assert 'data-value="often" aria-pressed="true"' in html
        assert html.count('<ul class="brought">') >= 1 and "香菜" in html
        with pytest.raises(ConfigError):
            do(house, {"do": "dial", "value": "<always>"})


def test_what_she_keeps_in_mind_is_switched_off_and_on(home: Home, house: House) -> None:
    for name in settings_room.KEPT:
        section, _, key = name.partition(".")
        before = getattr(getattr(house.config, section), key)
        html = drawn(house)
        assert f'data-value="{name}" aria-pressed="{str(before).lower()}"' in html
        do(house, {"do": "switch", "value": name})
        assert getattr(getattr(house.config, section), key) is not before
    do(house, {"do": "switch", "value": "serve.port"})
    assert "serve" not in home.config.read_text("utf-8")


def test_a_word_of_the_dial_is_tried_before_it_is_saved(home: Home, house: House) -> None:
    agent = house.agent()
    for text in ("昨天和室友吃了火锅", "前天和室友看了电影", "室友说要搬走"):
        say(agent, text)
    agent.finish()
    home.clock.advance(days=2)  # what was said is no longer in the context
    tokens = [sum(hit.tokens for hit in agent.recall("室友看电影", word).hits) for word in DIAL]
    assert tokens == sorted(tokens) and tokens[0] < tokens[-1]
    look, _ = do(house, {"do": "try", "sentence": "室友看电影"})
    assert drawn(house, look).count('class="option"') == 3
    assert house.config.recall.brings_up == "sometimes"


def test_a_hand_in_the_settings_is_followed_at_the_next_message_and_a_bad_value_is_told(tmp_path: Path) -> None:
    home = Home.build(tmp_path, chat={"context_tokens": 8000})
    with home.open() as house:
        agent = house.agent()
        edit(home.config, "context_tokens: 8000", "context_tokens: 900")
        say(agent, "你好")
        assert (house.config.chat.context_tokens, agent.config.chat.context_tokens) == (900, 900)
        edit(home.config, "context_tokens: 900", "context_tokens: lots of them")
        say(agent, "还在吗")
        assert agent.config.chat.context_tokens == 900  # the last good one
        assert "chat.context_tokens" in str(house.settings.problem)
        edit(home.config, "lots of them", "700")
        assert house.config.chat.context_tokens == 700
        assert house.settings.problem is None


def test_tinkerers_see_what_the_models_cost_and_the_scores_of_the_last_messages(house: House) -> None:
    agent = house.agent()
    assert "usage" not in drawn(house)
    agent.store.usage.count(agent.now().date(), "reply", TurnCost(120, 30, 60, 90, 100))
    html = drawn(house)
    assert "<td>2025-05-20</td><td>回复</td><td>1</td><td>120</td><td>30</td><td>50%</td><td>90%</td>" in html
    for text in ("我讨厌香菜", "我讨厌吃什么"):
        say(agent, text)
    agent.finish()
    plot = drawn(house, do(house, {"do": "plot"})[0])
    assert "<circle" in plot and plot.count('class="now"') == 3


def test_a_prompt_is_changed_in_the_page_and_its_default_restored(house: House) -> None:
    agent = house.agent()
    before = agent.layers.prompts.fill("spoken")
    do(house, {"do": "prompt-save", "id": "spoken", "text": "说得短些。"})
    assert agent.layers.prompts.fill("spoken") == "说得短些。"
    look, _ = do(house, {"do": "prompt", "q": "spoken"})
    assert "说得短些。</textarea>" in drawn(house, look)
    with pytest.raises(DataError, match="nobody"):
        do(house, {"do": "prompt-save", "id": "spoken", "text": "{{nobody}}"})
    do(house, {"do": "prompt-restore", "id": "spoken"})
    assert agent.layers.prompts.fill("spoken") == before
    with pytest.raises(NotFound):
        do(house, {"do": "prompt-save", "id": "../../x", "text": "x"})


def test_a_keyring_that_refuses_is_told_in_a_line_and_the_key_is_not_lost(tmp_path: Path, ring: Ring) -> None:
    ring.refuses = True
    with ModelServer(["ok"], key=KEY, models=("tiny",)) as server, Home.build(tmp_path).connected() as house:
        look, note = do(house, {"do": "connect", "act": "save", "base_url": server.url, "model": "tiny", "key": KEY})
        assert look.standing == "works" and not note.bad
        assert note.text.endswith(f"系统的钥匙串没有收下密钥（KeyringLocked）：存进了 {FILE}，只有你能读。")
        html = drawn(house, look)
        assert "已存在只有你能读的文件里" in html and KEY not in html
        ring.refuses = False
        _, note = do(house, {"do": "connect", "act": "save", "base_url": server.url, "model": "tiny", "key": KEY})
        assert note.text.endswith("密钥存进了系统的钥匙串。") and KEY not in (house.data / FILE).read_text()
        do(house, {"do": "key-drop"})
        assert house.try_connection(server.url, "tiny").kind == "bad_key" and ring.held == {}
