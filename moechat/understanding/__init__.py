"""From talk to memory: the roll, extraction, the gate, consolidation, reflection."""
