"""The names of seed 001; they lie in `compat/memory_stream`."""

from moechat.compat.memory_stream import *  # noqa: F403
from moechat.compat.memory_stream import __all__ as __all__
