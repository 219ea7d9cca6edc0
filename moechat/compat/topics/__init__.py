"""The names of seed 002 (Partner): rolled conversations as slices, bound to topic paths and dates, and recalled through both.

    registry, runtime = AfterRollingRegistry(), MemoryRuntime(clock=…)
    registry.register("recall", MemoryRecallProfileExtractor(runtime))
    DialogRolling(registry).add("昨天和阿杰去吃了火锅", "听起来不错", at)      # rolls at twenty rounds
    MemorySelector(runtime).block("说说那次火锅")                          # <activated_memory_slices> …

The tree and its scores are ``index.topic``, the calendar ``index.time``, rolling ``understanding.roll.due``, topics without a
model ``rules.topics``. A character recalls through ``memory.topics`` instead. Not safe for several threads at once.
"""

from moechat.compat.topics.rolling import (
    AfterRollingRegistry,
    DialogRolling,
    MemoryRecallProfileExtractor,
    RecallProfile,
    RollingResult,
)
from moechat.compat.topics.runtime import (
    ActivatedMemorySlice,
    DateMemoryIndex,
    MemoryRuntime,
    MemoryRuntimeStateCodec,
    MemorySlice,
    MemoryUnit,
    SliceRef,
    TopicBinding,
    TopicMemoryIndex,
    TopicRecallCollector,
    TopicRecallScorer,
)
from moechat.compat.topics.selection import (
    ExtractorResult,
    Match,
    MemoryRecallCueExtractor,
    MemoryRecallEvaluator,
    MemorySelector,
    activated_memory_slices,
)
from moechat.model import ActivationProfile

__all__ = [
    "ActivatedMemorySlice",
    "ActivationProfile",
    "AfterRollingRegistry",
    "DateMemoryIndex",
    "DialogRolling",
    "ExtractorResult",
    "Match",
    "MemoryRecallCueExtractor",
    "MemoryRecallEvaluator",
    "MemoryRecallProfileExtractor",
    "MemoryRuntime",
    "MemoryRuntimeStateCodec",
    "MemorySelector",
    "MemorySlice",
    "MemoryUnit",
    "RecallProfile",
    "RollingResult",
    "SliceRef",
    "TopicBinding",
    "TopicMemoryIndex",
    "TopicRecallCollector",
    "TopicRecallScorer",
    "activated_memory_slices",
]
