"""Without a model: what memory holds is said back, and nothing else is pretended."""

import re
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.ai.chat_model import ChatRequest
from moechat.ai.offline import lines
from moechat.ai.offline.model import OfflineModel
from moechat.ai.offline.retelling import fact_to_user, second_person
from moechat.errors import DataError, ModelError
from moechat.model import Exchange, FactDraft, Hit, Message
from moechat.settings.character import Character
from moechat.settings.home import defaults_folder
from moechat.when import Span
from moechat.when.names import has_han
from tests.fuzz.growth import calls

LINES = {language: lines.says([], language) for language in ("zh", "en")}
ZONE = timezone(timedelta(hours=8))
TOLD = datetime(2025, 5, 20, 20, 0, tzinfo=ZONE)
SOON, TOMORROW, MONTH_ON = TOLD + timedelta(minutes=5), TOLD + timedelta(days=1), TOLD + timedelta(days=31)
QINGHE = Character(Path("青禾"), "青禾", "用户", "zh")
WREN = Character(Path("Wren"), "Wren", "User", "en")
SAID_ZH = "我住在杭州，昨天和室友吃了火锅，我讨厌香菜"
SAID_EN = "I live in Hangzhou, I had hotpot with my roommate, and I hate coriander."
TALK_ZH = [Exchange("e1", TOLD, SAID_ZH, "记住了。")]
TALK_EN = [Exchange("e1", TOLD, SAID_EN, "Noted. ")]


def day(phrase: str, month: int, number: int) -> Span:
    start = datetime(2025, month, number, tzinfo=ZONE)
    return Span(phrase, start, start + timedelta(days=1, seconds=-1))


def diary(exchange: Exchange, character: Character, recipe: str = "by_time") -> Hit:
    text = f"{character.user_name}：{exchange.user}\n{character.name}：{exchange.char}"
    return Hit("diary", recipe, exchange.id, text, 1.0, exchange.at, (exchange.id,))


def reply(text: str, now: datetime = SOON, character: Character = QINGHE, **request) -> str:
    return "".join(OfflineModel().stream(ChatRequest([], character, text, now, **request)))


# answers from the talk still in the context


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("我讨厌吃什么", "你不喜欢香菜"), ("我住在哪里？", "你住在杭州"), ("我和谁吃了火锅？", "和室友吃了火锅"),
        ("我不爱吃什么", "你不喜欢香菜"), ("你还记得我吗", "我住在杭州"), ("我跟你说过什么", "我讨厌香菜"),
    ],
)  # fmt: skip
def test_a_question_is_answered_with_the_clause_that_fits_it(question, answer):
    assert answer in reply(question, context=TALK_ZH)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What food do I hate?", "you dislike coriander"), ("Where do I live?", "you live in Hangzhou"),
        ("Who did I have hotpot with?", "i had hotpot with my roommate"),
        ("What did I tell you?", "i live in Hangzhou"),
    ],
)  # fmt: skip
def test_a_question_in_english_is_answered_in_english(question, answer):
    assert answer in reply(question, character=WREN, context=TALK_EN).lower().replace("hangzhou", "Hangzhou")


def test_what_happened_yesterday_is_told_as_it_was_said_today():
    answer = reply("昨天我们吃了什么", spans=[day("昨天", 5, 19)], context=TALK_ZH)
    assert "昨天和室友吃了火锅" in answer


def test_the_same_question_a_day_later_does_not_move_yesterday():
    answer = reply("昨天我们吃了什么", TOMORROW, spans=[day("昨天", 5, 20)], context=TALK_ZH)
    assert re.search("5月20日.*你.*「.*昨天和室友吃了火锅.*」", answer)


def test_liking_and_disliking_are_never_taken_for_each_other():
    assert "香菜" not in reply("我喜欢吃什么", context=TALK_ZH)
    assert "coriander" not in reply("What do I like to eat?", character=WREN, context=TALK_EN)
    likes = [Exchange("e2", TOLD, "我喜欢草莓", "好。")]
    assert "草莓" not in reply("我讨厌什么", context=likes)
    both = reply("我喜欢什么", context=[*likes, Exchange("e3", SOON, "我喜欢爬山", "好。")])
    assert "草莓" in both and "爬山" in both, "all that the user likes is told"


