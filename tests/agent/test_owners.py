"""Many owners in one program: so many are open, none holds up another, and a closed one leaves nothing open."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from moechat.clock import SetClock
from moechat.errors import MoeChatError
from moechat.house.owners import FILES_PER_OWNER, Busy, OpenOwners, Owner
from tests.houses import CHARACTER, START, Home, moment, say

PATIENCE_S = 60.0
IDLE = timedelta(minutes=30)
PROCESS = Path("/proc/self")


def of(user: str) -> Owner:
    return Owner(CHARACTER, user, "")


class Door:
    """``reached`` where somebody waits before it; let go, it stays ``open``."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()


class Rooms:
    """Opens and closes rooms that stand in for agents; a test holds a door where opening or closing is to take long."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.open_now: set[str] = set()
        self._doors: dict[str, Door] = {}

    def hold(self, what: str) -> Door:
        """From now on "open a", say, does not end until it is let go."""
        self._doors[what] = Door()
        return self._doors[what]

    def do(self, what: str) -> None:
        if door := self._doors.pop(what, None):
            door.reached.set()
            assert door.open.wait(PATIENCE_S)
        self.events.append(what)

    def __call__(self, owner: Owner) -> Any:
        assert owner.user not in self.open_now, "one owner is open twice"
        self.open_now.add(owner.user)
        self.do(f"open {owner.user}")
        return Room(owner.user, self)


class Room:
    def __init__(self, user: str, rooms: Rooms) -> None:
        self.user, self._rooms = user, rooms

    def close(self) -> None:
        self._rooms.do(f"close {self.user}")
        self._rooms.open_now.remove(self.user)


@pytest.fixture
def rooms() -> Rooms:
    return Rooms()


@pytest.fixture
def clock() -> SetClock:
    return SetClock(moment(START))


def owners_of(rooms: Rooms, clock: SetClock, most: int) -> OpenOwners:
    return OpenOwners(rooms, clock.now, most=most, idle=IDLE)


def use(owners: OpenOwners, *users: str) -> None:
    for user in users:
        with owners.lent(of(user)):
            pass


def started(work: Callable[..., object], *values: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=values)
    thread.start()
    return thread


def ended(*threads: threading.Thread) -> bool:
    for thread in threads:
        thread.join(PATIENCE_S)
    return not any(thread.is_alive() for thread in threads)


# ---- places


def test_beyond_the_setting_the_one_that_was_idle_longest_makes_room(rooms: Rooms, clock: SetClock) -> None:
    owners = owners_of(rooms, clock, 2)
    use(owners, "a", "b", "a", "c")
    assert rooms.events == ["open a", "open b", "close b", "open c"]


def test_within_the_setting_no_request_opens_or_closes_anything(rooms: Rooms, clock: SetClock) -> None:
    owners = owners_of(rooms, clock, 200)
    users = [str(i) for i in range(200)]
    use(owners, *users)
    rooms.events.clear()
    use(owners, *users, *users)
    assert rooms.events == []


def test_who_is_in_use_stays_and_one_more_is_asked_to_come_again(rooms: Rooms, clock: SetClock) -> None:
    owners = owners_of(rooms, clock, 1)
    with owners.lent(of("a")), pytest.raises(Busy, match="try again"):
        use(owners, "b")
    use(owners, "b")
    assert rooms.open_now == {"b"}


def test_an_opening_that_takes_long_holds_up_no_other(rooms: Rooms, clock: SetClock) -> None:
    owners, door = owners_of(rooms, clock, 8), rooms.hold("open slow")
    slow = started(use, owners, "slow")
    assert door.reached.wait(PATIENCE_S)
    use(owners, "a")
    assert rooms.events == ["open a"]
    door.open.set()
    assert ended(slow) and rooms.open_now == {"a", "slow"}


def test_a_closing_that_takes_long_holds_up_no_other(rooms: Rooms, clock: SetClock) -> None:
    owners, door = owners_of(rooms, clock, 2), rooms.hold("close slow")
    use(owners, "slow", "a")
    newcomer = started(use, owners, "b")
    assert door.reached.wait(PATIENCE_S)
    use(owners, "a")
    assert rooms.events == ["open slow", "open a"]
    door.open.set()
    assert ended(newcomer) and rooms.open_now == {"a", "b"}


def test_who_comes_back_while_the_memory_closes_waits_until_it_has(rooms: Rooms, clock: SetClock) -> None:
    owners, door = owners_of(rooms, clock, 1), rooms.hold("close a")
    use(owners, "a")
    newcomer = started(use, owners, "b")
    assert door.reached.wait(PATIENCE_S)
    back = started(owners.kept, of("a"))
    door.open.set()
    assert ended(newcomer, back)
    assert rooms.events[0] == "open a" and sorted(rooms.events[1:]) == ["close a", "open a", "open b"]
    assert rooms.events.index("close a") < len(rooms.events) - 1 - rooms.events[::-1].index("open a")


def test_in_a_crowd_no_owner_is_ever_open_twice(rooms: Rooms, clock: SetClock) -> None:
    owners = owners_of(rooms, clock, 4)

    def visit(first: int) -> None:
        for i in range(200):
            try:
                use(owners, str((first * 7 + i * (first + 1)) % 9))
            except Busy:
                continue

    threads = [threading.Thread(target=visit, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert rooms.open_now and len(owners) == len(rooms.open_now) <= 4
    owners.close_all()
    assert not rooms.open_now and not len(owners)


def test_one_that_nobody_used_for_long_is_closed(rooms: Rooms, clock: SetClock) -> None:
    owners = owners_of(rooms, clock, 8)
    owners.kept(of("kept"))
    use(owners, "a", "b")
    with owners.lent(of("used")):
        clock.advance(minutes=20)
        use(owners, "b")
        clock.advance(minutes=11)
        owners.close_idle()
    assert rooms.open_now == {"kept", "b", "used"}


def test_an_opening_that_fails_leaves_no_place_taken(clock: SetClock) -> None:
    def fails(owner: Owner) -> Any:
        raise MoeChatError(f"{owner.user} cannot be read")

    owners = OpenOwners(fails, clock.now, most=1, idle=IDLE)
    for user in ("a", "b"):
        with pytest.raises(MoeChatError, match="cannot be read"):
            use(owners, user)
    assert len(owners) == 0


def test_fewer_are_open_where_the_system_allows_fewer_files() -> None:
    resource = pytest.importorskip("resource")
    program = """if True:
        import resource
        from moechat.house.owners import FILES_PER_OWNER, FILES_RESERVED, room_in_files
        limit = FILES_RESERVED + 4 * FILES_PER_OWNER + 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_RESERVED, limit))
        print(room_in_files(2), resource.getrlimit(resource.RLIMIT_NOFILE)[0] - FILES_RESERVED, room_in_files(1000))"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert resource and run.stdout.split() == ["2", str(2 * FILES_PER_OWNER), "4"]


