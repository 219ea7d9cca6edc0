"""Configuration, characters, prompt files, and what ships with MoeChat."""
