"""Maintenance: every few days, in the background, facts are summed up and memory is cleaned (seed 004, eight).

It runs every few days at most, if the user talked today: attributes told several times are summed up, then the weakest
memories go into the archive if memory is full. If the user has been away for long, what exceeds a minimum goes. That waits
until the memory has been open for a day without a word, so that nothing goes in the moment in which the user comes back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event

from moechat.ai.chat_model import ChatModel
from moechat.curation import forgetting
from moechat.curation.forgetting import Cleaning
from moechat.errors import DataError
from moechat.memory.core import CoreMemory
from moechat.settings.character import Character
from moechat.settings.prompts import Prompts
from moechat.settings.schema import ForgettingSettings
from moechat.store.kinds import Store
from moechat.understanding.consolidation import consolidate

log = logging.getLogger(__name__)
PATIENCE = timedelta(days=1)


@dataclass
class Maintenance:
    """Of one owner. ``model`` sums facts up, None or one that does not understand: by rules."""

    store: Store
    core: CoreMemory
    prompts: Prompts
    character: Callable[[], Character]
    model: Callable[[], ChatModel | None]
    settings: Callable[[], ForgettingSettings]
    timeout_s: float = 15
    opened: datetime | None = None

    def run(self, now: datetime, stopping: Event | None = None) -> Cleaning:
        """Cheap where nothing is due: it may be called every few seconds. ``stopping`` ends it between two calls of a model."""
        self.opened = self.opened or now
        settings = self.settings()
        if (why := forgetting.waits(self.store, now, settings)) is not None:
            return Cleaning(why, 0)
        if now - self.opened < PATIENCE and forgetting.is_away(forgetting.last_talk(self.store), now, settings):
            return Cleaning("not_active", 0)
        if settings.merges:
            character = self.character()
            names = (character.user_name, character.name)
            try:
                consolidate(
                    self.store,
                    self.core,
                    model=self.model(),
                    prompts=self.prompts,
                    names=names,
                    timeout_s=self.timeout_s,
                    stopping=stopping,
                )
            except DataError as problem:  # a broken file, told with all others; it waits for the next time
                log.warning("facts are not summed up: %s", problem)
        if stopping is not None and stopping.is_set():
            return Cleaning("not_active", 0)
        return forgetting.clean(self.store, now, settings)
