"""How a message is meant: what kind of saying it is, and whether a life is in danger."""
