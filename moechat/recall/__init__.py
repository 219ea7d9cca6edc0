"""From a message to a prompt: recipes side by side, fused, within a budget, assembled."""
