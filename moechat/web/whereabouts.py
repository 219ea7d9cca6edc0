"""Where a tab is."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Whereabouts:
    """A character ("": none), a world of its own, a talk by name, or one off the record by number (0: none)."""

    character: str = ""
    world: str = ""
    talk: str = ""
    held: int = 0

    @property
    def memory(self) -> Whereabouts:
        """Whose memory it is, whatever the talk."""
        return replace(self, talk="", held=0)
