"""The names of seed 002; they lie in `compat/topics`."""

from moechat.compat.topics import *  # noqa: F403
from moechat.compat.topics import __all__ as __all__
