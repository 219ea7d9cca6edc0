"""A past of 20,000 messages over three years, brought along: time, memory, questions, a kill half-way, and back again.

    python -m benchmarks.past [--messages 20000] [--embedding builtin] [--json]

The talk is SillyTavern's form, made up, with twenty happenings hidden in it. It is imported by a process that is killed half-way
and by one that goes on; ten of the questions ask by date, ten by meaning. Last it is taken back, and every file is searched for
what was hidden.

19,710 messages, the built-in embedding, busy: imported after a kill at 587 of 1,095 days with 144 s of CPU (354 MB; 34 s
before the rules read by meaning); vectors 31 s of CPU; 10 of 10 by date, 10 of 10 by meaning; taken back in 31 s, and nothing was
left behind.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from benchmarks.year_talk import Talk
from moechat.house import House

PLANTED = (  # (what was said on one day, a question by meaning, the word that answers)
    ("今天领养了一只三花猫，取名叫豆包", "我的猫叫什么名字？", "豆包"),
    ("今天把驾照考下来了，科目三挂了两次", "我考驾照挂了几次？", "科目三"),
    ("今天和爷爷去钓鱼，钓到一条鲈鱼", "我和爷爷钓到了什么鱼？", "鲈鱼"),
    ("今天面试了一家做天文软件的公司，叫星图", "我面试的天文软件公司叫什么？", "星图"),
    ("今天在旧货市场淘到一台禄来相机", "我淘到的相机是什么牌子？", "禄来"),
    ("今天学会了做外婆的梅干菜扣肉", "我学会了外婆的哪道菜？", "梅干菜"),
    ("今天拔了智齿，疼得睡不着", "我拔牙那次疼得怎么样？", "智齿"),
    ("今天收到大学室友阿岚的结婚请柬", "谁给我寄了结婚请柬？", "阿岚"),
    ("今天第一次跑完半程马拉松，两小时零七分", "我的半程马拉松跑了多久？", "两小时零七分"),
    ("今天种下的柠檬树开花了", "我种的什么树开花了？", "柠檬"),
    ("今天看了一场皮影戏，讲的是武松", "我看的皮影戏讲的是谁？", "武松"),
    ("今天把自行车骑到了海边的灯塔", "我骑车到过哪座塔？", "灯塔"),
    ("今天修好了外公留下的座钟", "我修好了什么钟？", "座钟"),
    ("今天在山上遇见一只瘸腿的狐狸", "我在山上遇见了什么动物？", "狐狸"),
    ("今天报名了陶艺课，老师姓贺", "我的陶艺老师姓什么？", "贺"),
    ("今天搬进了带阁楼的新家", "我的新家有什么？", "阁楼"),
    ("今天听了一场大提琴独奏会", "我听过什么乐器的独奏会？", "大提琴"),
    ("今天把存了三年的硬币换成了一副护目镜", "我用硬币换了什么？", "护目镜"),
    ("今天在渡口捡到一枚铜钥匙", "我捡到过什么钥匙？", "铜钥匙"),
    ("今天写完了第一篇小说，叫《雾钟》", "我写的小说叫什么？", "雾钟"),
)
FIRST = date(2022, 5, 1)
DAYS = 3 * 365


def past(messages: int) -> tuple[list[dict[str, Any]], list[date]]:
    """The lines of a chat, and the days on which something was hidden."""
    per_day = max(1, round(messages / 2 / DAYS))
    talk, lines = Talk(1, per_day), []
    hidden = sorted(random.Random(7).sample(range(DAYS), len(PLANTED)))
    for number in range(DAYS):
        day = FIRST + timedelta(days=number)
        said = list(talk.day(day))
        for place, one in enumerate(said):
            text = one.text
            if number in hidden and place == len(said) // 2:
                text = PLANTED[hidden.index(number)][0]
            at = one.at.replace(tzinfo=None).isoformat()
            lines.append({"name": "me", "is_user": True, "send_date": at, "mes": text})
            lines.append({"name": "小满", "is_user": False, "send_date": at, "mes": "嗯，我记下了。"})
    return lines, [FIRST + timedelta(days=number) for number in hidden]


def run(home: Path, *args: str, kill_when: str = "") -> tuple[float, float, float]:
    """Seconds, seconds of CPU and MB of a command; it is killed once ``kill_when`` (a file name's part) has half of the days."""
    command = [
        sys.executable,
        "-m",
        "moechat",
        *args,
        "--data",
        str(home / "data"),
        "--config",
        str(home / "config.yaml"),
        "--json",
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while kill_when and process.poll() is None:
        if len(list((home / "data/agents/小满/memorys").glob("*.yaml"))) > DAYS // 2:
            process.send_signal(signal.SIGKILL)
        time.sleep(0.02)
    _, errors = process.communicate()
    if process.returncode and not kill_when:
        raise SystemExit(f"{' '.join(args)} ended with {process.returncode}: {errors.decode()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - begun, cpu, after.ru_maxrss / 1024


def answered(home: Path, days: list[date]) -> dict[str, int]:
    """How many questions are answered by what is recalled: ten by their date, ten by meaning."""
    right = {"by_date": 0, "by_meaning": 0}
    with House(home / "data", home / "config.yaml", now="2025-06-01T12:00:00", looks=True) as house:
        house.warm()
        agent = house.agent()
        for number, ((_, question, word), day) in enumerate(zip(PLANTED, days, strict=True)):
            by_date = number % 2 == 0
            text = f"{day.year}年{day.month}月{day.day}日我做了什么？" if by_date else question
            recalled = "\n".join(hit.text for hit in agent.recall(text).hits)
            right["by_date" if by_date else "by_meaning"] += word in recalled
    return right


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--messages", type=int, default=20_000)
    options.add_argument("--embedding", default="builtin")
    options.add_argument("--json", action="store_true")
    args = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="moechat-past-") as place:
        home = Path(place)
        owner = home / "data/agents/小满"
        owner.mkdir(parents=True)
        (owner / "character.yaml").write_text("name: 小满\nlanguage: zh\npersona: 你是小满。\n", encoding="utf-8")
        settings = {
            "Agent": {"char": "小满"},
            "time": {"zone": "Asia/Shanghai"},
            "embedding": {"provider": args.embedding},
        }
        (home / "config.yaml").write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8")
        lines, days = past(args.messages)
        head = {"user_name": "me", "character_name": "小满", "create_date": datetime.now().isoformat()}
        file = home / "past.jsonl"
        file.write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in [head, *lines]), encoding="utf-8")
        figures: dict[str, Any] = {"messages": len(lines), "cores": os.cpu_count()}
        figures["preview_s"], _, _ = run(home, "import", str(file), "--dry-run")
        figures["killed_after_s"], _, _ = run(home, "import", str(file), kill_when="days")
        figures["days_filed_when_killed"] = len(
            [p for p in (owner / "memorys").glob("*.yaml") if ".notes" not in p.name]
        )
        figures["resumed_s"], figures["resumed_cpu_s"], figures["rss_mb"] = run(home, "import", str(file))
        figures["vectors_s"], figures["vectors_cpu_s"], figures["vectors_rss_mb"] = run(home, "rebuild", "--vectors")
        figures["answered"] = answered(home, days)
        batch = json.loads(listed(home)[-1])["imports"][0]["batch"]
        figures["taken_back_s"], _, _ = run(home, "import", "take-back", batch, "--yes")
        hidden = [text.encode() for text, _, _ in PLANTED]
        files = [path for path in owner.rglob("*") if path.is_file()]
        figures["left_behind"] = [path.name for path in files if any(one in path.read_bytes() for one in hidden)]
        sys.stdout.write(
            json.dumps(figures, ensure_ascii=False) if args.json else "\n".join(f"{k}: {v}" for k, v in figures.items())
        )
        sys.stdout.write("\n")


def listed(home: Path) -> list[str]:
    """The talks of the memory, a JSON line each."""
    command = [
        sys.executable,
        "-m",
        "moechat",
        "talks",
        "list",
        "--data",
        str(home / "data"),
        "--config",
        str(home / "config.yaml"),
        "--json",
    ]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()


if __name__ == "__main__":
    main()
