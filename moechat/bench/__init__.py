"""Measuring: what memory costs at a size (speed) and how well it is found again (recall)."""
