"""Cards and books made for the tests, with every field that there is and some that nobody knows."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from moechat.cards.book import WORLD_FIELDS

V1 = {
    "name": "Tide", "description": "{{char}} keeps the light.", "personality": "dry", "scenario": "a storm",
    "first_mes": "You came, {{user}}.", "mes_example": "<START>\n{{user}}: hi\n{{char}}: hm",
    "mood": {"of": ["late", 1.5]},
}  # fmt: skip

ENTRY_V2 = {
    "keys": ["lamp", "/l[ai]ght\\b/i"], "content": "The lamp turns once in twelve seconds.",
    "extensions": {"x_own": [1, None]}, "enabled": True, "insertion_order": 7, "case_sensitive": False, "name": "lamp",
    "priority": 3, "id": 11, "comment": "about the lamp", "selective": True, "secondary_keys": ["night"],
    "constant": False, "position": "after_char", "x_unknown": {"kept": True},
}  # fmt: skip

V2 = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "x_top": "stays",
    "data": {
        **{key: value for key, value in V1.items() if key != "mood"},
        "creator_notes": "Show me.",
        "system_prompt": "Speak low. {{original}}",
        "post_history_instructions": "Stay short.",
        "alternate_greetings": ["Again you.", "Hm."],
        "tags": ["sea", "Slow"],
        "creator": "nobody",
        "character_version": "1",
        "extensions": {
            "talkativeness": 0.5,
            "depth_prompt": {"prompt": "p", "depth": 4, "role": "system"},
            "x_own": {"a": [{}]},
        },
        "character_book": {
            "name": "harbour",
            "description": "",
            "scan_depth": 3,
            "token_budget": 400,
            "recursive_scanning": True,
            "extensions": {"x": 1},
            "entries": [ENTRY_V2],
        },
        "x_unknown": [1, "二", None, True],
    },
}

V3: dict[str, Any] = deepcopy(V2) | {"spec": "chara_card_v3", "spec_version": "3.0"}
V3["data"] |= {
    "nickname": "Ti",
    "creator_notes_multilingual": {"zh": "给你看"},
    "source": ["https://example.org/1"],
    "group_only_greetings": ["all of you"],
    "creation_date": 1700000000,
    "modification_date": 0,
    "assets": [
        {"type": "icon", "uri": "embeded://assets/icon/images/main.png", "name": "main", "ext": "png"},
        {"type": "x_song"},
    ],
}
V3["data"]["character_book"]["entries"] += [
    {
        "keys": ["bell"],
        "content": "@@depth 2\n@@role user\n@@scan_depth 3\nThe bell is cracked.",
        "extensions": {},
        "enabled": True,
        "insertion_order": 1,
        "use_regex": False,
        "id": "bell",
        "constant": False,
    }
]

CARDS = {"v1": V1, "v2": V2, "v3": V3}

WORLD_ENTRY = {
    "uid": 0, "key": ["harbour", "/quay[0-9]/"], "keysecondary": ["rain"], "comment": "The harbour",
    "content": "Stone, two cranes.", "constant": False, "vectorized": True, "selective": True, "selectiveLogic": 3,
    "addMemo": True, "order": 90, "position": 4, "disable": False, "ignoreBudget": True, "excludeRecursion": True,
    "preventRecursion": True, "delayUntilRecursion": 2, "probability": 75, "useProbability": True, "depth": 3,
    "outletName": "out", "group": "places, sea", "groupOverride": True, "groupWeight": 70, "scanDepth": 5,
    "caseSensitive": True, "matchWholeWords": False, "useGroupScoring": True, "automationId": "auto", "role": 2,
    "sticky": 3, "cooldown": 2, "delay": 1, "matchPersonaDescription": True, "matchCharacterDescription": True,
    "matchCharacterPersonality": True, "matchCharacterDepthPrompt": True, "matchScenario": True,
    "matchCreatorNotes": True, "triggers": ["normal"],
    "characterFilter": {"isExclude": True, "names": ["Tide"], "tags": ["t"]}, "displayIndex": 4,
    "extensions": {"x": [1]}, "x_unknown": {"deep": [None, 1.25]},
}  # fmt: skip
assert set(WORLD_ENTRY) >= set(WORLD_FIELDS)
WORLD = {
    "entries": {"0": WORLD_ENTRY, "5": {"uid": 5, "key": ["gull"], "content": "Loud.", "x": 1}},
    "name": "sea",
    "x_top": [0],
}


def world(*entries: dict[str, Any], **book: Any) -> dict[str, Any]:
    """A book of world info with these entries, each with what it usually has."""
    usual = {name: deepcopy(field.usual) for name, field in WORLD_FIELDS.items()}
    return {"entries": {str(n): usual | {"uid": n} | entry for n, entry in enumerate(entries)}, **book}