def test_what_is_asked_of_the_character_is_not_answered_with_the_users_life():
    assert reply("你喜欢什么", context=[Exchange("e2", TOLD, "我喜欢草莓", "好。")]) in LINES["zh"]["not_mine"]
    assert reply("What do you hate?", character=WREN, context=TALK_EN) in LINES["en"]["not_mine"]


def test_the_newest_of_two_statements_answers():
    moved = [*TALK_ZH, Exchange("e2", TOLD + timedelta(minutes=1), "我住在苏州", "好。")]
    assert "苏州" in reply("我住在哪里", context=moved)


def test_a_question_of_the_users_is_no_answer_to_another():
    asked = [Exchange("e2", TOLD, "我住在哪里？", "我不知道。"), Exchange("e3", TOLD, "给我讲讲我住的地方", "嗯。")]
    assert reply("你知道我住在哪吗", context=asked) in LINES["zh"]["not_told"]
    asked = [Exchange("e2", TOLD, "Tell me about the harbour", "I can't.")]
    assert reply("Tell me about the harbour", character=WREN, context=asked) in LINES["en"]["not_known"]


def test_a_question_for_the_record_is_no_answer_even_with_its_reason():
    asked = Exchange("a", TOLD, "我上次物理考了多少分来着 我要对比一下", "我不记得。")
    told = Exchange("b", TOLD, "物理考了六十一分 全班倒数", "抱抱。")
    answer = reply("我物理多少分来着", context=(told, asked))
    assert "六十一" in answer and "对比" not in answer


def test_another_thing_of_the_users_is_not_answered_with_what_the_user_is():
    facts = [FactDraft("用户叫老闫", (), keyword="name", target="老闫", single=True)]
    bird = Exchange("a", TOLD, "我养了只画眉 叫老段长", "真好。")
    girl = Exchange("b", TOLD, "小麦是我女儿 在医院管B超", "真好。")
    assert "老段长" in reply("我那画眉叫啥名字", context=(bird,), facts=facts)
    assert "小麦" in reply("我闺女叫啥", context=(girl,), facts=facts)
    assert "老闫" in reply("我叫啥名字来着", context=(bird, girl), facts=facts)


def test_the_characters_words_are_never_told_as_the_users():
    said = [Exchange("e2", TOLD, "嗯", "我讨厌香菜，也住在杭州。")]
    hit = diary(said[0], QINGHE)
    assert "香菜" not in reply("我讨厌吃什么", context=said)
    assert "香菜" not in reply("我讨厌吃什么", hits=[hit])


# answers from what was recalled


def test_a_month_later_the_day_is_named_by_its_date():
    asked = "5月20日我们吃了什么"
    answer = reply(asked, MONTH_ON, spans=[day("5月20日", 5, 20)], hits=[diary(TALK_ZH[0], QINGHE)])
    assert "5月20日" in answer
    assert "那天" in answer or "你说" in answer
    assert "「我住在杭州，昨天和室友吃了火锅，我讨厌香菜」" in answer
    year_on, may = MONTH_ON + timedelta(days=365), [day("5月20日", 5, 20)]
    assert "2025年5月20日" in reply("5月20日吃了什么", year_on, spans=may, hits=[diary(TALK_ZH[0], QINGHE)])


def test_facts_are_told_to_the_user_in_small_pieces():
    for text, asks, who, answer in (
        ("用户讨厌香菜", "我讨厌吃什么", QINGHE, "你讨厌香菜"), ("The user hates coriander", "What do I hate?", WREN, "ou hate "),
    ):  # fmt: skip
        hits = [Hit("core", "profile", "f1", text, 0.9, TOLD)]
        pieces = list(OfflineModel().stream(ChatRequest([], who, asks, MONTH_ON, hits=hits)))
        assert answer in "".join(pieces) and len(pieces) > 2 and max(map(len, pieces)) < 40


def test_asked_for_a_whole_day_it_enumerates_what_was_said():
    answer = reply("5月20日我们聊了什么", MONTH_ON, spans=[day("5月20日", 5, 20)], hits=[diary(TALK_ZH[0], QINGHE)])
    assert all(said in answer for said in ("5月20日", "我住在杭州", "昨天和室友吃了火锅", "我讨厌香菜"))
    answer = reply(
        "What did we talk about on May 20?",
        MONTH_ON,
        WREN,
        spans=[day("on May 20", 5, 20)],
        hits=[diary(TALK_EN[0], WREN)],
    )
    assert all(said in answer for said in ("on May 20", "I live in Hangzhou", "I hate coriander"))