# ---- what is open


def open_under(folder: Path) -> list[str]:
    """The files and memory maps of this process that lie in a folder."""
    if not PROCESS.exists():
        pytest.skip("this system does not show what a process has open")
    links = []
    for item in (PROCESS / "fd").iterdir():
        with suppress(OSError):  # it may be closed by now
            links.append(str(item.readlink()))
    maps = [line.split(maxsplit=5)[5] for line in (PROCESS / "maps").read_text().splitlines() if "/" in line]
    return sorted(name for name in links + maps if name.startswith(str(folder)))


def test_maps_and_files_of_a_closed_owner_are_closed_at_once(home: Home) -> None:
    home.configure(owners={"open": 1})
    with home.open() as house:
        for user in ("a", "b"):
            with house.lent(CHARACTER, user) as agent:
                for day in range(8):
                    say(agent, f"第{day}天我在杭州喝茶")
                agent.finish()
                folder = agent.store.folder
        other = folder.with_name("a")
        gc.disable()  # nothing is left for it to find
        try:
            with house.lent(CHARACTER, "b") as agent:
                assert agent.recall("我在哪里喝茶").hits is not None
            assert open_under(folder) and not open_under(other)
            with house.lent(CHARACTER, "a"):
                assert open_under(other) and not open_under(folder)  # though ``agent`` is still at hand
        finally:
            gc.enable()


def test_an_open_owner_costs_no_thread(home: Home) -> None:
    with home.open() as house:
        house.ready()
        agents = [house.agent(user=f"u{i}") for i in range(4)]
        for agent in agents:
            say(agent, "我住在杭州")
        before = threading.active_count()
        agents += [house.agent(user=f"v{i}") for i in range(20)]
        for agent in agents:
            agent.settle_indexes()
        threads = house.config.owners.threads + house.config.recall.threads
        assert threading.active_count() - before <= threads


def test_a_memory_that_cannot_be_opened_keeps_no_file_open(home: Home) -> None:
    with home.open() as house:
        say(house.agent(user="a"), "我住在杭州")
        folder = house.agent(user="a").store.folder
    with pytest.raises(RuntimeError) as failure:  # the house is closed
        house.agent(user="a")
    assert failure and not open_under(folder)


def test_the_memory_of_a_house_that_is_closed_comes_back_at_once(home: Home) -> None:
    with home.open() as house:
        agent = weakref.ref(house.agent())
        assert agent() is not None
    assert agent() is None


ARENAS = """
import ctypes, sys, threading
from pathlib import Path
from moechat.house import House

folder = Path(sys.argv[1])
with House(folder / "data", folder / "config.yaml"):
    together = threading.Barrier(8)
    def work():
        together.wait()
        kept = [bytes(1000) for _ in range(1000)]
        together.wait()
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
out = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the arenas are glibc's")
def test_many_threads_share_two_arenas(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", ARENAS, str(tmp_path)], capture_output=True, text=True, check=True)
    assert run.stdout.count("<heap nr=") <= 2
