"""The keys of model services, each for its own address: in the system's keyring where there is one, else in a file for its
owner's eyes alone.

The file says of each address where its key is, so that nobody who has kept none is asked to unlock a keyring. No key is in an
error, nor in what a keyring is called.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from moechat.errors import DataError
from moechat.store import records

FILE = "service_keys.json"
Place = Literal["", "keyring", "file"]


def origin(url: str) -> str:
    """Scheme, and host with port; what readers of addresses might read differently is nobody's."""
    is_plain = not set(url) & set("\\@[]") and url.isprintable() and " " not in url
    address = urlsplit(url) if is_plain else None
    return f"{address.scheme}://{address.netloc.casefold()}" if address else url


class ServiceKeys:
    """The keys of one data folder. ``problem`` says why one that was kept is not to be had, ``refusal`` why the keyring did not
    take the last one (each "" where nothing is wrong)."""

    def __init__(self, folder: Path) -> None:
        self.path, self.problem, self.refusal = folder / FILE, "", ""
        self._service = f"MoeChat {folder}"
        self._lock = threading.Lock()
        self._seen = records.Signature()
        self._kept: Mapping[str, str | None] = {}  # By address; None: the keyring has it.
        self._of_keyring: dict[str, str] = {}

    def of(self, url: str) -> str | None:
        """The key that is kept for the address."""
        with self._lock:
            kept, at = self._entries(), origin(url)
            if at not in kept or kept[at] is not None:
                return kept.get(at)
            if at not in self._of_keyring and (key := self._asked(at)):
                self._of_keyring[at] = key
            return self._of_keyring.get(at)

    def place(self, url: str) -> Place:
        """Where the key for the address is, "" where none is kept."""
        with self._lock:
            kept, at = self._entries(), origin(url)
        return "" if at not in kept else "keyring" if kept[at] is None else "file"

    def keep(self, url: str, key: str) -> None:
        """Keep a key for the address, in the place of the one before."""
        at = origin(url)
        with self._lock:
            self.refusal = self._given(at, key)
            self._write(self._entries() | {at: key if self.refusal else None})

    def drop(self, url: str) -> None:
        """Keep none for the address any more."""
        at = origin(url)
        with self._lock:
            kept = dict(self._entries())
            if at in kept and kept.pop(at) is None:
                self.refusal = self._given(at, "")
            self._write(kept)

    # ---- the file

    def _entries(self) -> dict[str, str | None]:
        if (signature := records.Signature.of(self.path)) != self._seen:
            self._seen, self._kept, self._of_keyring, self.problem = signature, {}, {}, ""
            try:
                kept = json.loads(self.path.read_bytes())
                self._kept = {str(at): None if key is None else str(key) for at, key in kept.items()}
            except FileNotFoundError:
                pass
            except (ValueError, AttributeError):
                self.problem = str(DataError(self.path, "is damaged; delete it, and enter the keys again"))
        return dict(self._kept)

    def _write(self, kept: Mapping[str, str | None]) -> None:
        records.replace(self.path, json.dumps(kept, ensure_ascii=False, indent=1).encode(), 0o600)

    # ---- the keyring

    def _asked(self, at: str) -> str | None:
        import keyring

        try:
            key = keyring.get_password(self._service, at)
            why = "it has none"
        except Exception as refusal:  # noqa: BLE001  a backend may raise anything
            key, why = None, type(refusal).__name__
        self.problem = ""
        if key is None:
            remedy = f"the system's keyring does not give the key for {at} ({why}): unlock it, or enter the key again"
            self.problem = str(DataError(self.path, remedy))
        return key

    def _given(self, at: str, key: str) -> str:
        """Give the keyring a key, or ("") take it out. Why that went wrong."""
        import keyring

        try:
            if keyring.get_keyring().priority < 1:
                return "none"  # The package's own word for what should not hold a secret.
            if key:
                keyring.set_password(self._service, at, key)
            else:
                keyring.delete_password(self._service, at)
        except Exception as refusal:  # noqa: BLE001  a backend may raise anything
            return type(refusal).__name__
        return ""
