"""The names of seed 002; they lie in `compat/partner` and `compat/partner_dialogue`."""

from moechat.compat import partner, partner_dialogue
from moechat.compat.partner import *  # noqa: F403
from moechat.compat.partner_dialogue import *  # noqa: F403

__all__ = [*partner.__all__, *partner_dialogue.__all__]
