"""The model that answers where no language model is connected: it speaks from what memory recalls."""
