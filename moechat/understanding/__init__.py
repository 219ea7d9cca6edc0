"""From talk to memory: the roll, extraction, evidence, consolidation, reflection."""
