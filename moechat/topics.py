"""The names of seed 002; they lie in `compat/partner` and `compat/partner_dialogue`."""

from moechat.compat.partner_dialogue import *  # noqa: F403
from moechat.compat.partner_dialogue import __all__ as __all__
