"""What users measure with: what memory costs at a size, how well it recalls, which thresholds fit."""
