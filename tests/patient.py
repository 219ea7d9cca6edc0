"""Requests of httpx that wait as long as a busy machine may take."""

from __future__ import annotations

from functools import partial

import httpx

PATIENCE_S = 60.0

get = partial(httpx.get, timeout=PATIENCE_S)
post = partial(httpx.post, timeout=PATIENCE_S)
options = partial(httpx.options, timeout=PATIENCE_S)
request = partial(httpx.request, timeout=PATIENCE_S)
stream = partial(httpx.stream, timeout=PATIENCE_S)
