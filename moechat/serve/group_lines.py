"""A front end's group: a line of it has one id in all memories, whichever of its characters is told of it first."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from moechat.agent import Agent
from moechat.conversation import Conversation
from moechat.house.group import GroupTalk
from moechat.house.group_memories import reply_id
from moechat.serve.additions import folded
from moechat.serve.alignment import SentTurn


def told(
    agent: Agent, talk: Conversation, group: GroupTalk, turns: Sequence[SentTurn], places: Mapping[int, str]
) -> list[str]:
    """The id of each line that the group shows a character; those at ``places`` she has. Lines of others get the words that are
    shown: what another says after a line has the id of her reply to it."""
    tree, me = agent.store.tree, agent.character.folder.name
    folders = {one.name: one.character for one in group.cast.members if one.character}
    ids, before = list[str](), ""
    for place, turn in enumerate(turns):
        reply = reply_id(before, folders.get(turn.speaker, "")) if before and turn.is_character else ""
        is_reply = turn.speaker in folders and reply not in places.values()
        ids.append(id_ := places.get(place) or (is_reply and reply) or new_id(agent))
        before = reply_id(id_, me) if turn.reply else id_
    there = agent.store.exchanges.of([id_ for id_ in ids if id_ in tree])
    for id_, turn in zip(ids, turns, strict=True):
        if turn.is_character and id_ in there and folded(there[id_].user) != folded(turn.user):
            if id_ in tree.unshown:
                talk.restore(id_)
            talk.correct(id_, user=turn.user)
    return ids


def new_id(agent: Agent) -> str:
    return f"{agent.now():%Y%m%d-%H%M%S}-{secrets.token_hex(5)}"
