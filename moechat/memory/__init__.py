"""What is held: the layers of memory and what each knows of itself."""
