"""The interfaces of the five documents over the same memory, and saved personas."""
