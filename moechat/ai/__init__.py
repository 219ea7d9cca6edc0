"""Models: chat, embeddings, and what happens on the wire between."""
