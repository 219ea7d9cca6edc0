"""The names of seed 001; they lie in `compat/insights`."""

from moechat.compat.insights import *  # noqa: F403
from moechat.compat.insights import __all__ as __all__
