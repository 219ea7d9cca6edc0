"""Requests of httpx to this machine that wait as long as a busy one may take, and read nobody's certificates (80 ms)."""

from __future__ import annotations

from functools import partial

import httpx

PATIENCE_S = 60.0

get = partial(httpx.get, timeout=PATIENCE_S, verify=False)
post = partial(httpx.post, timeout=PATIENCE_S, verify=False)
options = partial(httpx.options, timeout=PATIENCE_S, verify=False)
request = partial(httpx.request, timeout=PATIENCE_S, verify=False)
stream = partial(httpx.stream, timeout=PATIENCE_S, verify=False)
