"""What a character's author wrote: official events and facts, and the world book's files."""
