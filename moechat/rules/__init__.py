"""What is understood without a model: facts, events, importance and topics, read by rules."""
