"""The names of seed 000; they lie in `compat/generative_agents` and `compat/daily_view`."""

from moechat.compat.daily_view import *  # noqa: F403
from moechat.compat.daily_view import __all__ as __all__
