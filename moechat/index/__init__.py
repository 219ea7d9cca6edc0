"""Search: time, vectors, words, topics. Every index is derived and can be deleted."""
