"""Memory looked after by hand and by age: the catalogue, edits, forgetting, maintenance, verify and rebuild."""