def test_lore_answers_with_the_sentence_that_was_asked_for():
    lore = Hit("lore", "lore", "l1", "雾港：雾港在河湾。镇上有三家茶馆。第一班船早上六点开。", 0.9, words=("雾港",))
    answer = reply("雾港的第一班船几点开", hits=[lore])
    assert "早上六点" in answer
    assert "茶馆" not in answer
    assert "雾港在河湾" in reply("我想看看雾港", hits=[lore]) or "记" in reply("我想看看雾港", hits=[lore])


def test_lore_about_the_character_is_told_in_the_first_person():
    lore = Hit("lore", "lore", "l2", "半舟茶馆：半舟是青禾五年前开的茶馆。柜台是半条旧船。", 0.9, words=("半舟",))
    assert reply("你的半舟在哪里", hits=[lore]).endswith("半舟是我五年前开的茶馆。")
    light = Hit("lore", "lore", "l3", "Grey Lady lighthouse：The Grey Lady is the lighthouse. It turns once.", 0.9)
    assert reply("Tell me about the lighthouse", character=WREN, hits=[light]).endswith(
        "The Grey Lady is the lighthouse."
    )


# nothing there


def test_a_time_without_a_record_is_said_to_have_none():
    missing = day("上周三", 6, 11)
    answer = reply("上周三我们吃了什么", MONTH_ON, spans=[missing], empty_spans=[missing])
    assert "上周三" in answer
    assert "没有" in answer
    answer = reply("What did I eat last Friday?", MONTH_ON, WREN, spans=[day("last Friday", 6, 13)])
    assert "no record" in answer


def test_a_gap_in_time_does_not_hide_what_was_told_on_another_day():
    missing = day("上周三", 6, 11)
    hit = diary(Exchange("e1", TOLD, "我在巷口吃了火锅", "嗯。"), QINGHE, recipe="events")
    answer = reply("上周三我吃了火锅吗", MONTH_ON, spans=[missing], empty_spans=[missing], hits=[hit])
    assert answer.startswith(tuple(line.split("{")[0] + "上周三" for line in LINES["zh"]["no_record"]))
    assert "吃了火锅" in answer


def test_what_was_never_told_is_not_made_up():
    assert reply("我叫什么名字", context=TALK_ZH) in LINES["zh"]["not_told"]
    assert reply("天空为什么是蓝的", context=TALK_ZH) in LINES["zh"]["not_known"]
    assert reply("Why is the sky blue?", character=WREN) in LINES["en"]["not_known"]


def test_a_question_about_oneself_is_none_for_advice():
    for question, character, language in (("我戴的隐形多少度", QINGHE, "zh"), ("What car do I drive?", WREN, "en")):
        assert reply(question, character=character) in LINES[language]["not_told"]


# remarks


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("你好", "greet"), ("谢谢你", "thanks"), ("晚安", "night"), ("再见", "bye"), ("今天好累啊", "tired"),
        ("我有点难过", "sadness"), ("哈哈哈", "laugh"), ("没什么", "heard"), ("嗯嗯", "yes"), ("生日快乐", "cheer"),
        ("我想你了", "fond"), ("给我讲个故事吧", "request"), ("…", "empty"), ("", "empty"),
    ],
)  # fmt: skip
def test_a_remark_gets_a_line_of_its_kind(text, kind):
    assert reply(text) in [line.format(user="") for line in LINES["zh"][kind]]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("Hello!", "greet"), ("thanks a lot", "thanks"), ("good night", "night"), ("I'm so tired", "tired")],
)
def test_a_remark_in_english_gets_an_english_line(text, kind):
    assert reply(text, character=WREN) in [line.format(user="") for line in LINES["en"][kind]]


def test_facts_are_acknowledged():
    assert all(said in reply(SAID_ZH) for said in ("你住在杭州", "你不喜欢香菜"))
    assert "you live in Hangzhou" in reply(SAID_EN, character=WREN)
    assert "猫" not in reply("如果我有一只猫就好了")


def test_the_character_knows_its_name_and_the_time():
    assert "青禾" in reply("你是谁")
    assert "20:05" in reply("现在几点了")


