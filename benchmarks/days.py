"""Sixty days of one memory: thirty days that come round are told at the start (ten by the moon), and there are twenty absences.
Is each day named on its day, and is her word to who comes back once an absence, of a source, and never delicate?

    python -m benchmarks.days [--misses]

The built-in embedding, the rules, no language model; she is asked for a word at five hours of every day. Calls of a model are
counted over ten days more, with a script in its place. Nothing is kept.
"""

# ruff: noqa: T201  (a script that prints)

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from datetime import date, datetime, time, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.lives import OF, drawn
from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.clock import SetClock, moment_of
from moechat.house import House
from moechat.settings.config import Config
from moechat.when.calendar import lunar_date
from moechat.when.names import MONTHS

BEGIN, DAYS = "2025-03-03T20:00", 60
KIN = "妈妈 爸爸 姐姐 哥哥 弟弟 妹妹 舅舅 姑姑 叔叔 阿姨 表姐 表哥 堂弟 堂妹 女儿 儿子".split()
KIN_EN = "mum dad sister brother aunt uncle".split()
GLAD = (
    "我今天终于拿到驾照了", "我搬进新家了", "我论文答辩通过了", "我跑完了人生第一个马拉松", "我今天升职了", "我学会弹那首曲子了",
    "我领养了一只橘猫", "我的画被展出了", "我考上研究生了", "我买到演唱会的票了",
)  # fmt: skip
GRAVE = ("我外公上周确诊了癌症", "我被公司裁员了", "我开始吃抗抑郁药了", "我和男朋友分手了，一直在哭")
HOURS = (7, 9, 13, 19, 23)


def by_moon(day: date) -> str:
    month, number, _ = lunar_date(day) or (0, 0, False)
    months = "正 二 三 四 五 六 七 八 九 十 冬 腊".split()
    ones = "一二三四五六七八九十"
    tens = {0: "初", 1: "十", 2: "二十"}
    if number == 30 or number % 10 == 0:
        written = {10: "初十", 20: "二十", 30: "三十"}[number]
    else:
        written = f"{tens[number // 10]}{ones[number % 10 - 1]}"
    return f"农历{months[month - 1]}月{written}"


