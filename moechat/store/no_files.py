"""What the stores that have no files answer to questions about files."""

from __future__ import annotations

from collections.abc import Collection

from moechat.store.log_book import LogBook
from moechat.store.unit import Replies


class BookWithoutFiles(LogBook):
    """A log over no folder. Who reads it reads all of it at once."""

    folder = index_folder = None
    replies: Replies

    def close(self) -> None:
        self.replies.release_all()

    @property
    def unread(self) -> tuple[int, None]:
        return 0, None

    def read_on(self) -> None:
        """There are no files."""

    def read_all(self) -> None:
        """There are no files."""

    def repair(self) -> list[str]:
        """There are no files."""
        return []

    def upgrade(self) -> None:
        """Whatever it holds has the form of this program."""

    def scrub(self) -> None:
        """Dead records leave no words."""

    def check_writable(self, exchanges: Collection[str], episodes: Collection[str], *, has_facts: bool) -> None:
        """Everything is."""
