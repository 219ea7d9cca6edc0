"""The built-in sentence encoder, and what all embedders share: it knows no memory and no settings."""
