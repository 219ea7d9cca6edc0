"""The names of seed 000; they lie in `compat/associative`."""

from moechat.compat.associative import *  # noqa: F403
from moechat.compat.associative import __all__ as __all__
