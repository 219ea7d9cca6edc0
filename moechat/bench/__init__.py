"""Measurements for users: the cost of memory at a size, the quality of recall, the thresholds that fit."""
