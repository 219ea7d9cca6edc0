"""Understanding without a model: rules that read facts, events, importance and topics."""
