"""The words of the rules of a world book's entry, in Chinese and English."""

from __future__ import annotations

from collections.abc import Mapping

LORE_TEXTS: Mapping[str, tuple[str, str]] = {
    "field_secondary": ("次要关键词", "Secondary keys"),
    "field_logic": ("次要关键词怎么算", "How secondary keys count"),
    "field_regex": ("关键词是正则表达式", "Keys are patterns"),
    "field_case": ("区分大小写", "Case matters"),
    "field_whole_words": ("整词匹配", "Whole words"),
    "field_scan_depth": ("看最近几条消息", "Messages to look through"),
    "field_order": ("顺序", "Order"),
    "field_priority": ("优先级", "Priority"),
    "field_position": ("放在哪里", "Where it stands"),
    "field_depth": ("深度", "Depth"),
    "field_role": ("以谁的身份", "Said as"),
    "field_probability": ("触发概率 %", "Probability, %"),
    "field_sticky": ("触发后保留几条消息", "Stays for so many messages"),
    "field_cooldown": ("之后冷却几条消息", "Then rests for so many"),
    "field_delay": ("第几条消息以后才触发", "Not before so many messages"),
    "value_any": ("有一个就行", "one stands there"),
    "value_not_all": ("不全有", "one is missing"),
    "value_not_any": ("一个都没有", "none stands there"),
    "value_all": ("全都有", "all stand there"),
    "value_": ("世界书那一段", "in the block of the world"),
    "value_before_char": ("人设之前", "before the persona"),
    "value_after_char": ("人设之后", "after the persona"),
    "value_before_note": ("回忆之前", "before what is recalled"),
    "value_after_note": ("回忆之后", "after what is recalled"),
    "value_depth": ("对话里的某个深度", "at a depth of the talk"),
    "value_before_examples": ("示范对话之前", "before the examples"),
    "value_after_examples": ("示范对话之后", "after the examples"),
    "value_outlet": ("由宏放置（不支持）", "placed by a macro (not obeyed)"),
    "value_system": ("系统", "system"),
    "value_assistant": ("角色", "the character"),
    "form_logic": ("选一种", "choose one"),
    "form_position": ("选一处", "choose one"),
    "form_role": ("选一种", "choose one"),
    "form_count": ("0 或更大的整数", "a whole number, 0 or more"),
    "form_number": ("整数", "a whole number"),
    "form_percent": ("0 到 100", "0 to 100"),
}
