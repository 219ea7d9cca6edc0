"""How much a model can read at once: as the server says it, or as it shows when that was too much."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moechat.model import Usage

REPLY = 1024  # Tokens that stay free for the reply, a quarter of a small window.
LEAST = 400  # Tokens of a prompt from which on a count says something.
SHARE = 0.7  # A server that reports less than this part of what it used to has cut the prompt.
SMALLER = 0.75  # What was too much, nobody knows by how much, is made smaller by this.
_NAMES = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length", "n_ctx")
_TOLD = re.compile(
    r"(?:maximum context length is|context size \(|n_ctx\W{1,4}|context length is only|tokens >)\s*(\d{3,9})",
    re.IGNORECASE,
)
_NUM_CTX = re.compile(r"^num_ctx\s+(\d{2,9})\s*$", re.MULTILINE)


@dataclass
class Window:
    """``tokens`` of the model's own, prompt and reply together (0: nobody knows); ``ratio`` of them make one of ours;
    ``token_s`` seconds it reads each of its own (0: nobody knows).

    ``cuts_silently``: the server leaves out the beginning of a prompt that is too long and says nothing (Ollama).
    """

    tokens: int = 0
    ratio: float = 1.0
    token_s: float = 0.0
    cuts_silently: bool = False

    @property
    def room(self) -> int:
        """How many of our tokens a prompt may have; 0: any number."""
        return int((self.tokens - min(REPLY, self.tokens // 4)) / self.ratio)

    def reads(self, seconds: float) -> int:
        """How many of our tokens it reads in that time; 0: nobody knows."""
        return max(1, int(seconds / (self.token_s * self.ratio))) if self.token_s else 0

    def counted(self, ours: int, usage: Usage) -> None:
        """The server reports this for a prompt of this many of our tokens."""
        reported, anew = usage.prompt, usage.prompt - (usage.cached or 0)
        if usage.read_s and anew >= LEAST:
            self.token_s = usage.read_s / anew
        if ours < LEAST or not reported:
            return
        if self.cuts_silently and reported / ours < SHARE * self.ratio:
            self.tokens = min(self.tokens or reported, reported)
        else:
            self.ratio = reported / ours

    def overflowed(self, ours: int, words: str) -> None:
        """A prompt of this many of our tokens was too much, in these words of the server."""
        match = _TOLD.search(words)
        shown = int(match[1]) if match else 0
        if shown and (not self.tokens or shown < self.tokens):
            self.tokens = shown
        else:
            self.tokens = max(
                1, int(SMALLER * (min(self.room, ours) if self.tokens else ours) * self.ratio) + REPLY // 4
            )


def listed(body: object, model: str) -> int:
    """What a list of models says of one of them (vLLM, LM Studio, llama.cpp, several hosted ones); 0 where it says nothing."""
    entries = body.get("data") if isinstance(body, dict) else None
    ours = [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
    entry: Mapping[str, Any] = next((one for one in ours if one.get("id") == model), ours[0] if len(ours) == 1 else {})
    meta = entry.get("meta")
    return _first(entry) or (_first(meta) if isinstance(meta, dict) else 0)


def of_props(body: object) -> int:
    """What llama.cpp's ``/props`` says."""
    settings = body.get("default_generation_settings") if isinstance(body, dict) else None
    return _first(settings) if isinstance(settings, dict) else 0


def of_show(body: object) -> int:
    """What Ollama's ``/api/show`` says: the length that is set, else the longest that the model was made for."""
    if not isinstance(body, dict):
        return 0
    if isinstance(parameters := body.get("parameters"), str) and (length := _NUM_CTX.search(parameters)):
        return int(length[1])
    info = body.get("model_info")
    lengths = [v for k, v in info.items() if str(k).endswith(".context_length")] if isinstance(info, dict) else []
    return next((length for length in lengths if _is_length(length)), 0)


def _first(entry: Mapping[str, Any]) -> int:
    return next((entry[name] for name in _NAMES if _is_length(entry.get(name))), 0)


def _is_length(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9
