"""What was dropped on the page and is looked at before it is taken in: copies of files, by tab, in a folder that goes with the
program. Knows no Gradio."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from moechat.errors import MoeChatError
from moechat.house import House
from moechat.house.arrivals import Coming, Row, Wishes
from moechat.house.bundle import Bundle, sorted_out
from moechat.house.studio import FileKind, folder_name, look

MAX_TABS_KEPT = 32  # Tabs whose files are kept.
MAX_FILES_OF_A_TAB = 2000
MAX_BYTES = 1 << 30
ORDER: Sequence[FileKind] = ("card", "archive", "lorebook", "talk", "memories")
"""In this order they are taken in: characters first, then what goes to one."""
GUESTS: Sequence[FileKind] = ("lorebook", "talk", "memories")
"""Files of these kinds go to a character that is there."""


@dataclass
class DroppedFile:
    """A file that was dropped: ``name`` is what it was called, with the folders that it lay in, ``path`` the copy. ``fault`` says
    why it is nothing that can be taken in, or why that failed; of what several lay in, ``left`` has those that cannot, by
    reason. ``rows`` are its previews, by where it would go."""

    number: int
    name: str
    path: Path
    kind: FileKind | None = None
    fault: MoeChatError | OSError | None = None
    left: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rows: dict[Wishes, Row] = field(default_factory=dict)

    @property
    def holder(self) -> str:
        """The folder that it lay in: SillyTavern names those of talks after their characters."""
        return PurePosixPath(self.name).parent.name

    def coming(self, house: House, wishes: Wishes) -> Coming:
        """Raises MoeChatError where the file cannot be read."""
        return Coming(house, look(self.path), wishes)

    def preview(self, house: House, wishes: Wishes) -> Row:
        """What it holds, as it would go there. Raises MoeChatError."""
        if wishes not in self.rows:
            coming = self.coming(house, wishes)
            row = coming.preview()
            if coming.is_talk:
                row["problems"] = coming.past_of_file.problems
            self.rows[wishes] = row
        return self.rows[wishes]


class Tray:
    """The files of one tab, by number."""

    def __init__(self, tab: str, all_trays: Trays) -> None:
        self.tab, self._all = tab, all_trays
        self.files: dict[int, DroppedFile] = {}

    def put(self, name: str, data: bytes) -> DroppedFile:
        """Keep a file that came, and find out what it is. Raises MoeChatError where there is no room."""
        if len(self.files) >= MAX_FILES_OF_A_TAB:
            raise MoeChatError(f"more than {MAX_FILES_OF_A_TAB:,} files lie here; take some in first")
        number, folder = self._all.room(len(data))
        plain = PurePosixPath(name.replace("\\", "/"))
        ending = plain.suffix if plain.suffix[1:9].isalnum() else ""
        path = folder / f"{folder_name(plain.stem)}{ending}"
        path.write_bytes(data)
        brought = self.files[number] = DroppedFile(number, str(plain), path)
        try:
            kind = look(path).kind
            if kind != "bundle":
                brought.kind = kind
                return brought
            if "/" in brought.name:  # it came out of another
                brought.left = {"zip": [plain.name]}
                return brought
            with Bundle(path) as bundle:
                for one in bundle.takes:
                    self.put(f"{plain.stem}/{bundle.name_of(one)}", bundle.read(one))
                brought.left = bundle.left
        except MoeChatError as fault:
            brought.fault = fault
        else:
            if not brought.left:
                self.away([number])
        return brought

    def put_folder(self, names: Sequence[str]) -> list[str]:
        """Which of a folder's files shall come. The others are told, by reason."""
        takes, left = sorted_out(names)
        if left:
            brought = self.put(f"{PurePosixPath(names[0]).parts[0]}/", b"")
            brought.fault, brought.left = None, left
        return takes

    def away(self, numbers: Iterable[int]) -> None:
        """Put files away."""
        for number in list(numbers):
            if brought := self.files.pop(number, None):
                self._all.free(brought.path)

    def in_order(self) -> list[DroppedFile]:
        """The files in the order in which they are taken in; those that cannot be come last."""
        places = {kind: place for place, kind in enumerate(ORDER)}
        return sorted(self.files.values(), key=lambda one: (places.get(one.kind or "folder", len(places)), one.number))


class Trays:
    """The trays of all tabs."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="moechat-brought-"))
        self._lock = threading.Lock()
        self._trays: OrderedDict[str, Tray] = OrderedDict()
        self._last = self._bytes = 0

    def of(self, tab: str) -> Tray:
        with self._lock:
            tray = self._trays.setdefault(tab, Tray(tab, self))
            self._trays.move_to_end(tab)
            unused = [self._trays.popitem(last=False)[1] for _ in range(len(self._trays) - MAX_TABS_KEPT)]
        for one in unused:
            one.away(one.files)
        return tray

    def room(self, size: int) -> tuple[int, Path]:
        """A number and a folder for a file of this size in bytes. Raises MoeChatError."""
        with self._lock:
            if self._bytes + size > MAX_BYTES:
                raise MoeChatError(f"more than {MAX_BYTES >> 30} GB lie here; take some in first")
            self._bytes += size
            self._last += 1
            folder = self._folder / str(self._last)
            folder.mkdir()
            return self._last, folder

    def free(self, path: Path) -> None:
        with self._lock:
            self._bytes -= path.stat().st_size
        shutil.rmtree(path.parent, ignore_errors=True)

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
