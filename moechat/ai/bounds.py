"""What a model's endpoint may send, and whither it may lead: bounds on every answer, whatever the endpoint is."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from functools import cache

import httpx2

from moechat.ai.wire import MOST_JSON, MOST_STREAMED, Unfit


@cache
def trusted(trust_env: bool = True) -> ssl.SSLContext:
    """Whose certificates are believed. To read them takes 20 ms, so a process does it once."""
    return httpx2.create_ssl_context(trust_env=trust_env)


def stays_at(base_url: str) -> Callable[[httpx2.Request], None]:
    """A hook that lets requests go to this service alone: no redirect leads to another. To HTTPS on the same host is allowed."""
    own = httpx2.URL(base_url)

    def look(request: httpx2.Request) -> None:
        url = request.url
        is_own = (url.scheme, url.host, url.port) == (own.scheme, own.host, own.port)
        if not (is_own or (url.scheme == "https" and url.host == own.host)):
            raise Unfit("redirected", url.host)

    return look


def bounded(*, most: int = MOST_JSON) -> Callable[[httpx2.Response], None]:
    """A hook that lets every answer have ``most`` bytes, and one that streams ``MOST_STREAMED``."""

    def bind(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise Unfit("nonsense")  # None was asked for, and a small one may unpack into a huge one.
        streams = response.status_code == 200 and "event-stream" in response.headers.get("content-type", "")
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _Bounded(response.stream, MOST_STREAMED if streams else most)

    return bind


class _Bounded(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, most: int) -> None:
        self._stream, self._most = stream, most

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._stream:
            size += len(chunk)
            if size > self._most:
                raise Unfit("too_much")
            yield chunk

    def close(self) -> None:
        self._stream.close()
