"""The author's store: official events and facts, and the files of the world book."""
