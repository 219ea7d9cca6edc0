"""The layers of memory: diary, core memory, topics, entities and the world book."""