def test_it_understands_nothing_and_says_so():
    assert not OfflineModel.understands
    with pytest.raises(ModelError, match=r"chat\.base_url"):
        OfflineModel().complete([Message("user", "x")], schema={}, timeout_s=1)


# always


@given(st.text(max_size=60), st.sampled_from([QINGHE, WREN, None]))
def test_any_text_gets_a_reply_and_always_the_same(text, character):
    request = ChatRequest([], character, text, SOON, context=TALK_ZH, hits=[diary(TALK_ZH[0], QINGHE)])
    pieces = list(OfflineModel().stream(request))
    assert "".join(pieces).strip()
    assert pieces == list(OfflineModel().stream(request))


# saying back


@pytest.mark.parametrize(
    ("said", "told", "language"),
    [
        ("我讨厌香菜", "你讨厌香菜", "zh"),
        ("我的猫叫咪咪。", "你的猫叫咪咪", "zh"),
        ("我喜欢你", "", "zh"),
        ("我们去了海边", "", "zh"),
        ("I'm allergic to nuts", "you're allergic to nuts", "en"),
        ("I was tired and my cat bit me", "you were tired and your cat bit you", "en"),
        ("I love you", "", "en"),
    ],
)
def test_what_the_user_said_is_turned_to_the_user_where_that_is_safe(said, told, language):
    assert second_person(said, language) == told


@pytest.mark.parametrize(
    ("fact", "told", "language"),
    [
        ("用户讨厌香菜", "你讨厌香菜", "zh"),
        ("小林的妈妈住在成都", "你的妈妈住在成都", "zh"),
        ("陈晨是医生", "", "zh"),
        ("The user hates coriander", "you hate coriander", "en"),
        ("User has a cat", "you have a cat", "en"),
        ("The user's mother lives in Leeds", "your mother lives in Leeds", "en"),
        ("The user's got an exam", "you have got an exam", "en"),
    ],
)
def test_a_fact_about_the_user_is_told_to_the_user(fact, told, language):
    assert fact_to_user(fact, "小林", language) == told


# what is asked of memory as a whole, of food, and of the character


def core(text: str, number: int) -> Hit:
    return Hit("core", "about_user", f"f{number}", text, 1.0, TOLD)


FACTS_ZH = ("用户叫周舟", "用户住在成都", "用户的狗叫年糕", "用户对花生过敏", "用户喜欢下雨天", "用户讨厌榴莲")
FACTS_EN = (
    "User is called Nora",
    "User lives in Exeter",
    "User has a dog called Pepper",
    "User is allergic to peanuts",
    "User loves storms",
)
CARE = {
    "zh": [FactDraft("用户对花生过敏", (), keyword="allergy", target="花生", mark="care")],
    "en": [FactDraft("The user is allergic to peanuts", (), keyword="allergy", target="peanuts", mark="care")],
}
KNOWN = {
    "zh": [core(text, i) for i, text in enumerate(FACTS_ZH)],
    "en": [core(text, i) for i, text in enumerate(FACTS_EN)],
}


def test_all_that_is_known_of_the_user_is_told_in_groups():
    answer = reply("你记得我什么", hits=KNOWN["zh"])
    places = [answer.index(word) for word in ("周舟", "成都", "年糕", "花生", "下雨天", "榴莲")]
    assert places == sorted(places), answer
    answer = reply("What do you know about me?", character=WREN, hits=KNOWN["en"])
    assert all(word in answer for word in ("Nora", "Exeter", "Pepper", "peanuts", "storms")), answer


@pytest.mark.parametrize(
    ("question", "character", "allergen"),
    [
        ("我能吃花生酱吗", QINGHE, "花生"), ("晚饭吃点什么好？", QINGHE, "花生"), ("推荐点吃的", QINGHE, "花生"),
        ("Can I eat peanut butter?", WREN, "peanuts"), ("What should I cook tonight?", WREN, "peanuts"),
    ],
)  # fmt: skip
def test_a_question_about_food_never_leaves_out_an_allergy(question, character, allergen):
    assert allergen in reply(question, character=character, facts=CARE[character.language])
    assert allergen not in reply(question, character=character)


def test_what_an_allergy_forbids_is_said_when_it_comes_up():
    assert "过敏" in reply("我晚上想吃花生糖", facts=CARE["zh"])
    assert "过敏" not in reply("我晚上想吃面条", facts=CARE["zh"])


