"""Who may come in: the secret, the password, the one-time codes and the sessions of a data folder, in one file of its owner's.

A session is a signed cookie, and a line here: without the line the cookie opens nothing any more. Passwords are kept as their
scrypt hash, codes as their signature. Every session names a principal: the user whose memory it opens.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import unicodedata
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

from itsdangerous import BadSignature, Signer
from pydantic import AwareDatetime

from moechat.access.ledger import Kept, LedgerFile
from moechat.clock import Clock, SystemClock
from moechat.errors import FieldError

FILE = "access.json"
OWNER = ""  # The principal that is the owner of the characters' folders, as no user's name is.
LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # No letter that is taken for a digit.
CODE_LETTERS = 8
CODE_LASTS = timedelta(minutes=10)
SESSION_LASTS = timedelta(days=30)
SEEN_AGAIN = timedelta(minutes=10)  # So often at most it is noted that a session is in use.
MOST_CODES, MOST_SESSIONS = 10, 100
LEAST_PASSWORD = 8
SCRYPT = {"n": 2**15, "r": 8, "p": 1, "maxmem": 2**26}


class Session(Kept):
    """Somebody who came in. ``browser`` is what it calls itself, shortened; ``address`` is where it came from.

    ``key`` is the mark of the key that it came with: the session opens what the key does, and as long.
    """

    id: str
    principal: str
    since: AwareDatetime
    seen: AwareDatetime
    until: AwareDatetime
    address: str
    browser: str
    key: str = ""


class _UnusedCode(Kept):
    mark: str
    principal: str
    until: AwareDatetime


class _Ledger(Kept):
    """The file as a whole."""

    format: int = 1
    secret: str = ""
    password: str = ""
    codes: tuple[_UnusedCode, ...] = ()
    sessions: tuple[Session, ...] = ()


class Register:
    """The file ``access.json`` of a data folder; it is made with the first code, password or session, for its owner's eyes alone.

    ``password`` stands in for the one that is kept. Other processes may change the file at any time: every question
    looks at it anew. Raises DataError where it is damaged.
    """

    def __init__(self, data: Path, clock: Clock | None = None, password: str | None = None) -> None:
        self._file = LedgerFile(data / FILE, _Ledger, "every session ends and a password is set anew")
        self._clock = clock or SystemClock()
        self._password = password or ""
        self._hashing = threading.Lock()

    # ---- password and codes

    @property
    def has_password(self) -> bool:
        return bool(self._password or self._file.entries().password)

    def set_password(self, password: str) -> None:
        """Keep a password, "" for none any more. All sessions end. Raises FieldError for one that is too short."""
        if password and len(password) < LEAST_PASSWORD:
            raise FieldError("password", None, f"is shorter than {LEAST_PASSWORD} characters; choose a longer one")
        salt = secrets.token_bytes(16)
        kept = f"{salt.hex()}:{_hashed(password, salt)}" if password else ""
        with self._file.changing() as entries:
            self._file.keep(entries, password=kept, sessions=())

    def new_code(self, principal: str = OWNER) -> str:
        """A code that opens one session, within ``CODE_LASTS``: ``K7Q2-M9XP``."""
        code = "".join(secrets.choice(LETTERS) for _ in range(CODE_LETTERS))
        now = self._clock.now()
        with self._file.changing() as entries:
            entries = entries.model_copy(update={"secret": entries.secret or secrets.token_hex(32)})
            mark = _code_mark(entries.secret, code)
            codes = [one for one in entries.codes if one.until > now]
            codes.append(_UnusedCode(mark=mark, principal=principal, until=now + CODE_LASTS))
            self._file.keep(entries, codes=tuple(codes[-MOST_CODES:]))
        return f"{code[:4]}-{code[4:]}"

    # ---- sessions

    def enter(self, word: str, address: str, browser: str, key: str = "") -> str | None:
        """The cookie of a new session for the password or a one-time code, which is used up, or for a key, of which ``key`` is
        the mark; None for any other word."""
        principal = OWNER if key or self._is_password(word) else None
        now = self._clock.now()
        with self._file.changing() as entries:
            codes = [one for one in entries.codes if one.until > now]
            if principal is None:
                mark = _code_mark(entries.secret, _letters(word))
                code = next((one for one in codes if hmac.compare_digest(one.mark, mark)), None)
                if code is None or not entries.secret:
                    return None
                codes.remove(code)
                principal = code.principal
            secret = entries.secret or secrets.token_hex(32)
            session = Session(
                id="".join(secrets.choice(LETTERS) for _ in range(8)).lower(), principal=principal, since=now, seen=now,
                until=now + SESSION_LASTS, address=address, browser=browser, key=key,
            )  # fmt: skip
            sessions = [*self._live(entries), session][-MOST_SESSIONS:]
            self._file.keep(entries, secret=secret, codes=tuple(codes), sessions=tuple(sessions))
        return _signer(secret).sign(session.id).decode()

    def session(self, cookie: str) -> Session | None:
        """The session that a cookie stands for, None where it stands for none (any more)."""
        entries = self._file.entries()
        if not entries.secret:
            return None
        try:
            id_ = _signer(entries.secret).unsign(cookie).decode()
        except (BadSignature, UnicodeError):
            return None
        return next((session for session in self._live(entries) if session.id == id_), None)

    def is_due(self, session: Session) -> bool:
        """Whether it is time to note that a session is in use."""
        return self._clock.now() - session.seen > SEEN_AGAIN

    def note(self, session: Session) -> None:
        """It is in use."""
        now = self._clock.now()
        with self._file.changing() as entries:
            noted = (one.model_copy(update={"seen": now}) if one.id == session.id else one for one in entries.sessions)
            self._file.keep(entries, sessions=tuple(noted))

    def sessions(self) -> list[Session]:
        """Those that are open, the oldest first."""
        return self._live(self._file.entries())

    def revoke(self, ids: Collection[str] | None = None) -> list[Session]:
        """End these sessions, None for all, with all codes that nobody used; they hold for no further request."""
        with self._file.changing() as entries:
            ended = [one for one in entries.sessions if ids is None or one.id in ids]
            self._file.keep(entries, codes=(), sessions=tuple(one for one in entries.sessions if one not in ended))
        return ended

    # ---- what is kept

    def _live(self, entries: _Ledger) -> list[Session]:
        now = self._clock.now()
        return [session for session in entries.sessions if session.until > now]

    def _is_password(self, word: str) -> bool:
        if self._password:
            return hmac.compare_digest(_plain(word), _plain(self._password))
        kept = self._file.entries().password
        if not kept:
            return False
        salt, _, hashed = kept.partition(":")
        with self._hashing:  # One takes 32 MiB.
            return hmac.compare_digest(_hashed(word, bytes.fromhex(salt)), hashed)


def _signer(secret: str) -> Signer:
    return Signer(secret, salt="moechat.session", key_derivation="hmac", digest_method=hashlib.sha256)


def _code_mark(secret: str, code: str) -> str:
    return hmac.digest(secret.encode(), b"moechat.code " + code.encode(), "sha256").hex()


def _letters(word: str) -> str:
    """A code as it was made, however it was typed."""
    letters = unicodedata.normalize("NFKC", word).upper().translate(str.maketrans("OIL", "011", " -\t"))
    return letters.encode("ascii", "replace").decode()


def _plain(password: str) -> bytes:
    """The same bytes for the same password, whatever keyboard wrote it."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")


def _hashed(password: str, salt: bytes) -> str:
    return hashlib.scrypt(_plain(password), salt=salt, **SCRYPT).hex()
