"""Time expressions, Chinese and English: a text and a moment give spans."""