def test_what_is_asked_of_one_is_not_answered_with_another():
    hits = [*KNOWN["zh"], core("用户的妈妈住在绵阳", 7)]
    assert "绵阳" not in reply("我住在哪里？", hits=hits)
    assert "成都" not in reply("我妈妈住在哪里？", hits=hits)
    assert "年糕" in reply("我养了什么宠物？", hits=hits)
    assert reply("我弟弟叫什么？", hits=hits) in LINES["zh"]["not_told"]


def test_a_question_with_two_parts_gets_both():
    context = [Exchange("e2", TOLD, "我住在杭州，我讨厌香菜", "好。")]
    answer = reply("我住在哪里？我讨厌什么？", context=context)
    assert "杭州" in answer
    assert "香菜" in answer


@pytest.mark.parametrize("text", ["我想外婆了", "我胃又疼了", "I miss my grandfather", "I feel awful about today"])
def test_who_misses_somebody_or_is_unwell_gets_no_receipt(text: str):
    answer = reply(text, character=QINGHE if has_han(text) else WREN)
    assert "外婆" not in answer and "胃" not in answer and "grandfather" not in answer and "today" not in answer


def test_a_grandmother_of_the_users_is_none_of_the_world_book():
    lore = Hit("lore", "lore", "l1", "我的外婆叫沈惠如，今年八十二岁。", 0.9, words=("外婆",))
    context = [Exchange("e2", TOLD, "外婆前年走了", "嗯。")]
    assert "沈惠如" not in reply("我外婆怎么了？", context=context, hits=[lore])


def test_what_happened_with_the_users_own_thing_comes_before_the_world_book():
    lore = Hit("lore", "lore", "l1", "Old Tam brings the same watch every month.", 0.9, words=("watch",))
    context = [Exchange("e2", TOLD, "My watch is back from the repairer", "Good.")]
    own, world = (
        reply(question, character=WREN, context=context, hits=[lore])
        for question in ("What happened with the watch?", "Tell me about the watch")
    )
    assert "back" in own and "Tam" not in own and "Tam" in world


def test_where_one_lived_once_is_not_where_one_lives():
    home = Hit("core", "facts", "f1", "用户住在杭州", 0.9)
    context = [Exchange("e2", TOLD, "我小时候住在绍兴", "嗯。")]
    assert "绍兴" in reply("我小时候住在哪里？", context=context, hits=[home])
    assert "杭州" in reply("我现在住在哪里？", context=context, hits=[home])


def test_whose_name_was_told_is_known_by_it():
    fact = Hit("core", "facts", "f1", "The user is called Maren", 0.9)
    assert "Maren" in reply("What's my name?", hits=[fact], character=WREN)
    assert "you are Maren" not in (greeting := reply("Hi, I'm Maren. A friend told me of you.", character=WREN))
    assert "Maren" in greeting


def test_a_birthday_is_no_time_without_a_record():
    fact = Hit("core", "facts", "f1", "The user has a birthday on March 3", 0.9)
    then = [day("my birthday", 3, 3)]
    answer = reply("When is my birthday?", character=WREN, spans=then, empty_spans=then, hits=[fact])
    assert "March 3" in answer and "no record" not in answer


def test_a_quotation_has_the_words_that_were_said():
    told = diary(Exchange("e2", TOLD, "Yesterday I had ramen w/ my sis, it was great", "Mm."), WREN)
    answer = reply("What did I eat on 19 May?", MONTH_ON, WREN, spans=[day("19 May", 5, 19)], hits=[told])
    assert "“Yesterday I had ramen w/ my sis, it was great”" in answer


def test_an_entry_about_the_character_is_told_by_it():
    text = "Button is Wren's dog. Wren is fond of it, and it brings Wren socks."
    lore = Hit("lore", "lore", "l1", text, 0.9, words=("Button",))
    answer = reply("Who is Button, and what of the socks?", hits=[lore], character=WREN)
    assert "Button is my dog" in answer and "Wren" not in answer


def test_of_very_many_questions_the_first_few_are_answered():
    context = [Exchange("e2", TOLD, "我住在杭州，我讨厌香菜", "好。")]
    answer = reply("我住在哪里？" + "你会不会飞？" * 5 + "我讨厌什么？", context=context)
    assert "杭州" in answer and "香菜" not in answer


