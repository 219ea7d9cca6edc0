"""How often one may try a password, a code or a key: limits for wrong ones from an address, and from all together."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import deque
from collections.abc import Callable

EACH, ALL, WINDOW_S = 10, 100, 300.0


class Attempts:
    """The wrong tries of the last ``window_s`` seconds: ``each`` from one address, ``all_`` together. ``seconds`` is a clock
    that only runs forward."""

    def __init__(
        self,
        each: int = EACH,
        all_: int = ALL,
        window_s: float = WINDOW_S,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._each, self._all, self._window_s, self._seconds = each, all_, window_s, seconds
        self._tries: deque[tuple[float, str]] = deque()

    def wait_s(self, address: str) -> int:
        """How many seconds this address has to wait, 0 where it may try now."""
        now = self._seconds()
        while self._tries and self._tries[0][0] <= now - self._window_s:
            self._tries.popleft()
        own = [at for at, other in self._tries if other == _network(address)]
        full = [times[-most] for times, most in ((own, self._each), ([at for at, _ in self._tries], self._all))
                if len(times) >= most]  # fmt: skip
        return math.ceil(max(full) + self._window_s - now) if full else 0

    def count(self, address: str) -> None:
        """One more try. It counts as wrong until it is forgiven: many at once are no way around."""
        self._tries.append((self._seconds(), _network(address)))

    def forgive(self, address: str) -> None:
        """The last try of this address was right."""
        last = max(at for at, other in self._tries if other == _network(address))
        self._tries.remove((last, _network(address)))


def _network(address: str) -> str:
    """What counts as one address: in IPv6 a whole /64, which one household has."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((ip, 64), strict=False)) if ip.version == 6 else str(ip)
