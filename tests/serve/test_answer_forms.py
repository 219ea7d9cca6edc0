"""What of a request is refused by its name."""

from __future__ import annotations

import pytest

from moechat.errors import FieldError
from moechat.serve.front_ends import MOST_MESSAGES, _messages


@pytest.mark.parametrize("wrong", [None, [], {}, ["x"], [{}] * (MOST_MESSAGES + 1)])
def test_messages_that_are_none_or_too_many_are_refused_by_their_name(wrong: object) -> None:
    with pytest.raises(FieldError) as refused:
        _messages(wrong)
    assert refused.value.field == "messages" and len(_messages([{}] * MOST_MESSAGES)) == MOST_MESSAGES
