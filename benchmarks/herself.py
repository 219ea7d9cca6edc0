"""A hundred questions in each language about what a character said of herself in ten talks of three hundred replies: does the
prompt hold what she said, or what her author wrote?

    python -m benchmarks.herself [--misses]

The rules and the built-in embedding, no language model; her replies are a script. Nothing is kept.
"""

# ruff: noqa: T201  (a script that prints)

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from benchmarks.lives import OF, drawn
from moechat.ai.scripted import ScriptedModel
from moechat.clock import SetClock, moment_of
from moechat.house import House
from moechat.model import Message
from moechat.settings.config import Config

REPLIES, ASKED, BEGIN = 300, 100, "2025-03-03T20:00"
THINGS = {
    "zh": "糯米 蓝莓 钢琴 芙蓉 海棠 竹笛 陶土 薄荷 松鼠 琥珀 萤火 栗子 风铃 石榴 茶花 桂圆 羽毛 雪松 杏仁 云雀 苔藓 芒果".split(),
    "en": "biscuit juniper marmalade thistle pebble clover saffron bramble hazel nutmeg pepper willow cricket comet ginger heron "
    "maple olive poppy quill rowan sorrel".split(),
}
OF_HERSELF = {
    "zh": (
        ("我养的猫叫{thing}，可黏人了。", "你的猫叫什么名字？"), ("我最喜欢吃的是{thing}。", "你最喜欢吃什么？"),
        ("我小时候的外号是{thing}。", "你小时候的外号是什么？"), ("我打算夏天去{thing}镇看海。", "你夏天打算去哪儿？"),
        ("我在学{thing}，每周三晚上上课。", "你每周三晚上学什么？"), ("我最好的朋友叫{thing}。", "你最好的朋友叫什么？"),
        ("我最怕{thing}了。", "你最怕什么？"), ("我老家门口有一棵{thing}树。", "你老家门口有什么树？"),
        ("我窗台上摆着{thing}盆栽。", "你窗台上摆着什么？"), ("我的第一份工作是在{thing}书店。", "你第一份工作在哪儿？"),
    ),
    "en": (
        ("My cat's called {thing}, she's so clingy.", "What's your cat called?"),
        ("My favourite food is {thing} pie.", "What's your favourite food?"),
        ("As a child I was nicknamed {thing}.", "What was your nickname as a child?"),
        ("I'm planning to go to {thing} bay in summer to see the sea.", "Where do you plan to go in summer?"),
        ("I'm learning to paint with {thing}, every Wednesday evening.", "What are you learning on Wednesday evenings?"),
        ("My best friend is called {thing}.", "What's your best friend called?"),
        ("I'm so scared of {thing}, you know.", "What are you scared of?"),
        ("There's a {thing} tree by the door of our old house.", "Which tree is by the door of your old house?"),
        ("I keep a pot of {thing} on my windowsill.", "What do you keep on your windowsill?"),
        ("My first job was at the {thing} bookshop.", "Where was your first job?"),
    ),
}  # fmt: skip
HER = {
    "zh": ("小满", "阿明", "你是小满，爱听人说话，在灯塔旁的邮局上班，生日是十一月九日。"),
    "en": ("Wren", "Sam", "You are Wren. You work at the post office by the lighthouse. Your birthday is on 9 November."),
}  # fmt: skip
BY_AUTHOR = {
    "zh": (("你在哪儿上班？", "邮局"), ("你的生日是哪天？", "十一月九日")),
    "en": (("Where do you work?", "post office"), ("When is your birthday?", "9 November")),
}
FILLERS = {
    "zh": ["嗯，我在听。", "这样啊，后来呢？", "听起来不错。"],
    "en": ["Mm, I'm listening.", "I see, and then?", "Sounds good."],
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--language", choices=("zh", "en"), action="append")
    wanted = parser.parse_args()
    for language in wanted.language or ("zh", "en"):
        found, asked = 0, 0
        for seed in range(10):
            good, number = talk(language, seed, wanted.misses)
            found, asked = found + good, asked + number
        print(f"{language}, in the prompt: {found} of {asked} ({found / asked:.3f})")


def talk(language: str, seed: int, misses: bool) -> tuple[int, int]:
    """(answers that the prompts held, questions) of one talk; ``seed`` draws what is said and when."""
    chance, prompt, clock = random.Random(seed), list[str](), SetClock(moment_of(BEGIN, Config().time.tzinfo))
    (name, user, persona), of_herself, replies = HER[language], OF_HERSELF[language], FILLERS[language]
    things = chance.sample(THINGS[language], len(of_herself))
    told = dict(zip(sorted(chance.sample(range(REPLIES - 30), len(of_herself))), range(len(of_herself)), strict=True))
    script = [
        of_herself[told[n]][0].format(thing=things[told[n]]) if n in told else chance.choice(replies)
        for n in range(REPLIES)
    ]

    def reply(messages: Sequence[Message]) -> str:
        prompt[:] = ["\n".join(one.content for one in messages)]
        return script.pop(0) if script else replies[0]

    with TemporaryDirectory() as folder:
        own = Path(folder, "data", "agents", name)
        own.mkdir(parents=True)
        keys = {"name": name, "user_name": user, "language": language, "persona": persona}
        (own / "character.yaml").write_text(yaml.safe_dump(keys, allow_unicode=True), "utf-8")
        config = Path(folder) / "config.yaml"
        config.write_text("recall: {deadline_ms: 20000}\n", "utf-8")
        with House(Path(folder) / "data", config, clock=clock, model=ScriptedModel(reply, understands=False)) as house:
            agent = house.agent(name)
            for number in range(REPLIES):
                list(agent.talk(drawn(OF[language]["days"], language, chance)))
                clock.advance(minutes=3 if number % 10 else 600)
                if number % 10 == 0:
                    agent.finish()
            agent.finish()
            good, number = 0, 0
            questions = [(question, things[at]) for at, (_, question) in enumerate(of_herself)]
            for question, answer in [*questions[: ASKED // 10 - 1], BY_AUTHOR[language][seed % 2]]:
                clock.advance(minutes=600)
                list(agent.aside(None).talk(question))
                good, number = good + (answer in prompt[0]), number + 1
                if misses and answer not in prompt[0]:
                    print("  not in the prompt:", question, answer)
            return good, number


if __name__ == "__main__":
    main()
