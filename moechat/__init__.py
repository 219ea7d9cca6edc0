"""MoeChat: a chat companion that remembers."""

__version__ = "0.1.0"
