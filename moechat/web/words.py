"""Every word of the page, in Chinese and English, side by side so that neither is forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from moechat.access.words import LANGUAGES, Language
from moechat.web.lore_words import LORE_TEXTS
from moechat.web.room_words import ROOM_TEXTS
from moechat.web.studio_words import STUDIO_TEXTS
from moechat.web.talk_words import TALK_TEXTS
from moechat.when import names

TEXTS: Mapping[str, tuple[str, str]] = {
    # the frame
    "title": ("萌聊 MoeChat", "MoeChat"),
    "tagline": ("会记得你的聊天伙伴", "a companion that remembers"),
    "characters": ("角色", "Characters"),
    "other_language": ("English", "中文"),
    "theme": ("◐ 明暗", "◐ Theme"),
    "write": ("对{name}说点什么…", "Say something to {name}…"),
    "message": ("消息", "Message"),
    "send": ("发送", "Send"),
    "stop": ("停止", "Stop"),
    "conversation": ("对话", "Conversation"),
    "you_said": ("你说", "You said"),
    "said_by": ("{name}说", "{name} said"),
    "loading": ("正在打开…", "Opening…"),
    "no_characters": (
        "还没有角色：请在数据文件夹的 agents 里放一个角色文件夹。",
        "There is no character yet: put a character's folder into agents in the data folder.",
    ),
    # the first start
    "guide_language": ("欢迎来到萌聊", "Welcome to MoeChat"),
    "guide_hello": ("选一种语言，以后随时可以换。", "Choose a language; it can be changed at any time."),
    "guide_character": ("想先认识谁？", "Whom do you want to meet first?"),
    "guide_who": (
        "每个角色都各自记得你；以后还可以写自己的。",
        "Each of them remembers you by itself; you can write your own later.",
    ),
    "guide_model": ("接上一个语言模型", "Connect a language model"),
    "offline_why_first": (
        "自己电脑上的（如 Ollama）或网上的都行。先不接也能聊：内置的离线回复会从记忆里找话说，以后在「设置」里再接。",
        "One on your own computer (Ollama, say) or a service. You can chat without one, too: the built-in offline replies answer "
        "from memory, and “Settings” connects one later.",
    ),
    "guide_skip": ("跳过", "Skip"),
    "guide_begin": ("开始聊天", "Start chatting"),
    # what happens to a reply
    "thinking": ("正在想…", "Thinking…"),
    "thoughts": ("它想了什么", "What it thought"),
    "usage": ("模型用量", "What the models cost"),
    "usage_day": ("日期", "Day"),
    "usage_use": ("用途", "For"),
    "usage_reply": ("回复", "replies"),
    "usage_understanding": ("理解", "understanding"),
    "usage_calls": ("次数", "Calls"),
    "usage_prompt": ("提示词 token", "Prompt tokens"),
    "usage_written": ("写出 token", "Written tokens"),
    "usage_cached": ("服务方缓存", "Cached"),
    "usage_same": ("与上次相同", "As before"),
    "thinking_of": ("想起了 {n} 件事，正在说…", "Recalled {n} things, about to speak…"),
    "thinking_of_one": ("想起了 1 件事，正在说…", "Recalled one thing, about to speak…"),
    "stopped": ("已停止，说到这里的都留着", "Stopped; what was said so far is kept"),
    "failed": ("没有说完", "Not finished"),
    "unfinished": ("这句话还没有得到回答", "This message has not been answered yet"),
    "went_wrong": ("出错了：{error}", "Something went wrong: {error}"),
    "unexpected": (
        "意外的错误（{kind}），详情见程序的日志。",
        "An unexpected error ({kind}); the program's log has the details.",
    ),
    "busy": (
        "上一句话还在回答，等它说完或先停止。",
        "The last message is still being answered: wait for it, or stop it first.",
    ),
    # what a reply rests on
    "context": ("对话中", "In this talk"),
    "diary": ("日记", "Diary"),
    "core": ("事实", "Facts"),
    "lore": ("世界书", "World book"),
    "score": ("得分 {score}", "score {score}"),
    "learned": ("{time} 得知", "learned {time}"),
    "no_longer_there": ("这条记忆已经不在了", "This memory is no longer there"),
    "understood": ("时间", "Time"),
    # problems
    "problems": ("有 {n} 处需要看看，其余照常工作", "{n} things need a look; everything else works"),
    # connection
    "connection": ("连接模型", "Connect a model"),
    "offline": ("未连接模型", "No model connected"),
    "offline_why": (
        "现在由内置的离线回复作答：它从记忆里找话说，不是语言模型。在「设置」里填写模型的地址即可。",
        "The built-in offline replies answer from memory; they are no language model. Fill in a model in “Settings”.",
    ),
    "online": ("已连接 {model}", "Connected to {model}"),
    "base_url": ("接口地址", "Address"),
    "base_url_hint": ("OpenAI 兼容，通常以 /v1 结尾", "OpenAI-compatible, usually ends in /v1"),
    "model": ("模型", "Model"),
    "key": ("密钥", "Key"),
    "key_hint": (
        "只留在本次运行的内存里，不写入文件，也不会显示出来。想长期使用，请设环境变量 {key_env}。",
        "Kept in memory for this run, never in a file and never shown. To keep it, set the variable {key_env}.",
    ),
    "test": ("测试", "Test"),
    "save": ("保存", "Save"),
    "dial": ("提起从前", "Brings up the past"),
    "dial_rarely": ("很少", "rarely"),
    "dial_sometimes": ("有时", "sometimes"),
    "dial_often": ("常常", "often"),
    "dial_rarely_means": ("很像才提起", "only what is very near"),
    "dial_sometimes_means": ("平常这样", "the usual"),
    "dial_often_means": ("沾边就提起", "whatever touches on it"),
    "plot_scores": ("看最近五十次的得分", "Plot the scores of the last fifty messages"),
    "plot_told": (
        "最近五十句话各想到了什么：实心的进了提示词；竖线是阈值，粗的是现在用的。",
        "What the last fifty messages came upon: filled, it entered the prompt; lines are thresholds, thick ones are in use.",
    ),
    "prompts": ("提示词", "Prompts"),
    "prompt": ("哪一份", "Which one"),
    "prompt_restore": ("恢复默认", "Restore default"),
    "refused": ("没有采信的", "What was not believed"),
    "refused_none": (
        "模型说的都采信了，或者还没有模型。",
        "All that a model said was believed, or none has said anything.",
    ),
    "bench_tokens": ("{n} 个 token，{ms} 毫秒", "{n} tokens, {ms} ms"),
    "try_sentence": ("试一句：它会想起什么", "Try a sentence: what would it bring to mind?"),
    "try_example": ("例如：周末去吃火锅吧", "For example: shall we have hotpot this weekend?"),
    "try_it": ("试试", "Try it"),
    "brings_nothing": ("这句话不会让它想起什么。", "This would bring nothing to mind."),
    "speaking": ("怎么说话", "How it speaks"),
    "tune_temperature": ("温度", "Temperature"),
    "tune_temperature_hint": (
        "0 到 2，越高越随意；空着用服务方的",
        "0 to 2, higher is freer; empty: the provider's own",
    ),
    "tune_context_tokens": ("上下文", "Context"),
    "tune_context_tokens_hint": (
        "最多带上多少 token 的对话，0 为不限",
        "Tokens of talk that it sees at most; 0: no limit",
    ),
    "tune_top_p": ("top_p", "top_p"),
    "tune_top_p_hint": ("原样传给模型；空着不传", "Passed on to the model; empty: left out"),
    "tune_max_tokens": ("一次最多说多少", "Length of a reply"),
    "tune_max_tokens_hint": ("max_tokens；空着不限", "max_tokens; empty: no limit"),
    "saved_settings": ("已保存，下一句话就用它。", "Saved: the next message uses it."),
    "this_page": ("这个页面", "This page"),
    "untried_model": (
        "下一句话就用它；想先确认，按「测试」。",
        "The next message uses it; to be sure before, press “Test”.",
    ),
    "standing_untried": ("还没试过。", "Not tried yet."),
    "standing_works": ("连接正常。", "It works."),
    "standing_fails": ("没连上。", "It fails."),
    "needs_url": ("请先填写接口地址。", "Fill in the address first."),
    "saved_offline": (
        "已保存：不再连接模型，由离线回复作答。",
        "Saved: no model any more, the offline replies answer.",
    ),
    "key_stays": (
        "地址变了：为了不把原来的密钥发给别处，请重新填写密钥。",
        "The address is a new one: enter the key again, the known one is not sent elsewhere.",
    ),
    **TALK_TEXTS,
    **ROOM_TEXTS,
    **LORE_TEXTS,
    **STUDIO_TEXTS,
}

WEEKDAYS: Mapping[Language, tuple[str, ...]] = {
    "zh": tuple(f"周{name[-1]}" for name in names.WEEKDAYS["zh"]),
    "en": tuple(name[:3] for name in names.WEEKDAYS["en"]),
}
MONTHS = tuple(name[:3] for name in names.MONTHS)


@dataclass(frozen=True)
class Words:
    """The page's words in one language: ``words("memories", n=3)``."""

    language: Language

    def __call__(self, name: str, /, **values: object) -> str:
        return TEXTS[name][LANGUAGES.index(self.language)].format(**values)

    def count(self, name: str, n: int) -> str:
        """The text for a number of things: that of one alone, where there is such a text."""
        return self(f"{name}_one") if n == 1 and f"{name}_one" in TEXTS else self(name, n=n)

    def listed(self, words: Sequence[str]) -> str:
        """「火锅」、「香菜」 · “hotpot”, “coriander”."""
        return (
            "、".join(f"「{word}」" for word in words)
            if self.language == "zh"
            else ", ".join(f"“{word}”" for word in words)
        )

    def row(self, texts: Iterable[str]) -> str:
        """火锅、香菜 · hotpot, coriander."""
        return ("、" if self.language == "zh" else ", ").join(texts)

    def short_day(self, moment: date) -> str:
        """5月20日 · 20 May."""
        return (
            f"{moment.month}月{moment.day}日" if self.language == "zh" else f"{moment.day} {MONTHS[moment.month - 1]}"
        )

    def day(self, moment: date) -> str:
        """2025年5月20日 周二 · Tue, 20 May 2025."""
        weekday = WEEKDAYS[self.language][moment.weekday()]
        if self.language == "zh":
            return f"{moment.year}年{moment.month}月{moment.day}日 {weekday}"
        return f"{weekday}, {moment.day} {MONTHS[moment.month - 1]} {moment.year}"

    def moment(self, moment: datetime) -> str:
        """2025年5月20日 15:03 · 20 May 2025, 15:03."""
        year = f"{moment.year}年" if self.language == "zh" else ""
        after = "" if self.language == "zh" else f" {moment.year},"
        return f"{year}{self.short_day(moment)}{after} {moment:%H:%M}"

    def stretch(self, start: datetime, end: datetime) -> str:
        """A stretch of time as short as it can be said: a day, days, a month, a year, or hours with their day."""
        is_whole = (start.hour, start.minute) == (0, 0) and (end.hour, end.minute) == (23, 59)
        if start.date() == end.date():
            return self.day(start) if is_whole else f"{self.day(start)} {start:%H:%M}–{end:%H:%M}"
        if not is_whole:
            return f"{self.day(start)} {start:%H:%M} – {self.day(end)} {end:%H:%M}"
        is_zh, next_day = self.language == "zh", end + timedelta(days=1)
        if start.day == next_day.day == 1 and start.year == end.year:
            if (start.month, end.month) == (1, 12):
                return f"{start.year}年" if is_zh else f"{start.year}"
            if start.month == end.month:
                return f"{start.year}年{start.month}月" if is_zh else f"{MONTHS[start.month - 1]} {start.year}"
        if start.year == end.year:
            first, last = self.short_day(start), self.short_day(end)
            return f"{start.year}年{first}–{last}" if is_zh else f"{first} – {last} {end.year}"
        return f"{self.day(start)} – {self.day(end)}"