def test_a_name_of_the_world_book_is_no_time():
    lore = Hit("lore", "lore", "l1", "三十三号茶：三十三号是半舟自己拼的茶。", 0.9, words=("三十三号茶",))
    answer = reply("三十三号茶是什么", spans=[day("三十三号", 6, 2)], empty_spans=[day("三十三号", 6, 2)], hits=[lore])
    assert "半舟自己拼的茶" in answer


PERSONA_EN = "Wren, thirty-four, keeps a repair shop. She owns a sheepdog called Button, and sings well."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How old are you?", "thirty-four"),
        ("Do you have a dog?", "sheepdog called Button"),
        ("Do you sing?", "I own a sheepdog called Button, and sing well"),
        ("What do you do?", "I keep a repair shop"),
    ],
)
def test_what_is_asked_of_the_character_is_answered_from_its_persona(question, answer):
    assert answer in reply(question, character=replace(WREN, persona=PERSONA_EN), hits=KNOWN["en"])


def test_an_example_of_the_persona_answers_what_is_like_it():
    examples = [Message("user", "你们那儿下雨了吗？"), Message("assistant", "下了，细得很。")]
    assert reply("你们那儿下雨了吗", character=replace(QINGHE, examples=examples)) == "下了，细得很。"


@pytest.mark.parametrize("text", ["我讨厌吃什么", "你好", "天空为什么是蓝的", "我不想活了", "我升职了"])
def test_a_second_and_a_third_answer_are_others(text):
    first = reply(text, context=TALK_ZH)
    second = reply(text, context=TALK_ZH, earlier=[first])
    assert len({first, second, reply(text, context=TALK_ZH, earlier=[first, second])}) == 3


def test_a_receipt_is_given_once_in_ten_replies():
    replies: list[str] = []
    for text in (f"我讨厌{food}" for food in "茶、葱、姜、蒜、鱼、虾、蟹、梨、枣、藕、笋、芹菜、茄子".split("、")):
        replies.append(reply(text, lately=replies[-9:]))
    receipts = tuple(line.split("{")[0] for line in LINES["zh"]["noted"])
    assert [number for number, one in enumerate(replies) if one.startswith(receipts)] == [0, 10]


# the sentences


def test_the_users_file_and_the_characters_own_come_before_ours(tmp_path):
    (tmp_path / "prompts" / "zh").mkdir(parents=True)
    (tmp_path / "prompts" / "zh" / "offline.yaml").write_text("who: 我是大家的。\nthanks: 别客气呀。\n", "utf-8")
    (tmp_path / "offline.yaml").write_text("who: 我就是{name}。{char.__class__}\n", "utf-8")
    model = OfflineModel([tmp_path / "prompts", *([defaults_folder() / "prompts"])])
    own = replace(QINGHE, folder=tmp_path)
    assert "".join(model.stream(ChatRequest([], own, "你是谁"))) == "我就是青禾。{char.__class__}"
    assert "".join(model.stream(ChatRequest([], own, "谢谢"))) == "别客气呀。"
    (tmp_path / "offline.yaml").write_text("who: {a: b}\n", "utf-8")
    with pytest.raises(DataError, match=r"offline\.yaml"):
        list(model.stream(ChatRequest([], own, "你是谁")))


def test_of_long_messages_no_more_is_weighed_than_of_pages():
    def effort(characters: int) -> int:
        text = "".join(f"，我第{characters + at}天去跑步" for at in range(characters))[:characters]
        long = [Exchange(f"e{at}", TOLD, f"{at}{text}", "好") for at in range(2)]
        return calls(lambda question: reply(question, context=long), f"我第{characters}天去做什么了？")

    effort(1_000)  # What it loads is loaded.
    assert effort(32_000) < 1.3 * effort(8_000)


UNWEIGHED = """
import importlib.metadata
def missing(name):
    raise importlib.metadata.PackageNotFoundError(name)
importlib.metadata.version = missing
from tests.ai.test_offline import TALK_EN, WREN, reply
print(reply("Who did I have hotpot with?", character=WREN, context=TALK_EN))
print(reply("Where is my brother?", character=WREN, context=TALK_EN))
"""


def test_where_nothing_can_be_weighed_the_words_that_are_shared_tell_what_answers():
    command = [sys.executable, "-X", "utf8", "-c", UNWEIGHED]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, cwd=Path(__file__).parents[2])
    answer, nothing = run.stdout.splitlines()
    assert "roommate" in answer and "roommate" not in nothing
