"""The names of seed 000; they lie in `compat/generative_agents`."""

from moechat.compat.generative_agents import *  # noqa: F403
from moechat.compat.generative_agents import __all__ as __all__