def to_tell(begin: date) -> list[tuple[date, str, bool]]:
    """(day, what is said of it, is it one of grief) of thirty days in the sixty after the beginning."""
    days = [begin + timedelta(days=3 + int(one * 1.9)) for one in range(30)]
    said = list[tuple[date, str, bool]]()
    for number, day in enumerate(days):
        sun = f"{day.month}月{day.day}日"
        if number % 3 == 0 and number // 3 < 8:
            said.append((day, f"我{KIN[number // 3]}的生日是{by_moon(day)}", False))
        elif number in (24, 27):
            said.append((day, f"我{'外婆' if number == 24 else '奶奶'}的忌日是{by_moon(day)}", True))
        elif number in (25, 28):
            who = "姑妈" if number == 25 else "姨妈"
            said.append((day, f"我{who}{2012 + number % 7}年{sun}去世了", True))
        elif number in (26, 29):
            said.append((day, f"我和老公是2016年{sun}结婚的" if number == 26 else f"我们的结婚纪念日是{sun}", False))
        elif number % 3 == 1:
            said.append((day, f"我{KIN[8 + number // 3 % 8]}的生日是{sun}", False))
        elif number // 3 < 6:
            said.append((day, f"My {KIN_EN[number // 3]}'s birthday is {MONTHS[day.month - 1]} {day.day}", False))
        else:
            said.append((day, f"我老板{sun}过生日" if number // 3 == 6 else f"我的生日是{sun}", False))
    return said


def says(agent: Agent, clock: SetClock, *texts: str) -> None:
    for text in texts:
        list(agent.talk(text))
        clock.advance(minutes=3)
    agent.finish()


def calls(*, on: bool) -> int:
    """The most calls of a model on one of ten days of talk and in the night after it, with all that is hers on or off."""
    chance, clock, most = random.Random(2), SetClock(moment_of(BEGIN, Config().time.tzinfo)), 0
    recall = dict.fromkeys(("what_matters", "days", "mood", "ours"), on)
    model = ScriptedModel(lambda _: "嗯，我在听。", lambda _: '{"facts": [], "events": []}')
    with TemporaryDirectory() as folder:
        config = Path(folder) / "config.yaml"
        switches = {"greeting": {"enabled": on}, "daybook": {"enabled": on}, "recall": recall}
        config.write_text(json.dumps(switches), "utf-8")
        with House(Path(folder) / "data", config, clock=clock, model=model) as house:
            agent = house.agent("青禾")
            for _ in range(10):
                before = len(model.requests) + len(model.questions)
                agent.greeting()
                says(agent, clock, *(drawn(OF["zh"]["days"], "zh", chance) for _ in range(3)))
                clock.advance(hours=24)
                agent.finish()
                most = max(most, len(model.requests) + len(model.questions) - before)
    return most


def named(agent: Agent, source: str) -> bool:
    return any(hit.recipe == "days" and source in hit.sources for hit in agent.recall("中午吃什么好呢").plans)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--misses", action="store_true")
    misses = parser.parse_args().misses
    chance, clock = random.Random(1), SetClock(moment_of(BEGIN, Config().time.tzinfo))
    zone = clock.now().tzinfo
    count: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        config = Path(folder) / "config.yaml"
        config.write_text("greeting:\n  enabled: true\n", "utf-8")
        with House(Path(folder) / "data", config, clock=clock) as house:
            agent = house.agent("青禾")
            days = to_tell(clock.now().date())
            painful = {*GRAVE, *(text for _, text, is_grave in days if is_grave)}
            sources, words_of = {}, dict[str, list[str]]()
            for day, text, is_grave in days:
                says(agent, clock, text)
                sources[day] = (agent.recent(1)[0].exchange.id, text, is_grave)
            talked, words_of_absence = clock.now().date(), 0
            begin = clock.now().date()
            for number in range(1, DAYS + 1):
                day = begin + timedelta(days=number)
                for hour in HOURS:
                    clock.at = datetime.combine(day, time(hour), zone)
                    if hour == 13 and day in sources:
                        source, text, is_grave = sources[day]
                        count["days"] += 1
                        count["lunar"] += "农历" in text
                        found = named(agent, source)
                        count["named"] += found
                        count["lunar named"] += found and "农历" in text
                        if misses and not found:
                            print("  not named:", day, text)
                    word = agent.greeting()
                    if word is None:
                        continue
                    words_of_absence += 1
                    count["words"] += 1
                    count[f"words: {word.kind}"] += 1
                    for source in word.sources:
                        words_of.setdefault(source, []).append(word.text)
                    count["the same day"] += day == talked
                    count["more than one"] += words_of_absence > 1
                    told = agent.store.exchanges.of(list(word.sources)).values()
                    count["without a source"] += not any(
                        word.kind == "day"
                        or one.user.strip("。") in word.text
                        or word.text.split("「")[-1].split("」")[0] in one.user
                        for one in told
                    )
                    grave = any(one.user in painful for one in told)
                    count["delicate"] += grave
                    if misses and grave:
                        print("  delicate:", [one.user for one in told])
                    if misses:
                        print("  ", clock.at, word.text)
                if number % 3 == 0:
                    clock.at = datetime.combine(day, time(20), zone)
                    count["absences"] += 1
                    soon = day + timedelta(days=2)
                    texts = [drawn(OF["zh"]["days"], "zh", chance) for _ in range(4)]
                    texts.insert(0, chance.choice(GLAD))
                    texts.insert(
                        1, f"我{soon.month}月{soon.day}号要去{chance.choice(('面试', '体检', '看牙', '考试'))}"
                    )
                    if number % 5 == 0:
                        texts.insert(2, chance.choice(GRAVE))
                    says(agent, clock, *texts)
                    talked, words_of_absence = day, 0
            gone = [source for source, _, _ in sources.values()]
            agent.memories.forget(gone)
            agent.finish()
            files = b"\n".join(path.read_bytes() for path in Path(folder, "data").rglob("*") if path.is_file())
            texts = [text for source, text, _ in sources.values() for text in (text, *words_of.get(source, ()))]
            left = [text for text in texts if text.encode() in files or json.dumps(text).encode() in files]
            count["left after forgetting"] = len(left)
            if misses and left:
                print("  left:", left)
    count["calls a day of talk, all off"], count["calls a day of talk, all on"] = calls(on=False), calls(on=True)
    for name, number in count.items():
        print(f"{name}: {number}")


if __name__ == "__main__":
    main()
