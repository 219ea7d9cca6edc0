"""Who may ask: the guard of page and HTTP, and how both listen and end."""
