"""Words: segmentation, keywords, and what a word brings to mind."""
